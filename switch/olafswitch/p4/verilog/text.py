"""Nodes as Verilog: a wire for each value in its cycle, a register for each cycle that it is kept."""

from collections.abc import Mapping

from olafswitch.p4.verilog.graph import Node
from olafswitch.p4.verilog.parsing import FRAME, WINDOW
from olafswitch.p4.verilog.schedule import Schedule

_OPERATORS = {"and": "&", "or": "|", "xor": "^", "add": "+", "sub": "-", "mul": "*", "eq": "==", "lt": "<",
              "shl": "<<", "shr": ">>"}  # fmt: skip


def number(value: int, bits: int) -> str:
    return f"{bits}'h{value:x}"


def vector(bits: int) -> str:
    return f"[{bits - 1}:0] " if bits > 1 else ""


class Writer:
    """Writes the nodes of a schedule; ``window_bytes`` is how much of a frame the module keeps."""

    def __init__(self, schedule: Schedule, window_bytes: int) -> None:
        self._s = schedule
        self._skipped = 8 * (WINDOW - window_bytes)
        self.wires: list[str] = []
        self.registers: list[str] = []
        self.partly: set[str] = set()
        """Signals of which some bits may not be used."""
        last = dict(schedule.last)
        for node in schedule.order:
            if node.op == "name":
                last[node.args[0]] = max(last[node.args[0]], last[node])
        for node in schedule.order:
            if node.op not in ("const", "name"):
                self._node(node, last[node])

    def at(self, node: Node, cycle: int) -> str:
        """A value as it is in a cycle."""
        while node.op == "name":
            node = node.args[0]
        if node.op == "const":
            return number(node.attr, node.width)
        first = self._s.cycle[node]
        name = f"in_{node.attr}" if node.op == "input" else f"n{node.number}"
        return name if cycle == first else f"{name}_{cycle}"

    def _node(self, node: Node, last: int) -> None:
        name = self.at(node, self._s.cycle[node])
        if node.op in ("lookup", "cell"):
            self.partly.add(name)
        elif node.op != "input":
            self.wires.append(f"wire {vector(node.width)}{name} = {self._expression(node)};")
        if node.op == "slice":
            self.partly.add(self.at(node.args[0], self._s.cycle[node]))
        for cycle in range(self._s.cycle[node], last):
            after = self.at(node, cycle + 1)
            self.wires.append(f"reg {vector(node.width)}{after};")
            self.registers.append(f"{after} <= {self.at(node, cycle)};")

    def _expression(self, node: Node) -> str:
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
                bits = [f"^({args[0]} & {number(row, node.args[0].width)})" for row in reversed(rows)]
                return f"{{{', '.join(bits)}}} ^ {number(inverted, node.width)}"
        return f"{args[0]} {_OPERATORS[node.op]} {args[1]}"


def instance(module: str, name: str, parameters: Mapping[str, object], ports: Mapping[str, str]) -> list[str]:
    """An instance of a module, as lines."""
    given = ", ".join(f".{key}({value})" for key, value in parameters.items())
    wired = ", ".join(f".{key}({value})" for key, value in ports.items())
    return [f"{module} #({given}) {name} (", f"    {wired}", ");"]
