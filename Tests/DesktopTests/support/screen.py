"""What a screen reader finds, by AT-SPI."""

from __future__ import annotations

from typing import Callable, Iterator

import warnings

import gi

# The methods of actions have had their new name only since at-spi2-core 2.50.
warnings.filterwarnings("ignore", category=DeprecationWarning, module=__name__)
gi.require_version("Atspi", "2.0")
from gi.repository import Atspi, GLib  # noqa: E402

from .waiting import LIMIT, until  # noqa: E402

_DEEPEST = 40
BUTTONS = ("push button", "toggle button", "button", "check box", "radio button", "page tab")


class Screen:
    """The accessible tree of one program."""

    def __init__(self, name: str) -> None:
        # A program that hangs must not hang the test.
        Atspi.set_timeout(3000, 10_000)
        self.name = name

    def application(self) -> Atspi.Accessible | None:
        desktop = Atspi.get_desktop(0)
        desktop.clear_cache()
        for index in range(desktop.get_child_count()):
            child = desktop.get_child_at_index(index)
            if child is not None and self.name in (_text(child.get_name) or ""):
                return child
        return None

    def all(self, only_showing: bool = True) -> Iterator[Atspi.Accessible]:
        """Everything that is shown now, in the order of the tree."""
        application = self.application()
        if application is None:
            return
        application.clear_cache()
        for index in range(_count(application)):
            window = application.get_child_at_index(index)
            if window is not None:
                yield from _below(window, only_showing, 0)

    def find(self, role: str, name: str | Callable[[str], bool], limit: float = LIMIT) -> Atspi.Accessible:
        """Waits for what has a role and a name."""
        return until(lambda: self.look(role, name), f"{role} {name!r} in {self.texts()[:4000]}", limit)

    def look(self, role: str, name: str | Callable[[str], bool]) -> Atspi.Accessible | None:
        """What has a role and a name now."""
        fits = name if callable(name) else lambda found: found == name
        try:
            return next((item for item in self.all() if role_of(item) == role and fits(name_of(item))), None)
        except GLib.Error:
            # It went away meanwhile.
            return None

    def texts(self) -> str:
        """Everything that is shown, for messages."""
        try:
            return " | ".join(f"{role_of(item)}:{name_of(item)}" for item in self.all() if name_of(item))
        except GLib.Error as error:
            return f"({error.message})"

    def see(self, part: str, limit: float = LIMIT) -> None:
        """Waits for a text that contains a part."""
        until(lambda: any(part in text for text in self.labels()), f"{part!r} in {self.texts()[:4000]}", limit)

    def labels(self) -> list[str]:
        """All texts that are shown now."""
        try:
            return [name_of(item) for item in self.all()]
        except GLib.Error:
            return []

    def click(self, name: str, limit: float = LIMIT) -> None:
        """Presses a button as a screen reader does, once it can be pressed."""
        def pressed() -> bool:
            for role in BUTTONS:
                button = self.look(role, name)
                if button is not None and is_sensitive(button):
                    return act(button)
            return False

        until(pressed, f"button {name!r} in {self.texts()[:4000]}", limit)

    def can_click(self, name: str) -> bool:
        """Whether a button is there and can be pressed."""
        return any((button := self.look(role, name)) is not None and is_sensitive(button) for role in BUTTONS)


def act(item: Atspi.Accessible) -> bool:
    """Does the first action of an item."""
    try:
        action = item.get_action_iface()
        return action is not None and action.get_n_actions() > 0 and action.do_action(0)
    except GLib.Error:
        return False


def _text(get: Callable[[], str]) -> str:
    try:
        return get() or ""
    except GLib.Error:
        return ""


def _count(item: Atspi.Accessible) -> int:
    try:
        return item.get_child_count()
    except GLib.Error:
        return 0


def name_of(item: Atspi.Accessible) -> str:
    return _text(item.get_name)


def role_of(item: Atspi.Accessible) -> str:
    return _text(item.get_role_name)


def states_of(item: Atspi.Accessible) -> Atspi.StateSet:
    return item.get_state_set()


def is_sensitive(item: Atspi.Accessible) -> bool:
    return states_of(item).contains(Atspi.StateType.SENSITIVE)


def _below(item: Atspi.Accessible, only_showing: bool, depth: int) -> Iterator[Atspi.Accessible]:
    if depth > _DEEPEST:
        return
    if depth and only_showing and not states_of(item).contains(Atspi.StateType.VISIBLE):
        return
    yield item
    for index in range(_count(item)):
        child = item.get_child_at_index(index)
        if child is not None:
            yield from _below(child, only_showing, depth + 1)
