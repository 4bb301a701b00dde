"""A module's tables, counters, registers and value sets as P4Runtime's agent writes them."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count, product
from typing import NoReturn

from olafswitch.p4.hardware.driver import Driver, DriverTable
from olafswitch.p4.p4info.matching import find_mismatch
from olafswitch.p4.switch.keys import declared_key, key_bounds
from olafswitch.p4runtime.dataplane import (
    ActionCall,
    ActionSpec,
    CounterData,
    InitialEntry,
    Key,
    Lpm,
    Match,
    MeterConfig,
    P4Info,
    PipelineRefused,
    Range,
    Replica,
    ReplicationLimits,
    TableFull,
    Unsupported,
)
from olafswitch.p4runtime.program import MatchKind, Named, ProgramInfo

_Row = tuple[int, int, int | None]
"""Key, mask and rank of a place that an entry takes; an entry in a hash way has no rank."""


def _refuse_missing(what: str) -> Callable[..., NoReturn]:
    def refuse(*requested: object) -> NoReturn:
        raise Unsupported(f"a P4 program in hardware {what}")

    return refuse


class HardwarePlane:
    """The :class:`olafswitch.p4runtime.dataplane.DataPlane` of a module of a program for v1model or XSA."""

    replication = ReplicationLimits(511, 0xFFFF, 0xFFFF, 1)

    def __init__(self, driver: Driver, info: ProgramInfo) -> None:
        """Create the plane; the module keeps its entries until :meth:`start` or :meth:`commit`."""
        self.driver, self._info, self.p4info = driver, info, info.p4info
        self._packet_in: Callable[[bytes], None] = lambda frame: None
        self._forget()

    def _forget(self) -> None:
        self._entries: dict[int, dict[tuple[Key, int], list[_Row]]] = {each: {} for each in self._info.tables}
        self._before: dict[object, CounterData] = {}
        """The counts read so far of cells and entries, which reading resets."""
        self._groups: dict[int, Sequence[Replica]] = {}
        self._serial = count()

    # --- the pipeline

    def prepare(self, p4info: P4Info, config: bytes) -> P4Info:
        """Return the P4Info if it and ``config`` describe the module, else raise PipelineRefused."""
        try:
            found = json.loads(config)["digest"]
        except (ValueError, KeyError, TypeError):
            what = "the device_config is not a module's: push the JSON file that `compile --verilog` wrote"
            raise PipelineRefused(what) from None
        if found != self.driver.digest:
            what = f"the device_config is of a module with digest {found}; {self.driver.digest} runs here"
            raise PipelineRefused(what)
        if difference := find_mismatch(p4info, self.p4info):
            raise PipelineRefused(f"the P4Info does not belong to the module: {difference}")
        return p4info

    def initial_entries(self, pipeline: P4Info) -> Sequence[InitialEntry]:
        return [entry for entry, _ in self._declared_entries()]

    def _declared_entries(self) -> Iterator[tuple[InitialEntry, int]]:
        """Yield each declared entry with its action's number; P4Runtime may not see the action."""
        for each in self.p4info.tables:
            info, table = self._info.tables[each.preamble.id], self._table_of(each.preamble.id)
            for row in table.declared if table is not None else ():
                fields = [(field.kind.name.lower(), field.bits) for field in info.fields]
                key = declared_key(fields, [match.values() for match in row["matches"]])
                call = ActionCall(each.action_refs[row["action"]].id, tuple(row["data"]))
                yield InitialEntry(info.id, key, row["priority"], call, row["const"]), row["action"]

    def commit(self, pipeline: P4Info) -> None:
        """Empty every table, then do as :meth:`start`."""
        self.driver.reset()
        self.start()

    def start(self) -> None:
        """Put the program's own default actions and entries into empty tables."""
        self._forget()
        for table in self.driver.tables.values():
            table.set_default(None)
        for entry, number in self._declared_entries():
            table = self.driver.tables[self._info.tables[entry.table_id].name]
            params = table.packed(number, entry.action.params)
            self._insert(entry.table_id, entry.key, entry.priority, number, params)

    def quiesce(self) -> None:
        self.driver.quiesce()

    # --- packets

    def packet_out(self, frame: bytes) -> None:
        raise Unsupported("nothing takes packet-outs to this module")

    def on_packet_in(self, receive: Callable[[bytes], None]) -> None:
        self._packet_in = receive

    def on_digest(self, receive: Callable[[int, Sequence[bytes]], None]) -> None:
        """Ignore ``receive``, as hardware sends no digests."""

    # --- entries

    def insert(self, table_id: int, key: Key, priority: int, action: ActionSpec) -> None:
        """Add an entry; a range takes several places. Raises TableFull, in which case nothing was written."""
        table = self._table_of(table_id)
        number, params = self._action_of(table, action) if table is not None else (0, 0)
        self._insert(table_id, key, priority, number, params)

    def _insert(self, table_id: int, key: Key, priority: int, number: int, params: int) -> None:
        table, size, rows = self._table_of(table_id), self._info.tables[table_id].size, list[_Row]()
        if 0 < size <= len(self._entries[table_id]):
            raise TableFull(f"the table has {size} entries")
        if table is not None:
            rows = self._rows_of(table, table_id, key, priority)
            if rows and table.room(rows[0][1]) < len(rows):
                raise TableFull(f"table {table.name} has no place for this entry")
            for value, mask, rank in rows:
                table.insert(value, mask, rank or 0, number, params)
        self._entries[table_id][key, priority] = rows

    def modify(self, table_id: int, key: Key, priority: int, action: ActionSpec) -> None:
        """Replace an entry's action; the places of a range change one after the other."""
        table = self._table_of(table_id)
        if table is not None:
            number, params = self._action_of(table, action)
            for value, mask, rank in self._entries[table_id][key, priority]:
                table.update(value, mask, number, params, rank)

    def delete(self, table_id: int, key: Key, priority: int) -> None:
        table = self._table_of(table_id)
        self._before.pop((table_id, key, priority), None)
        for row in self._entries[table_id].pop((key, priority)):
            if table is not None:
                table.delete(*row)

    def set_default(self, table_id: int, action: ActionCall | None) -> None:
        table = self._table_of(table_id)
        if table is not None:
            table.set_default(self._action_of(table, action) if action is not None else None)

    def _rows_of(self, table: DriverTable, table_id: int, key: Key, priority: int) -> list[_Row]:
        fields = self._info.tables[table_id].fields
        rank = (-priority << 32) + next(self._serial)
        for match, of in zip(key, fields, strict=True):
            if of.kind is MatchKind.LPM and not self._info.tables[table_id].has_priority:
                rank = of.bits - (match.prefix_len if isinstance(match, Lpm) else 0)
        return [
            (value, mask, None if table.is_hashed(mask) else rank)
            for value, mask in _expand_rows(key, [field.bits for field in fields])
        ]

    def _table_of(self, table_id: int) -> DriverTable | None:
        """Return a table; None for a table that nothing in the module depends on."""
        return self.driver.tables.get(self._info.tables[table_id].name)

    def _action_of(self, table: DriverTable, action: ActionSpec) -> tuple[int, int]:
        if not isinstance(action, ActionCall):
            raise Unsupported("a P4 program in hardware has no action profiles")
        number = table.actions.index(self._info.actions[action.action_id].name)
        return number, table.packed(number, action.params)

    # --- counters

    def counter(self, counter_id: int, index: int) -> CounterData:
        number = _look_up_number(self.driver.counters, self._info.counters[counter_id])
        return self._count_more((number, index), [self.driver.read_counter(number, index)])

    def _count_more(self, cell: object, counted: Iterable[tuple[int, int]]) -> CounterData:
        before = self._before.get(cell, CounterData(0, 0))
        packets, total = map(sum, zip((before.packets, before.bytes), *counted, strict=True))
        now = self._before[cell] = CounterData(packets, total)
        return now

    def set_counter(self, counter_id: int, index: int, data: CounterData) -> None:
        self.counter(counter_id, index)
        self._before[self.driver.counters[self._info.counters[counter_id].name], index] = data

    def direct_counter(self, table_id: int, key: Key, priority: int) -> CounterData:
        """Return an entry's own counter. Raises Unsupported for the default entry."""
        if not key:
            raise Unsupported("hardware does not count what matches no entry")
        table, rows = self._table_of(table_id), self._entries[table_id][key, priority]
        counted = [table.counted(*row) for row in rows] if table is not None else []
        return self._count_more((table_id, key, priority), counted)

    def set_direct_counter(self, table_id: int, key: Key, priority: int, data: CounterData) -> None:
        self.direct_counter(table_id, key, priority)
        self._before[table_id, key, priority] = data

    # --- registers, value sets, replication

    def register(self, register_id: int, index: int) -> int:
        return self.driver.read_cell(
            _look_up_number(self.driver.registers, self._info.registers[register_id]), index
        )

    def set_register(self, register_id: int, index: int, value: int) -> None:
        number = _look_up_number(self.driver.registers, self._info.registers[register_id])
        self.driver.write_cell(number, index, value)

    def set_value_set(self, value_set_id: int, members: Sequence[Key]) -> None:
        """Replace a parser value set's members; members that remain match all the time."""
        info = self._info.value_sets[value_set_id]
        bits = [field.bits for field in info.fields]
        rows = dict.fromkeys(row for key in members for row in _expand_rows(key, bits))
        for table in self.driver.value_sets.get(info.name, ()):
            table.replace(rows)

    def set_multicast_group(self, group_id: int, replicas: Sequence[Replica] | None) -> None:
        """Remember a group for the code that makes copies behind the module."""
        self._groups[group_id] = replicas or ()

    idle_ns = _refuse_missing("does not know when entries were last hit")
    set_meter = _refuse_missing("has no meters")
    set_member = set_group = _refuse_missing("has no action profiles")
    set_clone_session = _refuse_missing("does not clone")

    def set_direct_meter(self, table_id: int, key: Key, priority: int, config: MeterConfig | None) -> None:
        if config is not None:
            self.set_meter()


def _look_up_number(numbers: Mapping[str, int], info: Named) -> int:
    if info.name not in numbers:
        raise Unsupported(f"{info.name} is not in the module: nothing there uses it")
    return numbers[info.name]


def _expand_rows(key: Key, widths: Sequence[int]) -> list[tuple[int, int]]:
    """Return values and masks of whole keys, first field on top, that together match what ``key`` matches."""
    rows = []
    for choice in product(*(_expand_ternary(match, bits) for match, bits in zip(key, widths, strict=True))):
        value = mask = 0
        for (one, ones), bits in zip(choice, widths, strict=True):
            value, mask = value << bits | one, mask << bits | ones
        rows.append((value, mask))
    return rows


def _expand_ternary(match: Match, bits: int) -> list[tuple[int, int]]:
    if isinstance(match, Range):
        return _expand_prefixes(match.low, match.high, (1 << bits) - 1)
    return [key_bounds(match, bits)]


def _expand_prefixes(low: int, high: int, full: int) -> list[tuple[int, int]]:
    """Return a range as the fewest prefixes."""
    rows = []
    while low <= high:
        size = low & -low or full + 1
        while low + size - 1 > high:
            size >>= 1
        rows.append((low, full & ~(size - 1)))
        low += size
    return rows
