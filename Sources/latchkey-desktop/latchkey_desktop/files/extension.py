"""The extension of a file manager, for the interface that Nautilus, Nemo and Caja have in common.

Each of them has its own module of that interface: a subclass names it as `api`.
"""

from __future__ import annotations

from typing import Any

from gi.repository import Gio, GObject

from ..model.classes import BY_NAME, CLASSES, ProtectionClass, meaning
from ..text import _
from .mounted import MountedVaults
from .notice import tell
from .reader import ClassReader
from .setting import set_class

COLUMN = "LatchkeyExtension::class"
ATTRIBUTE = "latchkey_class"
MOST_PROPERTIES = 1000


def title(item: ProtectionClass) -> str:
    """A class in a column or menu."""
    return f"{item.letter}: {item.name}"


class FilesExtension(GObject.GObject):
    """Column, emblem, menu and properties. Files outside of a mount are not looked at."""

    api: Any = None

    def __init__(self) -> None:
        super().__init__()
        self._vaults = MountedVaults()
        self._reader = ClassReader()
        self._asked: list[list[Any]] = []

    # The column.

    def get_columns(self) -> list[Any]:
        return [self.api.Column(name=COLUMN, attribute=ATTRIBUTE, label=_("Protection class"),
                                description=_("When Latchkey lets the file be read"))]

    # The emblem, and the text of the column.

    def update_file_info_full(self, provider: Any, handle: Any, closure: Any, file: Any) -> Any:
        path = self._vaults.path(file.get_uri())
        if path is None:
            return self.api.OperationResult.COMPLETE
        question = [handle]
        self._asked.append(question)

        def found(item: ProtectionClass | None) -> None:
            # A file manager that has cancelled must not be answered.
            if question in self._asked:
                self._asked.remove(question)
                self._show(file, item)
                self.api.info_provider_update_complete_invoke(closure, provider, handle,
                                                              self.api.OperationResult.COMPLETE)

        if self._reader.ask(path, found):
            return self.api.OperationResult.IN_PROGRESS
        self._asked.remove(question)
        return self.api.OperationResult.FAILED

    def cancel_update(self, _provider: Any, handle: Any) -> None:
        self._asked = [question for question in self._asked if question[0] != handle]

    @staticmethod
    def _show(file: Any, item: ProtectionClass | None) -> None:
        if item is not None:
            file.add_string_attribute(ATTRIBUTE, title(item))
            file.add_emblem(f"emblem-latchkey-{item.letter.lower()}")

    # The menu, for one file or many.

    def get_file_items(self, *arguments: Any) -> list[Any]:
        # Nemo, Caja and earlier versions of Nautilus also pass the window.
        return self._menu("files", arguments[-1])

    def get_background_items(self, *arguments: Any) -> list[Any]:
        return self._menu("folder", [arguments[-1]])

    def _menu(self, place: str, files: list[Any]) -> list[Any]:
        paths = [self._vaults.path(file.get_uri()) for file in files]
        inside = [path for path in paths if path is not None]
        if not files or len(inside) != len(files):
            return []
        top = self.api.MenuItem(name=f"LatchkeyExtension::{place}", label=_("Protection class"), tip="", icon="")
        menu = self.api.Menu()
        top.set_submenu(menu)
        for item in CLASSES:
            line = self.api.MenuItem(name=f"LatchkeyExtension::{place}{item.letter}", label=title(item),
                                     tip=meaning(item), icon=f"emblem-latchkey-{item.letter.lower()}")
            line.connect("activate", self._chosen, item, inside, files)
            menu.append_item(line)
        return [top]

    def _chosen(self, _line: Any, item: ProtectionClass, paths: list[bytes], files: list[Any]) -> None:
        def done(message: bytes) -> None:
            for file in files:
                file.invalidate_extension_info()
            if message:
                tell(message)

        set_class(item, paths, done)

    # The properties.

    def _facts(self, files: list[Any]) -> list[tuple[str, str]]:
        """What the properties show, for at most so many files that a person does not wait."""
        paths = [self._vaults.path(file.get_uri()) for file in files[:MOST_PROPERTIES]]
        if not paths or None in paths:
            return []
        shown = {file.get_string_attribute(ATTRIBUTE) or "" for file in files[:MOST_PROPERTIES]}
        names = {text.partition(": ")[2] for text in shown}
        if names == {""} or len(names) > 1:
            return [(_("Protection class"), _("not known") if names == {""} else _("of several classes"))]
        item = BY_NAME.get(names.pop())
        return [(_("Protection class"), title(item)), (_("Files of this class"), meaning(item))] if item else []



class PageProperties:
    """A page of the properties, for file managers with GTK 3."""

    api: Any
    gtk: Any

    def get_property_pages(self, files: list[Any]) -> list[Any]:
        facts = self._facts(files)  # type: ignore[attr-defined]
        if not facts:
            return []
        grid = self.gtk.Grid(border_width=12, row_spacing=6, column_spacing=12)
        for row, (name, value) in enumerate(facts):
            for column, text in enumerate((name, value)):
                grid.attach(self.gtk.Label(label=text, xalign=0, wrap=True, selectable=column == 1), column, row, 1, 1)
        grid.show_all()
        page = self.api.PropertyPage(name="LatchkeyExtension::page", label=self.gtk.Label(label=_("Latchkey")),
                                     page=grid)
        return [page]


class ModelProperties:
    """A group of the properties, for Nautilus 43 and later."""

    api: Any

    def get_models(self, files: list[Any]) -> list[Any]:
        facts = self._facts(files)  # type: ignore[attr-defined]
        if not facts:
            return []
        store = Gio.ListStore.new(item_type=self.api.PropertiesItem)
        for name, value in facts:
            store.append(self.api.PropertiesItem(name=name, value=value))
        return [self.api.PropertiesModel(title=_("Latchkey"), model=store)]
