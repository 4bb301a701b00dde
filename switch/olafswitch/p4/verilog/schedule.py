"""Divide the values into cycles: each as early as its operands allow, within a cycle's levels."""

from collections.abc import Iterable, Sequence
from math import ceil, log

from olafswitch.p4.refuse import Refused
from olafswitch.p4.verilog import registers
from olafswitch.p4.verilog.graph import Node
from olafswitch.p4.verilog.registers import Register

LIMIT = 7.0
"""Levels of logic in one cycle, as estimated here; a mapped design's may be up to twice as many."""
_KEY_LEVELS = 3.0
"""Levels that the first cycle of a lookup adds to the key's."""


def _tree_levels(inputs: int) -> float:
    """Return the levels of a tree of six-input tables."""
    return float(ceil(log(max(inputs, 2)) / log(6) - 1e-9))


def estimate_levels(node: Node) -> float:
    """Return an estimate of the levels of logic that an operation takes."""
    bits = node.args[0].width if node.args else 0
    match node.op:
        case "and" | "or":
            return 0.25
        case "xor":
            return 0.5
        case "mux":
            return 0.75
        case "onehot":
            return 1 + _tree_levels(len(node.args) // 2)
        case "eq":
            return _tree_levels(bits if node.args[1].op == "const" else 2 * bits)
        case "lt" | "add" | "sub":
            return 1 + ceil(bits / 16)
        case "linear":
            return _tree_levels(max(row.bit_count() for row in node.attr[0]))
        case "shl" | "shr":
            return 1 + ceil(log(max(bits, 2), 4))
        case "mul":
            return LIMIT
        case "lookup" if node.attr.keys:
            return _KEY_LEVELS
    return 0.0


class Schedule:
    """The ``cycle`` of every node that ``outputs`` and registers need; outputs are used in cycle ``length``.

    Raises Refused where the new value of a register is not calculated in one cycle.
    """

    def __init__(self, outputs: Iterable[Node], cells: Sequence[Register] = ()) -> None:
        self.cycle: dict[Node, int] = {}
        self._level: dict[Node, float] = {}
        self.order: list[Node] = []
        """The nodes, each after those that it needs."""
        wanted = list(outputs)
        between = {each: registers.find_frontier(each) for each in cells}
        self._needed = {each.value: (each.index, *needed) for each, (_, needed) in between.items()}
        for node in (*wanted, *(node for each in cells for node in (each.value, each.data, each.write))):
            self._visit_root(node)
        for each, (nodes, _) in between.items():
            if any(self.cycle[n] > self.cycle[each.value] or self._level[n] > LIMIT - 1 for n in nodes):
                why = f"what is written follows from what was read by {len(nodes)} operations"
                raise Refused(each.pos, each.name, f"{why}, too many for a cycle")
        self.length = max((self.cycle[node] for node in (*wanted, *(c.value for c in cells))), default=0)
        self.last = dict(self.cycle)
        """The last cycle in which each node is used."""
        for node in self.order:
            for arg in node.args:
                wait = int(node.attr.latency) if node.op == "lookup" else 0
                self.last[arg] = max(self.last[arg], self.cycle[node] - wait)
        for each in cells:
            cycle, index = self.cycle[each.value], each.index
            self.last[index] = max(self.last[index], cycle - registers.LATENCY)
            for node in (each.data, each.write):
                self.last[node] = max(self.last[node], cycle)
        for node in wanted:
            self.last[node] = self.length

    @property
    def carried(self) -> int:
        """The bits of the registers that carry values from a cycle to later ones."""
        kept = (node for node in self.order if node.op not in ("const", "name"))
        return sum(node.width * (self.last[node] - self.cycle[node]) for node in kept)

    def _visit_root(self, root: Node) -> None:
        stack = [root]
        while stack:
            node = stack[-1]
            missing = [arg for arg in self._needed.get(node, node.args) if arg not in self.cycle]
            if missing:
                stack += missing
                continue
            stack.pop()
            if node not in self.cycle:
                self._put_node(node)

    def _put_cell(self, node: Node) -> None:
        """Put a cell in the first cycle by which every other operand of its new value is known."""
        index, *others = self._needed[node]
        cycle = self.cycle[index] + (self._level[index] > LIMIT - 2) + registers.LATENCY
        cycle = max([cycle, *(self.cycle[each] + (self._level[each] > 0) for each in others)])
        self.cycle[node], self._level[node] = cycle, 0.0
        self.order.append(node)

    def _put_node(self, node: Node) -> None:
        if node.op == "cell":
            self._put_cell(node)
            return
        args = [arg for arg in node.args if arg.op != "const"]
        cycle = max((self.cycle[arg] for arg in args), default=0)
        level = max((self._level[arg] for arg in args if self.cycle[arg] == cycle), default=0.0)
        cost = estimate_levels(node)
        assert cost <= LIMIT, f"{node.op} of {node.width} bits takes more than a cycle"
        if level and level + cost > LIMIT:
            cycle, level = cycle + 1, 0.0
        level += cost
        if node.op == "lookup":
            cycle, level = cycle + node.attr.latency, 0.0
        self.cycle[node], self._level[node] = cycle, level
        self.order.append(node)
