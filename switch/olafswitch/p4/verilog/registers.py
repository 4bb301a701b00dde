"""Registers: a frame reads and writes one cell of each, and the next frame sees the new value."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from olafswitch.p4.emit.places import Places
from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.refuse import Pos, Refused
from olafswitch.p4.verilog.graph import Graph, Node
from olafswitch.p4.verilog.symbolic import Machine, sides_exclude
from olafswitch.p4.verilog.values import width_of

LATENCY = 3
"""The cycles from a cell's number to its value."""
MAX_BITS = 64


@dataclass(eq=False)
class Register:
    """``value`` is the content of a frame's cell; in its cycle ``data`` is stored where ``write`` holds."""

    name: str
    cells: int
    bits: int
    value: Node
    index: Node
    data: Node
    write: Node
    pos: Pos
    accesses: list[tuple[Node, tuple[tuple[int, bool], ...]]] = field(default_factory=list)

    @property
    def index_bits(self) -> int:
        return max(1, (self.cells - 1).bit_length())


def list_operands(node: Node) -> tuple[Node, ...]:
    """Return the nodes that a node needs; for a cell also its index, data and write condition."""
    if node.op != "cell":
        return node.args
    return node.attr.index, node.attr.data, node.attr.write


class Registers:
    """A program's registers. A cell's value, its number, and whether it is written are places of the machine,
    so that branches merge them as they do variables."""

    def __init__(self, graph: Graph, places: Places) -> None:
        self._g, self._places = graph, places
        self._known: dict[ir.Instance, Register] = {}

    @property
    def used(self) -> list[Register]:
        """The registers that the program accesses."""
        return [each for each in self._known.values() if each.accesses]

    def declare_instances(self, instances: Iterable[ir.Instance], machine: Machine) -> None:
        """Give the registers their places. Raises Refused where a cell is too wide."""
        g = self._g
        for each in instances:
            bits = width_of(each.type.args[0]) or 0
            if not 0 < bits <= MAX_BITS:
                why = f"a register's cells have up to {MAX_BITS} bits in hardware"
                raise Refused(each.pos, each.name, why)
            value = g.node("cell", bits, (), made := Register(
                each.name, self._places.cells(each), bits, g.no, g.no, g.no, g.no, each.pos
            ))  # fmt: skip
            made.value, made.index = value, g.const(0, made.index_bits)
            g.name_place(value, each.name.rpartition(".")[2])
            self._known[each] = made
            machine.env |= {f"{each.cpp}$": value, f"{each.cpp}$index": made.index, f"{each.cpp}$write": g.no}

    def _add_access(self, node: ir.ExternCall, index: Node, machine: Machine) -> Node:
        """Return whether the cell exists; raises Refused where a frame may need two cells."""
        register = self._known[node.object]
        within = self._g.yes
        if register.cells < 1 << index.width:
            within = self._g.binary("lt", index, self._g.const(register.cells, index.width))
        index = self._g.resize(index, register.index_bits)
        for other, sides in register.accesses:
            if other is not index and not sides_exclude(machine.sides, sides):
                why = "a frame may use two cells of it, which takes more than a cycle"
                raise Refused(node.pos, register.name, why)
        register.accesses.append((index, machine.sides))
        machine.env[f"{node.object.cpp}$index"] = index
        return within

    def read(self, node: ir.ExternCall, machine: Machine) -> None:
        """Run ``register.read(result, index)``; the result is unchanged where the cell does not exist."""
        within = self._add_access(node, machine.scalar_of(node.given(1)), machine)
        target = node.args[0].value
        if target is not None:
            old = machine.scalar_of(target)
            held = self._g.resize(machine.env[f"{node.object.cpp}$"], old.width)
            machine.assign_value(target, {"": self._g.mux(within, held, old)})

    def write(self, node: ir.ExternCall, machine: Machine) -> None:
        """Run ``register.write(index, value)``."""
        g, cpp = self._g, node.object.cpp
        within = self._add_access(node, machine.scalar_of(node.given(0)), machine)
        machine.env[f"{cpp}$"] = machine.scalar_of(node.given(1))  # stored where the cell exists
        machine.env[f"{cpp}$write"] = g.any(machine.env[f"{cpp}$write"], g.all(machine.path, within))

    def finish(self, machine: Machine) -> list[Register]:
        """Return the registers that the program uses, with what each frame does to them."""
        for instance, each in self._known.items():
            each.data, each.write = machine.env[f"{instance.cpp}$"], machine.env[f"{instance.cpp}$write"]
            each.index = machine.env[f"{instance.cpp}$index"]
        return self.used


def find_frontier(register: Register) -> tuple[list[Node], list[Node]]:
    """Return the nodes between a cell's old value and its new one, and the other nodes that these need.

    Raises Refused where a table or another register is between.
    """
    inside, seen, order = {register.value}, set[Node](), list[Node]()
    stack = [(root, False) for root in (register.data, register.write)]
    while stack:
        node, ready = stack.pop()
        if ready:
            order.append(node)
        elif node not in seen and node is not register.value:
            seen.add(node)
            stack += [(node, True), *((each, False) for each in list_operands(node))]
    for node in order:
        if any(each in inside for each in list_operands(node)):
            inside.add(node)
    between = [node for node in order if node in inside]
    if any(node.op in ("lookup", "cell") for node in between):
        why = "what is written depends on what was read through a table or another register"
        raise Refused(register.pos, register.name, why)
    needed = [arg for node in between for arg in node.args] + [register.data, register.write]
    return between, [node for node in dict.fromkeys(needed) if node not in inside and node.op != "const"]
