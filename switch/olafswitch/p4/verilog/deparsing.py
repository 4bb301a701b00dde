"""The deparser: which bytes of a frame change, and by how much the bytes after them move."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

from olafswitch.p4.ir import types as t
from olafswitch.p4.refuse import Pos, Refused
from olafswitch.p4.verilog.graph import Graph, Node
from olafswitch.p4.verilog.parsing import End, frame_bits
from olafswitch.p4.verilog.symbolic import Machine
from olafswitch.p4.verilog.values import VALID, Leaves, items_of, leaves_of, take_part

BEAT = 64
MAX_SHIFTS, MAX_CHOICES = 24, 8
"""The most shifts of one program, and the most conditions on emitted headers for one end of the parser."""


@dataclass
class Emission:
    """A header that the deparser may emit, where ``condition`` holds."""

    condition: Node
    content: Node


@dataclass
class Edits:
    """``changed``: by byte of the frame that leaves, whether it is written and with what value. ``shifts``:
    by (``split``, ``delta``), where the bytes after byte ``split`` move by ``delta`` bytes."""

    changed: dict[int, tuple[Node, Node]] = field(default_factory=dict)
    shifts: dict[tuple[int, int], Node] = field(default_factory=dict)

    def restrict_to(self, graph: Graph, condition: Node) -> None:
        """Edit nothing where ``condition`` does not hold."""
        self.changed = {at: (graph.all(c, condition), data) for at, (c, data) in self.changed.items()}
        self.shifts = {where: graph.all(c, condition) for where, c in self.shifts.items()}

    @property
    def beats(self) -> int:
        """The number of beats with bytes that are written or a place from which all bytes move."""
        last = max([*self.changed, *(split for split, _ in self.shifts)], default=0)
        return last // BEAT + 1


def list_emissions(machine: Machine, type_: t.Type, value: Leaves, pos: Pos) -> Iterator[Emission]:
    """Yield the headers that ``packet.emit(value)`` emits."""
    inner = items_of(type_)
    if inner is None:
        raise Refused(pos, "emit", f"{type_} is neither a header nor made of headers")
    if t.is_header(t.strip_type(type_)):
        whole = machine.g.cat([value[way] for way, _ in leaves_of(type_, pos) if not way.endswith(VALID)])
        if whole.width % 8:
            raise Refused(pos, f"header {type_}", f"is {whole.width} bits long, not a number of bytes")
        yield Emission(machine.g.all(machine.path, value[VALID]), whole)
        return
    for way, of in inner:
        yield from list_emissions(machine, of, take_part(value, way), pos)


class Deparsing:
    """The edits that a program's emissions make to a frame, for each end of its parser."""

    def __init__(self, graph: Graph, ends: list[End], made: list[Emission], pos: Pos) -> None:
        self.g, self._pos = graph, pos
        self._written: dict[int, list[tuple[Node, Node]]] = {}
        self.edits = Edits()
        others = {end.chosen: graph.no for end in ends}
        for end in ends:
            self._add_end(end, others | {end.chosen: graph.yes}, made)
        for at, pairs in sorted(self._written.items()):
            self.edits.changed[at] = (graph.any(*(c for c, _ in pairs)), graph.onehot(pairs, 8))

    def _add_end(self, end: End, assumed: dict[Node, Node], made: list[Emission]) -> None:
        g = self.g
        inside = g.fold_under(assumed)
        conditions = [inside(each.condition) for each in made]
        open_ = (c.args[0] if c.op == "not" else c for c in conditions if c.value is None)
        choices = list(dict.fromkeys(open_))
        if len(choices) > MAX_CHOICES:
            raise Refused(self._pos, "deparser", f"more than {MAX_CHOICES} headers may be there or not")
        for decided in product((g.no, g.yes), repeat=len(choices)):
            facts = dict(zip(choices, decided, strict=True))
            literals = [c if fact.value else g.invert(c) for c, fact in facts.items()]
            chosen = g.all(end.chosen, *literals)
            if chosen.value == 0 or self._facts_contradict(facts):
                continue
            seen = g.fold_under(assumed | facts)
            kept = [each for each, c in zip(made, conditions, strict=True) if seen(c).value == 1]
            self._place_headers(chosen, [seen(each.content) for each in kept], end.at)

    def _facts_contradict(self, facts: dict[Node, Node]) -> bool:
        """Return whether the other conditions decide one of the conditions differently."""
        for node, fact in facts.items():
            seen = self.g.fold_under({other: value for other, value in facts.items() if other is not node})
            if seen(node).value not in (None, fact.value):
                return True
        return False

    def _place_headers(self, chosen: Node, content: list[Node], at: int) -> None:
        g = self.g
        row = [
            g.slice(each, each.width - 8 * (byte + 1), 8)
            for each in content
            for byte in range(each.width // 8)
        ]
        delta = len(row) - at
        if abs(delta) >= BEAT:
            raise Refused(self._pos, "deparser", f"a frame gets {delta} bytes longer; at most {BEAT - 1}")
        split = len(row)
        while delta and split > max(0, delta) and row[split - 1] is frame_bits(g, 8 * (split - 1 - delta), 8):
            split -= 1
        for byte, node in enumerate(row[:split] if delta else row):
            if node is not frame_bits(g, 8 * byte, 8):
                self._written.setdefault(byte, []).append((chosen, node))
        if delta:
            known = self.edits.shifts.get((split, delta), g.no)
            self.edits.shifts[split, delta] = g.any(known, chosen)
            if len(self.edits.shifts) > MAX_SHIFTS:
                why = f"changes a frame's length at more than {MAX_SHIFTS} places"
                raise Refused(self._pos, "deparser", why)
