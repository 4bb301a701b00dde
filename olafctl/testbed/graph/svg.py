"""The topology as SVG: workers on the left, the root's hosts on the right, updates flow to the right."""

from collections.abc import Iterator
from dataclasses import dataclass
from xml.sax.saxutils import escape

from olafctl.testbed.graph.tree import Behind, TreeNode, name_hosts
from olafctl.testbed.graph.words import about_cable, describe_engine, describe_traffic, draw_text

_BOX = 190
_GAP = 210
"""The distance between columns: room for a link's two lines of rates."""
_ROW = 64
_NAME_LETTERS, _SMALL_LETTERS = 22, 30
"""The lengths of names that fit a box."""
_MARGIN = 24
_HEAD = 64
_STYLE = """\
text { font: 13px Helvetica, Arial, sans-serif; fill: #223; text-anchor: middle }
.title { font-size: 17px; font-weight: bold; text-anchor: start }
.name { font-weight: bold }
.small { font-size: 11px }
.engine { fill: #fbe9d9; stroke: #334; stroke-width: 1.5 }
.hosts { fill: #f4f6fb; stroke: #334; stroke-width: 1.5 }
.link { stroke: #334; stroke-width: 1.5; fill: none }
.full { stroke: #c01f2e; stroke-width: 3 }
.away { fill: #e6e6e6; stroke-dasharray: 4 3 }
.used { fill: #b4552d }
.right { fill: #1f5fa8 }
.left { fill: #b4552d }"""


@dataclass(frozen=True)
class _Place:
    """A box: its left edge and the middle of its height."""

    left: float
    middle: float

    @property
    def right(self) -> float:
        return self.left + _BOX


def draw_svg(title: str, root: TreeNode, *, style: bool = True) -> str:
    """Return the tree as SVG, with its text in the description; without ``style`` the page that shows it has
    the rules."""
    depth, rows = _depth_of(root), max(_count_rows(root), len(root.sinks))
    columns = depth + 1 + bool(root.sinks)
    width = 2 * _MARGIN + columns * _BOX + (columns - 1) * _GAP
    height = _HEAD + rows * _ROW + _MARGIN
    middle = _HEAD + rows * _ROW / 2
    shapes = [
        *_draw_engine(root, depth, middle - _count_rows(root) * _ROW / 2),
        *_draw_sinks(root, depth, middle),
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
            f"<title>{escape(title)}</title>",
            f"<desc>{escape(draw_text(root))}</desc>",
            *([f"<style>{_STYLE}</style>"] if style else []),
            f'<rect width="{width}" height="{height}" fill="#fff"/>',
            f'<text class="title" x="{_MARGIN}" y="30">{escape(title)}</text>',
            *shapes,
            "</svg>",
            "",
        ]
    )


def _depth_of(node: TreeNode) -> int:
    """Return the number of columns to the left of an engine."""
    deepest = max((_depth_of(child) for child in node.children), default=0)
    return max(deepest + bool(node.children), 1 if node.sources else 0)


def _count_rows(node: TreeNode) -> int:
    """Return the number of rows of an engine and all to its left."""
    return max(sum(_count_rows(child) for child in node.children) + len(node.sources), 1)


def _draw_column(number: int) -> float:
    return _MARGIN + number * (_BOX + _GAP)


def _draw_engine(node: TreeNode, column: int, top: float) -> Iterator[str]:
    """Yield the drawing of an engine in ``column`` whose rows begin at ``top``, and of all to its left."""
    place = _Place(_draw_column(column), top + _count_rows(node) * _ROW / 2)
    for child in node.children:
        assert child.cable is not None
        there = _Place(_draw_column(column - 1), top + _count_rows(child) * _ROW / 2)
        into, out = describe_traffic(child.cable.rates)
        full = child.cable.is_full
        yield from _draw_link(there.right, there.middle, place.left, place.middle, out, into, full)
        yield _draw_text("small", (there.right + place.left) / 2, there.middle + 29, about_cable(child.cable))
        yield from _draw_engine(child, column - 1, top)
        top += _count_rows(child) * _ROW
    for port in node.sources:
        there = _Place(_draw_column(column - 1), top + _ROW / 2)
        into, out = describe_traffic(port.rates)
        yield from _draw_link(there.right, there.middle, place.left, place.middle, into, out)
        yield from _draw_hosts(port, there)
        top += _ROW
    state = " away" if node.away else " full" if node.is_full else ""
    yield from _draw_box(f"engine{state}", place, node.name, describe_engine(node))
    if node.occupancy:
        wide = _BOX * min(node.occupancy / node.slots, 1)
        yield f'<path class="used" d="M{place.left} {place.middle + 18}h{wide:g}v4h-{wide:g}z"/>'


def _draw_sinks(root: TreeNode, column: int, middle: float) -> Iterator[str]:
    """Yield the drawing of all to the right of the root, around its middle."""
    place = _Place(_draw_column(column), middle)
    first = middle - (len(root.sinks) - 1) * _ROW / 2
    for row, port in enumerate(root.sinks):
        there = _Place(_draw_column(column + 1), first + row * _ROW)
        into, out = describe_traffic(port.rates)
        full = root.is_full and port.rates is not None and port.rates.bits_out > 0
        yield from _draw_link(there.left, there.middle, place.right, place.middle, out, into, full)
        yield from _draw_hosts(port, there)


def _draw_hosts(port: Behind, place: _Place) -> Iterator[str]:
    counted = f"{port.workers} workers" if port.workers > 1 else name_hosts(port)
    if counted == port.port:
        counted = "host"
    if port.unplugged:
        counted = "no carrier"
    yield from _draw_box(
        "hosts away" if port.unplugged else "hosts",
        place,
        port.port,
        counted,
        f"{port.port}: {', '.join(port.hosts)}",
    )


def _draw_link(
    x: float,
    y: float,
    engine_x: float,
    engine_y: float,
    rightwards: str,
    leftwards: str,
    full: bool = False,
) -> Iterator[str]:
    """Yield a cable from a box at (x, y) to an engine; the traffic is written on the box's own row, where the
    cables of one engine are apart."""
    bend = engine_x + (20 if x > engine_x else -20)
    yield f'<path class="link{" full" if full else ""}" d="M{x} {y}H{bend}V{engine_y}H{engine_x}"/>'
    if rightwards:
        yield _draw_text("small right", (x + bend) / 2, y - 6, f"→ {rightwards}")
        yield _draw_text("small left", (x + bend) / 2, y + 15, f"← {leftwards}")


def _draw_box(kind: str, place: _Place, name: str, below: str, full: str = "") -> Iterator[str]:
    x, y = place.left + _BOX / 2, place.middle
    yield f"<g><title>{escape(full or name)}</title>"
    yield f'<rect class="{kind}" x="{place.left}" y="{y - 22}" width="{_BOX}" height="44" rx="6"/>'
    yield _draw_text("name", x, y - 4, _cut_text(name, _NAME_LETTERS))
    yield _draw_text("small", x, y + 13, _cut_text(below, _SMALL_LETTERS)) + "</g>"


def _draw_text(kind: str, x: float, y: float, words: str) -> str:
    return f'<text class="{kind}" x="{x}" y="{y}">{escape(words)}</text>'


def _cut_text(words: str, most: int) -> str:
    return words if len(words) <= most else f"{words[: most - 1]}…"
