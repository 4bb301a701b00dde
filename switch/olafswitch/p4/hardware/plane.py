"""A module's tables, counters, registers and value sets as P4Runtime's agent writes them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, product
from typing import Any, NoReturn

from olafswitch.p4.hardware.driver import Driver, Table
from olafswitch.p4runtime.dataplane import (
    ActionCall,
    ActionSpec,
    CounterData,
    Exact,
    Key,
    Lpm,
    Match,
    MeterConfig,
    Optional,
    Range,
    Replica,
    ReplicationLimits,
    TableFull,
    Ternary,
    Unsupported,
)
from olafswitch.p4runtime.program import MatchKind, Program

_Row = tuple[int, int, int | None]
"""Key, mask and rank of a place that an entry takes; a hashed one has no rank."""


@dataclass
class _Entry:
    rows: list[_Row]
    packets: int = 0
    bytes: int = 0


def _lacks(what: str) -> Callable[..., NoReturn]:
    def refuse(*requested: object) -> NoReturn:
        raise Unsupported(f"a P4 program in hardware {what}")

    return refuse


class HardwarePlane:
    """See :class:`olafswitch.p4runtime.dataplane.ForwardingPlane`; of a program for v1model or XSA."""

    replication = ReplicationLimits(511, 0xFFFF, 0xFFFF, 1)

    def __init__(self, driver: Driver, info: Program) -> None:
        """Of a module that was just started: its tables are empty. The program's own entries are inserted."""
        self.driver, self._info, self.p4info = driver, info, info.p4info
        self._entries: dict[tuple[int, Key, int], _Entry] = {}
        self._before: dict[tuple[int, int], CounterData] = {}
        """What was read of counters' cells, which forget it."""
        self._groups: dict[int, Sequence[Replica]] = {}
        self._serial = count()
        for table in driver.tables.values():
            table.set_default(None)
        self._declare()

    def _declare(self) -> None:
        """Insert the entries that the program declares; their actions may be hidden from P4Runtime."""
        for info in self._info.tables.values():
            table = self._table(info.id)
            if table is None:
                continue
            for each in table.declared:
                pairs = zip(info.fields, each["matches"], strict=True)
                key = tuple(_declared(field.kind, field.bits, match) for field, match in pairs)
                params = table.packed(each["action"], each["data"])
                self._insert(info.id, key, each["priority"], each["action"], params)

    # --- entries

    def insert(self, table_id: int, key: Key, priority: int, action: ActionSpec) -> None:
        """Add an entry; one that matches a range takes several places. Raises TableFull, nothing changed."""
        table = self._table(table_id)
        number, params = self._action(table, action) if table is not None else (0, 0)
        self._insert(table_id, key, priority, number, params)

    def _insert(self, table_id: int, key: Key, priority: int, number: int, params: int) -> None:
        table = self._table(table_id)
        rows = self._rows(table, table_id, key, priority) if table is not None else []
        done: list[_Row] = []
        try:
            for value, mask, rank in rows:
                assert table is not None
                table.insert(value, mask, rank or 0, number, params)
                done.append((value, mask, rank))
        except TableFull:
            for row in done:
                assert table is not None
                table.delete(*row)
            raise
        self._entries[table_id, key, priority] = _Entry(rows)

    def modify(self, table_id: int, key: Key, priority: int, action: ActionSpec) -> None:
        """Replace an entry's action; of a range's places one after the other."""
        table = self._table(table_id)
        if table is not None:
            number, params = self._action(table, action)
            for value, mask, rank in self._entries[table_id, key, priority].rows:
                table.update(value, mask, number, params, rank)

    def delete(self, table_id: int, key: Key, priority: int) -> None:
        """Remove an entry."""
        table = self._table(table_id)
        for row in self._entries.pop((table_id, key, priority)).rows:
            if table is not None:
                table.delete(*row)

    def set_default(self, table_id: int, action: ActionCall | None) -> None:
        """Set the default action; None restores the program's own."""
        table = self._table(table_id)
        if table is not None:
            table.set_default(self._action(table, action) if action is not None else None)

    def _rows(self, table: Table, table_id: int, key: Key, priority: int) -> list[_Row]:
        fields = self._info.tables[table_id].fields
        rank = (-priority << 32) + next(self._serial)
        for match, of in zip(key, fields, strict=True):
            if isinstance(match, Lpm) and not self._info.tables[table_id].has_priority:
                rank = of.bits - match.prefix_len
        return [
            (value, mask, None if table.is_hashed(mask) else rank)
            for value, mask in _rows(key, [field.bits for field in fields])
        ]

    def _table(self, table_id: int) -> Table | None:
        """None of a table that nothing in the module depends on."""
        return self.driver.tables.get(self._info.tables[table_id].name)

    def _action(self, table: Table, action: ActionSpec) -> tuple[int, int]:
        if not isinstance(action, ActionCall):
            raise Unsupported("a P4 program in hardware has no action profiles")
        number = table.action([self._info.actions[action.action_id].name])
        return number, table.packed(number, action.params)

    # --- counters

    def counter(self, counter_id: int, index: int) -> CounterData:
        """One cell of a counter."""
        number = self.driver.counter([self._info.counters[counter_id].name])
        packets, total = self.driver.read_counter(number, index)
        before = self._before.get((number, index), CounterData(0, 0))
        now = CounterData(before.packets + packets, before.bytes + total)
        self._before[number, index] = now
        return now

    def set_counter(self, counter_id: int, index: int, data: CounterData) -> None:
        """Let one cell of a counter go on from ``data``."""
        self.counter(counter_id, index)
        self._before[self.driver.counter([self._info.counters[counter_id].name]), index] = data

    def direct_counter(self, table_id: int, key: Key, priority: int) -> CounterData:
        """An entry's own counter. Raises Unsupported for the default entry."""
        if not key:
            raise Unsupported("hardware does not count what matches no entry")
        table, entry = self._table(table_id), self._entries[table_id, key, priority]
        for row in entry.rows:
            assert table is not None
            packets, total = table.counted(*row)
            entry.packets += packets
            entry.bytes += total
        return CounterData(entry.packets, entry.bytes)

    def set_direct_counter(self, table_id: int, key: Key, priority: int, data: CounterData) -> None:
        """Let an entry's counter go on from ``data``."""
        self.direct_counter(table_id, key, priority)
        entry = self._entries[table_id, key, priority]
        entry.packets, entry.bytes = data.packets, data.bytes

    # --- registers, value sets, replication

    def register(self, register_id: int, index: int) -> int:
        """One cell of a register."""
        return self.driver.read_cell(self._register(register_id), index)

    def set_register(self, register_id: int, index: int, value: int) -> None:
        """Write one cell of a register between two frames."""
        self.driver.write_cell(self._register(register_id), index, value)

    def _register(self, register_id: int) -> int:
        return self.driver.register([self._info.registers[register_id].name])

    def set_value_set(self, value_set_id: int, members: Sequence[Key]) -> None:
        """Replace a parser value set's members: those that stay match all the time."""
        info = self._info.value_sets[value_set_id]
        bits = [field.bits for field in info.fields]
        rows = dict.fromkeys(row for key in members for row in _rows(key, bits))
        for table in self.driver.value_sets.get(info.name, ()):
            table.replace(rows)

    def set_multicast_group(self, group_id: int, replicas: Sequence[Replica] | None) -> None:
        """Remember a group for what makes the copies behind the module."""
        self._groups[group_id] = replicas or ()

    def quiesce(self) -> None:
        """Every write waited for the frames that saw the state before."""

    idle_ns = _lacks("does not know when entries were last hit")
    set_meter = _lacks("has no meters")
    set_member = set_group = _lacks("has no action profiles")

    def set_direct_meter(self, table_id: int, key: Key, priority: int, config: MeterConfig | None) -> None:
        if config is not None:
            raise Unsupported("a P4 program in hardware has no meters")

    def set_clone_session(
        self, session_id: int, replicas: Sequence[Replica] | None, packet_length: int = 0
    ) -> None:
        raise Unsupported("a P4 program in hardware does not clone")


def _declared(kind: MatchKind, bits: int, match: Mapping[str, Any]) -> Match:
    """A match as the program declares it."""
    value, mask, high = match["value"], match["mask"], match["high"]
    full = (1 << bits) - 1
    if kind is MatchKind.EXACT:
        return Exact(value)
    if value is None:
        return None
    match kind:
        case MatchKind.LPM:
            return Lpm(value, bits if mask is None else int(mask).bit_count())
        case MatchKind.RANGE:
            return Range(value, value if high is None else high)
        case MatchKind.OPTIONAL:
            return Optional(value)
    return Ternary(value, full if mask is None else mask)


def _rows(key: Key, widths: Sequence[int]) -> list[tuple[int, int]]:
    """Values and masks of whole keys, the first field on top, that together match what ``key`` does."""
    rows = []
    for choice in product(*(_ternary(match, bits) for match, bits in zip(key, widths, strict=True))):
        value = mask = 0
        for (one, ones), bits in zip(choice, widths, strict=True):
            value, mask = value << bits | one, mask << bits | ones
        rows.append((value, mask))
    return rows


def _ternary(match: Match, bits: int) -> list[tuple[int, int]]:
    full = (1 << bits) - 1
    match match:
        case None:
            return [(0, 0)]
        case Exact(value) | Optional(value):
            return [(value, full)]
        case Lpm(value, length):
            return [(value, full ^ full >> length)]
        case Ternary(value, mask):
            return [(value, mask)]
        case Range(low, high):
            return _prefixes(low, high, full)


def _prefixes(low: int, high: int, full: int) -> list[tuple[int, int]]:
    """A range as the fewest prefixes."""
    rows = []
    while low <= high:
        size = low & -low or full + 1
        while low + size - 1 > high:
            size >>= 1
        rows.append((low, full & ~(size - 1)))
        low += size
    return rows
