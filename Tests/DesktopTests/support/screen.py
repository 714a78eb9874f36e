"""What a screen reader finds of one program."""

from __future__ import annotations

from typing import Callable, Iterator

from .accessible import SELECTED, SENSITIVE, Accessible, visible, windows
from .waiting import LIMIT, until

BUTTONS = ("push button", "toggle button", "radio button", "page tab", "menu item", "check box")


class Screen:
    """The accessible tree of a program, by a part of its name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def all(self) -> Iterator[Accessible]:
        """Everything that is visible now, in the order of the tree."""
        yield from visible(windows(self.name))

    def look(self, role: str, name: str | Callable[[str], bool]) -> Accessible | None:
        """What has a role and a name now."""
        fits = name if callable(name) else lambda found: found == name
        return next((item for item in self.all() if item.role == role and fits(item.name)), None)

    def find(self, role: str, name: str | Callable[[str], bool], limit: float = LIMIT) -> Accessible:
        """Waits for what has a role and a name."""
        return until(lambda: self.look(role, name), lambda: f"{role} {name!r} in {self.texts()}", limit)

    def texts(self) -> str:
        """Everything that is visible, for messages."""
        return " | ".join(f"{item.role}:{item.name}" for item in self.all() if item.name)

    def labels(self) -> list[str]:
        """All names that are visible now."""
        return [item.name for item in self.all()]

    def see(self, part: str, limit: float = LIMIT) -> None:
        """Waits for a text that contains a part."""
        until(lambda: any(part in text for text in self.labels()), lambda: f"{part!r} in {self.texts()}", limit)

    def miss(self, part: str, limit: float = LIMIT) -> None:
        """Waits until no text contains a part."""
        until(lambda: all(part not in text for text in self.labels()), lambda: f"no {part!r} in {self.texts()}", limit)

    def button(self, name: str) -> Accessible | None:
        """A button by its name, now."""
        return next((item for item in self.all() if item.name == name and item.role in BUTTONS), None)

    def click(self, name: str, limit: float = LIMIT) -> None:
        """Presses a button as a screen reader does, once it can be pressed."""
        def pressed() -> bool:
            button = self.button(name)
            return button is not None and button.has(SENSITIVE) and button.act()

        until(pressed, lambda: f"button {name!r} in {self.texts()}", limit)

    def turn_to(self, page: str) -> None:
        """Turns to a page of the window, and waits until it is there."""
        self.click(page)
        until(lambda: (tab := self.button(page)) and tab.has(SELECTED), f"the page {page}")

    def can_click(self, name: str) -> bool:
        """Whether a button is there and can be pressed."""
        button = self.button(name)
        return button is not None and button.has(SENSITIVE)
