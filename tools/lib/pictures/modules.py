"""The picture of the modules and their imports, from Package.swift.

Every arrow points down. An arrow that a longer path implies is not drawn. Each module is in the lowest possible layer,
and the order within a layer keeps the number of crossings low.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from .svg import LETTER, Canvas

BOX, ROOM, LAYER, SIDE, SIZE = 32, 22, 84, 30, 13
SWEEPS = 24


def draw(top: Path) -> str:
    done = subprocess.run(["swift", "package", "dump-package"], cwd=top, capture_output=True, text=True, check=True)
    return layout(dependencies(json.loads(done.stdout)))


def dependencies(package: dict) -> dict[str, set[str]]:
    """The imports of the modules in Sources. The picture omits tests and other packages."""
    ours = {target["name"]: target for target in package["targets"]
            if target["type"] in ("regular", "executable")
            and (target.get("path") or "Sources/").startswith("Sources/")}
    found = {}
    for name, target in ours.items():
        named = {(item.get("byName") or item.get("target") or [None])[0] for item in target["dependencies"]}
        found[name] = {other for other in named if other in ours}
    return found


def reduced(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """The graph without the arrows that a longer path implies."""
    def reach(name: str) -> set[str]:
        found: set[str] = set()
        for other in graph[name]:
            found |= {other} | reach(other)
        return found

    return {name: {other for other in others if not any(other in reach(third) for third in others - {other})}
            for name, others in graph.items()}


def layout(graph: dict[str, set[str]]) -> str:
    graph = reduced(graph)
    height: dict[str, int] = {}

    def depth(name: str) -> int:
        if name not in height:
            height[name] = 1 + max((depth(other) for other in graph[name]), default=-1)
        return height[name]

    for name in sorted(graph):
        depth(name)
    # A module without imports is drawn just below the lowest module that uses it.
    users = {name: [user for user in graph if name in graph[user]] for name in graph}
    for name in sorted(graph, key=lambda name: (-height[name], name)):
        if users[name] and not graph[name]:
            height[name] = min(height[user] for user in users[name]) - 1
    edges = [(upper, lower) for upper in sorted(graph) for lower in sorted(graph[upper])]
    links, layers = with_bends(edges, height, sorted(graph))
    order(layers, links)
    x = positions(layers, links)
    return picture(graph, edges, height, layers, x)


def with_bends(edges: list, height: dict, names: list) -> tuple[list, list[list]]:
    """Gives an arrow across several layers a bend, a node without a box, in each layer between."""
    layers: list[list] = [[] for _ in range(max(height.values()) + 1)]
    for name in names:
        layers[height[name]].append(name)
    links = []
    for upper, lower in edges:
        before: object = upper
        for layer in range(height[upper] - 1, height[lower], -1):
            bend = (upper, lower, layer)
            layers[layer].append(bend)
            links.append((before, bend))
            before = bend
        links.append((before, lower))
    return links, layers


def order(layers: list[list], links: list) -> None:
    """Sorts each layer by the mean position of its neighbours, upwards and downwards in turn, and keeps the best
    order."""
    best, least = [list(layer) for layer in layers], crossings(layers, links)
    for sweep in range(SWEEPS):
        up = sweep % 2 == 0
        for index in (range(1, len(layers)) if up else range(len(layers) - 2, -1, -1)):
            by_middle(layers, index, index - 1 if up else index + 1, links)
        swap_neighbours(layers, links)
        if (count := crossings(layers, links)) < least:
            best, least = [list(layer) for layer in layers], count
    for layer, kept in zip(layers, best):
        layer[:] = kept


def by_middle(layers: list[list], index: int, other: int, links: list) -> None:
    position = {node: number for number, node in enumerate(layers[other])}
    middle = {}
    for number, node in enumerate(layers[index]):
        near = [position[end] for link in links if node in link for end in link if end in position]
        middle[node] = sum(near) / len(near) if near else float(number)
    layers[index].sort(key=lambda node: middle[node])


def swap_neighbours(layers: list[list], links: list) -> None:
    for layer in layers:
        for number in range(len(layer) - 1):
            before = crossings(layers, links)
            layer[number], layer[number + 1] = layer[number + 1], layer[number]
            if crossings(layers, links) >= before:
                layer[number], layer[number + 1] = layer[number + 1], layer[number]


def crossings(layers: list[list], links: list) -> int:
    place = {node: (level, number) for level, layer in enumerate(layers) for number, node in enumerate(layer)}
    by_level: dict[int, list] = {}
    for upper, lower in links:
        by_level.setdefault(place[upper][0], []).append((place[upper][1], place[lower][1]))
    return sum((a[0] - b[0]) * (a[1] - b[1]) < 0
               for level in by_level.values() for index, a in enumerate(level) for b in level[:index])


def width(node: object) -> float:
    return len(node) * SIZE * LETTER + 22 if isinstance(node, str) else 0


def positions(layers: list[list], links: list) -> dict:
    """Puts each node near the mean position of its neighbours, without overlaps of the boxes."""
    x: dict = {}
    for layer in layers:
        edge = 0.0
        for node in layer:
            x[node] = edge + width(node) / 2
            edge += width(node) + ROOM
    near: dict = {node: [] for node in x}
    for upper, lower in links:
        near[upper].append(lower)
        near[lower].append(upper)
    for sweep in range(200):
        for layer in layers if sweep % 2 else layers[::-1]:
            wanted = [sum(x[other] for other in near[node]) / len(near[node]) if near[node] else x[node]
                      for node in layer]
            for node, place in zip(layer, spread(layer, wanted)):
                x[node] = place
    least = min(x[node] - width(node) / 2 for node in x)
    return {node: place - least + SIDE for node, place in x.items()}


def spread(layer: list, wanted: list[float]) -> list[float]:
    """The positions closest to the wanted ones without overlaps. Groups of nodes that touch move as one."""
    groups: list[list] = []
    offset = 0.0
    for index, node in enumerate(layer):
        if index:
            offset += (width(layer[index - 1]) + width(node)) / 2 + ROOM
        groups.append([[wanted[index] - offset], [offset]])
        while len(groups) > 1 and middle(groups[-2]) > middle(groups[-1]):
            last = groups.pop()
            groups[-1][0] += last[0]
            groups[-1][1] += last[1]
    return [middle(group) + place for group in groups for place in group[1]]


def middle(group: list) -> float:
    return sum(group[0]) / len(group[0])


def picture(graph: dict, edges: list, height: dict, layers: list[list], x: dict) -> str:
    wide = max(x[node] + width(node) / 2 for node in x) + SIDE
    levels = len(layers)
    words = "; ".join(f"{name} imports {', '.join(sorted(graph[name]))}" for name in sorted(graph) if graph[name])
    canvas = Canvas(round(wide), levels * LAYER + 40, "The modules and what they import", words)

    def y(level: int) -> float:
        return 24 + (levels - 1 - level) * LAYER

    for upper, lower in edges:
        points = [(x[upper], y(height[upper]) + BOX)]
        for level in range(height[upper] - 1, height[lower], -1):
            points += [(x[upper, lower, level], y(level)), (x[upper, lower, level], y(level) + BOX)]
        points.append((x[lower], y(height[lower]) - 2))
        data = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
        for index, (right, down) in enumerate(points[1:], 1):
            left, above = points[index - 1]
            bend = (down - above) * 0.45
            data += f" C{left:.1f} {above + bend:.1f} {right:.1f} {down - bend:.1f} {right:.1f} {down:.1f}"
        canvas.path(data, arrow=True, width=1.2)
    for name in sorted(graph):
        fill = "part" if name.startswith("C") and name[1:2].isupper() else "panel"
        fill = "open" if not any(name in others for others in graph.values()) else fill
        canvas.box(x[name] - width(name) / 2, y(height[name]), width(name), BOX, fill)
        canvas.text(x[name], y(height[name]) + BOX / 2 + 4.5, name, size=SIZE)
    left = float(SIDE)
    for fill, words in [("open", "program and library"), ("panel", "module"), ("part", "C, or a library’s headers")]:
        canvas.box(left, levels * LAYER + 8, 14, 14, fill, round=3)
        canvas.text(left + 20, levels * LAYER + 20, words, "quiet", 11.5, anchor="start")
        left += 44 + len(words) * 11.5 * 0.56
    return canvas.render()
