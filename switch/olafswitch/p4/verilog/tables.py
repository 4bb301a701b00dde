"""Tables: the engine of each lookup, the layout of its entries, and the effect of its actions on a frame."""

from collections.abc import Callable
from dataclasses import dataclass

from olafswitch.p4.emit.places import Places
from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.ir import types as t
from olafswitch.p4.p4info.annotations import is_hidden
from olafswitch.p4.refuse import Refused
from olafswitch.p4.verilog.graph import Node
from olafswitch.p4.verilog.symbolic import Machine
from olafswitch.p4.verilog.values import Leaves, width_of

SMALL = 64
"""The most entries that are compared all at once, in registers."""
RANGE_BITS = 16
_FULL = 0.85
"""The share of an exact engine's places that is used, so that few moves make room for an entry."""
LATENCY = {"none": 1, "ternary": 3, "exact": 4, "lpm": 4}
"""The cycles of a lookup, by engine."""


@dataclass(frozen=True)
class Key:
    """One field of a table's key, which the driver must lay out from bit ``low`` of the whole key."""

    name: str
    kind: str
    bits: int
    low: int


@dataclass(eq=False)
class LookupEngine:
    """A table in hardware. The result of a lookup is, from its lowest bit, the entry's data, its action's
    number, its place, and whether it was hit."""

    table: ir.Table
    kind: str
    keys: tuple[Key, ...]
    data_bits: int
    ways: int
    row_bits: int
    small: int
    """The number of entries in registers."""
    is_value_set: bool = False

    @property
    def key_bits(self) -> int:
        return sum(key.bits for key in self.keys)

    @property
    def action_bits(self) -> int:
        return max(1, (len(self.table.actions) - 1).bit_length())

    @property
    def slots(self) -> int:
        """The number of places for entries: those of the ways, then those in registers."""
        return (self.ways << self.row_bits) + self.small

    @property
    def slot_bits(self) -> int:
        return max(1, (self.slots - 1).bit_length())

    @property
    def entry_bits(self) -> int:
        """The bits of an entry's action and data."""
        return self.action_bits + self.data_bits

    @property
    def result_bits(self) -> int:
        return self.entry_bits + self.slot_bits + 1

    @property
    def memory_bits(self) -> int:
        """The bits of memory that the ways take."""
        return (self.key_bits + self.entry_bits + 1) * (self.ways << self.row_bits)

    @property
    def latency(self) -> int:
        return LATENCY[self.kind]

    @property
    def masked(self) -> bool:
        """Whether an entry may leave out bits of the key."""
        return any(key.kind != "exact" for key in self.keys)

    @property
    def words(self) -> int:
        """The 32-bit words of an entry as the driver writes it: its action and data, key and mask."""
        return (self.entry_bits + 2 * self.key_bits + 31) // 32


def _choose_ways(size: int) -> tuple[int, int]:
    """Return the fewest places, as hash ways of 2^n rows, that hold ``size`` entries."""
    choices = ((ways << bits, ways, bits) for bits in range(4, 33) for ways in range(4, 8))
    return min(each for each in choices if each[0] * _FULL >= size)[1:]


def _lay_out_keys(table: ir.Table) -> tuple[Key, ...]:
    keys, low = list[Key](), sum(t.key_width(key.value.type) or 0 for key in table.match_keys)
    for key in table.match_keys:
        bits = t.key_width(key.value.type) or 0
        low -= bits
        if key.kind == "range" and bits > RANGE_BITS:
            raise Refused(key.pos, "range key", f"wider than {RANGE_BITS} bits is not supported in hardware")
        keys.append(Key(key.name, key.kind, bits, low))
    return tuple(keys)


def choose_engine(table: ir.Table) -> LookupEngine:
    """Return the engine that looks a table up; raises Refused where no engine can."""
    kinds = {key.kind for key in table.match_keys}
    keys = _lay_out_keys(table)
    for has, what in (
        (table.profile is not None, "action profiles and selectors"),
        (table.meter is not None, "direct meters"),
        (table.idle_timeout, "idle timeouts"),
        (table.entries and is_hidden(table.annotations), "entries of a hidden table"),
    ):
        if has:
            raise Refused(table.pos, table.name, f"{what} are not supported in hardware")
    data = max((sum(width_of(p.type) or 0 for p in each.action.data) for each in table.actions), default=0)
    size = max(table.size, len(table.entries), 1)
    if not keys:
        return LookupEngine(table, "none", keys, data, 0, 0, 0)
    if size <= SMALL or kinds & {"ternary", "range", "optional"}:
        return LookupEngine(table, "ternary", keys, data, 0, 0, min(size, SMALL))
    kind, small = ("lpm", SMALL) if "lpm" in kinds else ("exact", 0)
    return LookupEngine(table, kind, keys, data, *_choose_ways(size), small)


class Tables:
    """The tables that a program applies, in their order."""

    def __init__(self, places: Places, count: Callable[[object, Node, Node, Machine], None]) -> None:
        self.engines: list[LookupEngine] = []
        self._places = places
        self._count = count

    def apply_table(self, node: ir.TableApply, machine: Machine) -> Leaves:
        """Look a table up and run the action of the entry."""
        g, table = machine.g, node.table
        if any(each.table is table for each in self.engines):
            why = "a table that is applied at two places is not supported in hardware"
            raise Refused(table.pos, table.name, why)
        made = choose_engine(table)
        self.engines.append(made)
        keys = []
        for key in table.keys:
            value = machine.scalar_of(key.value)
            if key.kind == "selector":
                continue
            if isinstance(key.value, ir.Field) and t.is_header(t.strip_type(key.value.base.type)):
                valid = machine.o.is_valid(key.value.base.type, machine.value(key.value.base))
                value = g.mux(valid, value, g.const(0, value.width))
            keys.append(value)
        name = table.name.rpartition(".")[2]
        result = g.name_place(g.node("lookup", made.result_bits, [g.cat(keys)], made), name)
        hit = g.name_place(g.slice(result, made.result_bits - 1, 1), f"{name}_hit")
        action = g.name_place(g.slice(result, made.data_bits, made.action_bits), f"{name}_action")
        data = g.slice(result, 0, made.data_bits)
        if table.counter is not None:
            slot = g.slice(result, made.entry_bits, made.slot_bits)
            self._count(table, slot, g.all(machine.path, hit), machine)
        self._run_actions(made, action, data, machine)
        return {"": {"hit": hit, "miss": g.invert(hit)}.get(node.part, action)}

    def is_member(self, values: ir.ValueSet, key: Node, machine: Machine) -> Node:
        """Return whether a key is in a parser's value set; each place of a lookup has its own members."""
        table = ir.Table(
            values.name, values.cpp, values.keys, (), 0, (), True, (), False, values.size, None, None, None,
            False, values.annotations, values.pos,
        )  # fmt: skip
        made = LookupEngine(
            table, "ternary", _lay_out_keys(table), 0, 0, 0, max(1, min(values.size, SMALL)), True
        )
        self.engines.append(made)
        result = machine.g.node("lookup", made.result_bits, [key], made)
        return machine.g.slice(result, made.result_bits - 1, 1)

    def _run_actions(
        self, made: LookupEngine, action: Node, data: Node, machine: Machine, number: int = 0
    ) -> None:
        """Run the entry's action, each action in its own branch."""
        actions = made.table.actions

        def run_branch() -> None:
            bound, given, low = actions[number], dict[str, Leaves](), 0
            for param in reversed(bound.action.data):
                bits = width_of(param.type)
                if bits is None:
                    why = f"action data of {param.type} is not supported"
                    raise Refused(bound.action.pos, f"parameter {param.name}", why)
                part = machine.g.slice(data, low, bits)
                given[param.name] = {
                    "": machine.g.name_place(part, f"{bound.action.name}_{param.name}".rpartition(".")[2])
                }
                low += bits
            machine.run_call(
                bound.action.params, bound.args, given, lambda: machine.run_statement(bound.action.body)
            )

        if number == len(actions) - 1:
            run_branch()
        elif actions:
            chosen = machine.g.equal(action, number)
            machine.run_branch(
                chosen, run_branch, lambda: self._run_actions(made, action, data, machine, number + 1)
            )
