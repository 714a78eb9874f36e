"""The window: the vaults at one side, the chosen one at the other."""

from __future__ import annotations

from pathlib import Path
from typing import Callable

from gi.repository import Gdk, Gtk

from ..live.vaults import Vaults, now
from ..model import commands
from ..model.view import VaultView, view_of
from ..text import _, apart
from .actions import Actions
from .backup_page import BackupPage
from .files_page import FilesPage
from .outcome import OutcomeBar
from .page import Page
from .parts import described, label, load_icons, named
from .sidebar import Sidebar
from .sources_page import SourcesPage
from .state_page import StatePage
from .warnings_page import WarningsPage
from .ways_page import WaysPage

PAGES = (StatePage, FilesPage, SourcesPage, WaysPage, BackupPage, WarningsPage)


class Window(Gtk.ApplicationWindow):
    """Shows the vaults. The application calls `draw` after each change, and each second of a lock.

    `protect` shows the assistant.
    """

    def __init__(self, application: Gtk.Application, vaults: Vaults, protect: Callable[[], None]) -> None:
        super().__init__(application=application, title=_("Latchkey"), default_width=980, default_height=840,
                         icon_name="io.latchkey.Desktop")
        self._vaults = vaults
        self._protect = protect
        self._key = ""
        self._page: Page | None = None
        self._bar = OutcomeBar()
        self.actions = Actions(vaults, self._bar)
        self._sidebar = Sidebar(self._choose)
        self._icon = Gtk.Image(pixel_size=40, accessible_role=Gtk.AccessibleRole.PRESENTATION)
        self._title = label("", "headline")
        self._headline = label("", "name")
        self._detail = label("")
        self._trouble = label("", "warning", selectable=True)
        self._empty = label(_("There is no vault yet. Protect a folder that has files, by the button above, or make an "
                              "empty vault in a terminal: latchkey init --name NAME"),
                            selectable=True)
        self._buttons: dict[Page, Gtk.ToggleButton] = {}
        self._pages = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, vexpand=True)
        # The first draw of an icon would wait for it, just when many states change.
        self._icons = load_icons(self)
        self._add_titlebar()
        self._build()
        self._add_keys()
        self.connect("notify::visible", lambda *_args: self._visibility())
        self.draw()

    def _add_titlebar(self) -> None:
        bar = Gtk.HeaderBar()
        lock_all = Gtk.Button(label=_("Lock all now"), tooltip_text=commands.lock_all().shown)
        described(lock_all, commands.lock_all().shown)
        lock_all.connect("clicked", lambda *_args: self.actions.lock_all())
        bar.pack_start(lock_all)
        protect = Gtk.Button(label=_("Protect a folder…"), tooltip_text="latchkey protect")
        described(protect, "latchkey protect")
        protect.connect("clicked", lambda *_args: self._protect())
        bar.pack_end(protect)
        self.set_titlebar(bar)

    def _build(self) -> None:
        side = Gtk.ScrolledWindow(child=self._sidebar, hscrollbar_policy=Gtk.PolicyType.NEVER, width_request=240,
                                  vexpand=True)
        words = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, hexpand=True)
        for text in (self._title, self._headline, self._detail):
            words.append(text)
        head = Gtk.Box(spacing=12, margin_top=12, margin_start=12, margin_end=12)
        head.append(self._icon)
        head.append(words)
        tabs = Gtk.Box(spacing=0, accessible_role=Gtk.AccessibleRole.TAB_LIST)
        named(tabs, _("Pages"))
        tabs.add_css_class("linked")
        first = None
        for kind in PAGES:
            page = kind(self.actions)
            button = Gtk.ToggleButton(label=page.title, group=first, accessible_role=Gtk.AccessibleRole.TAB)
            button.connect("toggled", self._turned, page)
            first = first or button
            tabs.append(button)
            self._buttons[page] = button
            # Large type needs more room than the window has.
            self._pages.append(Gtk.ScrolledWindow(child=page, vexpand=True, visible=False))
        scrolled_tabs = Gtk.ScrolledWindow(child=tabs, vscrollbar_policy=Gtk.PolicyType.NEVER, margin_start=12,
                                           margin_end=12)
        self._content = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=6, hexpand=True)
        for widget in (head, scrolled_tabs, self._pages):
            self._content.append(widget)
        panes = Gtk.Box()
        panes.append(side)
        panes.append(Gtk.Separator(orientation=Gtk.Orientation.VERTICAL))
        panes.append(self._content)
        self._empty.set_margin_start(24)
        self._empty.set_margin_top(24)
        whole = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
        for widget in (self._trouble, self._empty, panes, self._bar):
            whole.append(widget)
        self._panes = panes
        self.set_child(whole)
        self._add_style()
        assert first is not None
        first.set_active(True)

    def _add_style(self) -> None:
        style = Gtk.CssProvider()
        style.load_from_path(str(Path(__file__).with_name("style.css")))
        Gtk.StyleContext.add_provider_for_display(self.get_display() or Gdk.Display.get_default(), style,
                                                  Gtk.STYLE_PROVIDER_PRIORITY_APPLICATION)

    def _add_keys(self) -> None:
        """Alt and a number turn to a page; Control and L locks all."""
        controller = Gtk.ShortcutController(scope=Gtk.ShortcutScope.GLOBAL)
        for number, button in enumerate(self._buttons.values(), 1):
            action = Gtk.CallbackAction.new(lambda _widget, _arguments, button=button: _pressed(button))
            controller.add_shortcut(Gtk.Shortcut.new(Gtk.ShortcutTrigger.parse_string(f"<Alt>{number}"), action))
        for keys, act in (("<Control>l", self.actions.lock_all), ("<Control>w", self.close)):
            action = Gtk.CallbackAction.new(lambda _widget, _arguments, act=act: bool(act()) or True)
            controller.add_shortcut(Gtk.Shortcut.new(Gtk.ShortcutTrigger.parse_string(keys), action))
        self.add_controller(controller)

    def _visibility(self) -> None:
        self._vaults.ask_often(self.get_visible())

    def choose(self, key: str) -> None:
        """Shows a vault."""
        self._sidebar.choose(key)

    def _choose(self, key: str) -> None:
        if key != self._key:
            self._key = key
            self._bar.leave()
            self.draw()
            self._open_page()

    def _turned(self, button: Gtk.ToggleButton, page: Page) -> None:
        button.update_state([Gtk.AccessibleState.SELECTED], [int(button.get_active())])
        # Pages that are not seen are not visible at all, so that a screen reader does not read them either.
        page.get_ancestor(Gtk.ScrolledWindow).set_visible(button.get_active())
        if button.get_active():
            self._page = page
            self._bar.leave()
            self.draw()
            self._open_page()

    def _open_page(self) -> None:
        if self._page is not None and self._page.vault and self._page.view:
            self._page.open(self._page.vault, self._page.view)
            self._page.draw(self._page.vault, self._page.view)

    def draw(self) -> None:
        """Shows everything as it is now."""
        moment = now()
        views = [view_of(vault, moment) for vault in self._vaults.vaults]
        self._trouble.set_visible(bool(self._vaults.trouble))
        self._trouble.set_text(_("The named vaults are not known: {reason}").format(reason=self._vaults.trouble))
        self._empty.set_visible(not views and self._vaults.is_ready and not self._vaults.trouble)
        self._panes.set_visible(bool(views))
        self._sidebar.draw(views)
        vault = self._vaults.find(self._key)
        view = next((item for item in views if item.key == self._key), None)
        if vault is not None and view is not None:
            self._draw_head(view)
            if self._page is not None:
                was = self._page.vault.key if self._page.vault else ""
                could = self._page.view.can if self._page.view else None
                self._page.show_vault(vault, view)
                # What a page lists may be another thing after a change of state.
                if was == vault.key and could is not None and could != view.can:
                    self._page.open(vault, view)
                    self._page.draw(vault, view)

    def _draw_head(self, view: VaultView) -> None:
        self._icon.set_from_icon_name(view.icon)
        for text, content in ((self._title, view.title), (self._headline, view.headline), (self._detail, view.detail)):
            if text.get_text() != content:
                text.set_text(content)
        self._detail.set_visible(bool(view.detail))
        self.set_title(_("Latchkey: {vault}").format(vault=apart(view.title)))


def _pressed(button: Gtk.ToggleButton) -> bool:
    button.set_active(True)
    return True

