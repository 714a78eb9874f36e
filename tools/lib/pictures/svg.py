"""SVG for light and dark backgrounds: colours are classes, and a style sheet gives each of them two values."""

from __future__ import annotations

from html import escape

FONT = 'system-ui, -apple-system, "Segoe UI", "Noto Sans", "DejaVu Sans", Helvetica, Arial, sans-serif'
# The width of a letter as a fraction of the font size, for the widest of these fonts: a text that fits with it fits
# with all of them.
LETTER = 0.60

# name: (light, dark)
COLOURS = {
    "ground": ("#ffffff", "#14181f"),
    "panel": ("#f3f5f8", "#1d232d"),
    "edge": ("#c9d0da", "#3a4453"),
    "ink": ("#1c232e", "#e6eaf0"),
    "quiet": ("#5b6675", "#9aa6b6"),
    "arrow": ("#7a8696", "#8390a2"),
    "open": ("#cfe8d5", "#1f4a33"),
    "part": ("#fbe7bd", "#55421a"),
    "shut": ("#f3d0cf", "#552a2d"),
    "key": ("#d6e2f7", "#263f66"),
    "event": ("#2f62b5", "#7fb0ff"),
    "secret": ("#e6dcf6", "#41305f"),
}


class Canvas:
    def __init__(self, width: int, height: int, title: str, description: str) -> None:
        self.width, self.height = width, height
        self.title, self.description = title, description
        self.parts: list[str] = []

    def box(self, x: float, y: float, width: float, height: float, fill: str, edge: str = "edge", *,
            round: float = 6, dashed: bool = False) -> None:
        dash = ' stroke-dasharray="4 3"' if dashed else ""
        self.parts.append(f'<rect class="fill-{fill} line-{edge}" x="{n(x)}" y="{n(y)}" width="{n(width)}" '
                          f'height="{n(height)}" rx="{n(round)}"{dash}/>')

    def text(self, x: float, y: float, words: str, colour: str = "ink", size: float = 13, *, anchor: str = "middle",
             bold: bool = False, mono: bool = False, within: float | None = None) -> None:
        """`within` is the available width: a text that does not fit raises an error."""
        if within is not None and (room := len(words) * size * LETTER) > within:
            raise ValueError(f"{words!r} takes {room:.0f} of {within:.0f}")
        more = ' font-weight="600"' if bold else ""
        more += ' font-family="ui-monospace, Menlo, Consolas, monospace"' if mono else ""
        self.parts.append(f'<text class="text-{colour}" x="{n(x)}" y="{n(y)}" font-size="{n(size)}" '
                          f'text-anchor="{anchor}"{more}>{escape(words)}</text>')

    def lines(self, x: float, y: float, rows: list[str], colour: str = "ink", size: float = 13, *, leading: float = 1.3,
              **more: object) -> None:
        """Rows of text, centred vertically at y."""
        top = y - (len(rows) - 1) * size * leading / 2 + size * 0.35
        for index, row in enumerate(rows):
            self.text(x, top + index * size * leading, row, colour, size, **more)  # type: ignore[arg-type]

    def path(self, data: str, colour: str = "arrow", *, arrow: bool = False, dashed: bool = False,
             width: float = 1.4) -> None:
        end = f' marker-end="url(#head-{colour})"' if arrow else ""
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(f'<path class="line-{colour}" d="{data}" fill="none" stroke-width="{n(width)}"{dash}{end}/>')

    def render(self) -> str:
        heads = "".join(
            f'<marker id="head-{colour}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            f'orient="auto-start-reverse"><path class="fill-{colour}" d="M0 0.5 L8 4 L0 7.5 z"/></marker>'
            for colour in ("arrow", "event"))
        body = "\n".join(self.parts)
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
                f'width="{self.width}" height="{self.height}" role="img" font-family=\'{FONT}\'>\n'
                f"<title>{escape(self.title)}</title>\n<desc>{escape(self.description)}</desc>\n"
                f"<style>\n{sheet(0)}\n@media (prefers-color-scheme: dark) {{\n{sheet(1)}\n}}\n</style>\n"
                f"<defs>{heads}</defs>\n"
                f'<rect class="fill-ground" width="{self.width}" height="{self.height}" rx="10"/>\n{body}\n</svg>\n')


def sheet(theme: int) -> str:
    rules = []
    for name, values in COLOURS.items():
        value = values[theme]
        rules.append(f".fill-{name}, .text-{name} {{ fill: {value} }} .line-{name} {{ stroke: {value} }}")
    return "\n".join(rules)


def n(value: float) -> str:
    """A number in its shortest form, which is the same on every machine."""
    return f"{value:.1f}".rstrip("0").rstrip(".")
