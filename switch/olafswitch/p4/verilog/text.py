"""Write nodes as Verilog: a wire for each value in its cycle, a register for each cycle that carries it."""

import re
import textwrap
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from olafswitch.p4.refuse import Pos
from olafswitch.p4.verilog.graph import Node
from olafswitch.p4.verilog.parsing import FRAME, WINDOW
from olafswitch.p4.verilog.schedule import Schedule
from olafswitch.p4.verilog.values import NEXT, VALID

_OPERATORS = {"and": "&", "or": "|", "xor": "^", "add": "+", "sub": "-", "mul": "*", "eq": "==", "lt": "<",
              "shl": "<<", "shr": ">>"}  # fmt: skip


WIDTH = 110
"""The characters of a line."""
_DIGITS = 256
"""The bits of a number that is written in one piece."""


def format_number(value: int, bits: int) -> str:
    """Return a number of ``bits`` bits; a wide number is several numbers side by side."""
    if bits <= _DIGITS:
        return f"{bits}'h{value:x}"
    low = (bits - 1) % _DIGITS + 1
    parts = [format_number(value >> at & (1 << _DIGITS) - 1, _DIGITS) for at in range(0, bits - low, _DIGITS)]
    return f"{{{', '.join([format_number(value >> bits - low, low), *reversed(parts)])}}}"


def format_vector(bits: int) -> str:
    return f"[{bits - 1}:0] " if bits > 1 else ""


def make_legible(place: str) -> str:
    """Return a name for a place in the program: ``hdr.ipv4.ttl`` of a block's parameter is ``ipv4_ttl``."""
    way = place.replace(VALID, ".valid").replace(NEXT, ".next")
    first, _, rest = way.partition(".")
    return re.sub(r"\W+", "_", rest or first, flags=re.ASCII).strip("_")


def wrap_line(line: str) -> str:
    """Return a line of Verilog as lines of at most WIDTH characters; a comment is cut."""
    indent = line[: len(line) - len(line.lstrip())]
    if len(line) <= WIDTH or line.lstrip().startswith("//"):
        return line[:WIDTH]
    return "\n".join(
        textwrap.wrap(
            line, WIDTH, subsequent_indent=indent + "    ", break_long_words=False, break_on_hyphens=False,
            initial_indent=indent, drop_whitespace=True,
        )
    )  # fmt: skip


def _is_inline(node: Node) -> bool:
    """Return whether a value is written where it is used."""
    return node.op == "not" and node.width == 1 and not node.hint and node.args[0].op != "not"


class VerilogWriter:
    """A writer of the nodes of a schedule; ``window_bytes`` is the part of a frame that the module stores.

    A value is ``s3_ipv4_ttl``: its cycle, and the first place in the program that has it. ``lines`` are the
    program's, by file and number, for the comments.
    """

    def __init__(self, schedule: Schedule, window_bytes: int, lines: Mapping[tuple[str, int], str]) -> None:
        self._s = schedule
        self._lines = lines
        self._skipped = 8 * (WINDOW - window_bytes)
        self._names: dict[Node, str] = {}
        self._used = Counter[str]()
        self._cycles: dict[int, list[tuple[Pos | None, str]]] = {}
        self.kept: list[str] = []
        """Declarations of registers."""
        self.registers: list[str] = []
        self.partly: set[str] = set()
        """Signals of which some bits may be unused."""
        last = dict(schedule.last)
        for node in schedule.order:
            if node.op == "name":
                last[node.args[0]] = max(last[node.args[0]], last[node])
        for node in schedule.order:
            if node.op not in ("const", "name"):
                self._write_node(node, last[node])

    @property
    def wires(self) -> list[str]:
        """The wires, by cycle and with the program's lines: each uses wires before it, and registers."""
        made: list[str] = []
        for cycle, wires in sorted(self._cycles.items()):
            made.append(f"// ---- cycle {cycle}")
            before: tuple[str, int] | None = None
            for pos, wire in wires:
                at = (pos.file, pos.line) if pos is not None else None
                if at is not None and at != before:
                    made.append(f"// {Path(at[0]).name}:{at[1]}: {self._lines.get(at, '').strip()}")
                before = at or before
                made.append(wire)
        return made

    def at(self, node: Node, cycle: int) -> str:
        """Return a value as Verilog in a cycle."""
        while node.op == "name":
            node = node.args[0]
        if node.op == "const":
            return format_number(node.attr, node.width)
        if _is_inline(node) and cycle == self._s.cycle[node]:
            return f"~{self.at(node.args[0], cycle)}"
        name = self._names.get(node)
        if name is None:
            name = self._names[node] = self._choose_name(node)
        if node.op == "input" and cycle == self._s.cycle[node]:
            return f"in_{node.attr}"
        return f"s{cycle}_{name}"

    def _choose_name(self, node: Node) -> str:
        place = "" if node.hint.startswith("$") else make_legible(node.hint)
        name = str(node.attr) if node.op == "input" else place or node.op
        self._used[name] += 1
        alone = node.op == "input" or (place and self._used[name] == 1)
        return name if alone else f"{name}_{self._used[name]}"

    def _write_node(self, node: Node, last: int) -> None:
        first = self._s.cycle[node]
        name = self.at(node, first)
        if node.op in ("lookup", "cell"):
            self.partly.add(name)
        elif node.op != "input" and not _is_inline(node):
            wire = f"wire {format_vector(node.width)}{name} = {self._format_expression(node)};"
            self._cycles.setdefault(first, []).append((node.pos, wire))
        if node.op == "slice":
            self.partly.add(self.at(node.args[0], first))
        for cycle in range(first, last):
            after = self.at(node, cycle + 1)
            self.kept.append(f"reg {format_vector(node.width)}{after};")
            self.registers.append(f"{after} <= {self.at(node, cycle)};")

    def _format_expression(self, node: Node) -> str:
        cycle = self._s.cycle[node]
        args = [self.at(arg, cycle) for arg in node.args]
        match node.op:
            case "slice":
                low = node.attr
                if node.args[0].op == "input" and node.args[0].attr == FRAME:
                    low -= self._skipped
                return f"{args[0]}[{low + node.width - 1}:{low}]" if node.width > 1 else f"{args[0]}[{low}]"
            case "cat":
                return "{" + ", ".join(args) + "}"
            case "not":
                return f"~{args[0]}"
            case "mux":
                return f"{args[0]} ? {args[1]} : {args[2]}"
            case "onehot":
                pairs = zip(args[::2], args[1::2], strict=True)
                return " | ".join(f"({{{node.width}{{{c}}}}} & {v})" for c, v in pairs)
            case "linear":
                rows, inverted = node.attr
                bits = [f"^({args[0]} & {format_number(row, node.args[0].width)})" for row in reversed(rows)]
                return f"{{{', '.join(bits)}}} ^ {format_number(inverted, node.width)}"
        return f"{args[0]} {_OPERATORS[node.op]} {args[1]}"


def format_instance(
    module: str, name: str, parameters: Mapping[str, object], ports: Mapping[str, str]
) -> list[str]:
    """Return an instance of a module, as lines."""
    given = ", ".join(f".{key}({value})" for key, value in parameters.items())
    wired = ", ".join(f".{key}({value})" for key, value in ports.items())
    return [f"{module} #({given}) {name} (", f"    {wired}", ");"]
