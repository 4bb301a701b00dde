"""One block on the card as the data plane behind the P4Runtime agent.

A controller sees the v1model form's P4Info, as on every target. The block's own differs in what its XSA form
does not have: a counted entry carries the place of its counter, which is allocated here, and the tables that
are the box's (``members``) are not among its tables. Ids are the same in both.
"""

import heapq
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from olafctl.targets.opennic.host import HostFunction
from olafctl.targets.opennic.replication import BoxReplication, Member
from olafswitch.p4.hardware.driver import Driver, Table
from olafswitch.p4.p4info.matching import mismatch
from olafswitch.p4runtime.dataplane import (
    ActionCall,
    ActionSpec,
    CounterData,
    DeviceRefused,
    Exact,
    InitialEntry,
    Key,
    Lpm,
    Match,
    MeterConfig,
    P4Info,
    PipelineRefused,
    Replica,
    ReplicationLimits,
    TableFull,
    Ternary,
    Unsupported,
)
from olafswitch.p4runtime.dataplane import Optional as OptionalMatch
from olafswitch.p4runtime.program import MatchField, MatchKind, Program
from olafswitch.p4runtime.program import Table as TableInfo

_HIGHEST_PRIORITY = (1 << 31) - 1
_DIRECT_COUNTER, _COUNTER = 0x13, 0x12
_MAX_PORT = 0xFFFF


@dataclass(frozen=True)
class Parts:
    """What one IP's data plane is made of."""

    name: str
    """``vnp4_1`` or ``vnp4_2``."""
    build_id: str
    driver: Driver
    client: P4Info
    """As controllers see the program."""
    ip: P4Info
    """As the IP has it."""
    answers: Callable[[], None]
    """Raises DeviceRefused when the card does not answer any more."""
    host: HostFunction | None = None
    replication: BoxReplication | None = None
    punts: bool = False
    """Whether packet-ins are this IP's."""


@dataclass
class _Counter:
    """A table's counter: the hardware's since the last read, and what was read before."""

    number: int
    free: list[int]
    totals: dict[int, CounterData] = field(default_factory=dict)


@dataclass
class _Table:
    """A table of the IP, and the places of its entries' counters."""

    info: TableInfo
    table: Table
    actions: dict[int, tuple[int, tuple[int, ...]]]
    """By id: the driver's number, and the widths of the parameters."""
    counter: _Counter | None
    places: dict[tuple[Key, int], int] = field(default_factory=dict)


def _lacks(what: str) -> Callable[..., NoReturn]:
    """A method of what the card cannot do."""

    def refuse(*requested: object) -> NoReturn:
        raise Unsupported(f"the card {what}")

    return refuse


class CardPlane:
    """See :class:`olafswitch.p4runtime.dataplane.DataPlane`. Entries that the IP holds from before the first
    commit keep working until then."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._tables: dict[int, _Table] = {}
        self._box_tables: dict[int, int] = {}
        """Sizes of the tables that are the box's."""
        groups = parts.replication.groups if parts.replication else 1
        self.replication = ReplicationLimits(_MAX_PORT, 0xFFFF, max(groups - 1, 1), 1)

    # --- the pipeline

    def prepare(self, p4info: P4Info, config: bytes) -> P4Info:
        """The card's program is in the bitstream: anything else is refused."""
        parts = self._parts
        try:
            wanted = json.loads(config)
            found = (wanted["ip"], wanted["build_id"])
        except (ValueError, KeyError, TypeError):
            raise PipelineRefused(
                "the device_config is not a card's: push what `olafctl build` wrote"
            ) from None
        if found != (parts.name, parts.build_id):
            raise PipelineRefused(
                f"the device_config is of {found[0]} in build {found[1]}; the card has {parts.name} "
                f"in build {parts.build_id}: program the card with that build, or push this one's"
            )
        if difference := mismatch(p4info, parts.client):
            raise PipelineRefused(f"the P4Info does not belong to the bitstream: {difference}")
        return p4info

    def initial_entries(self, pipeline: P4Info) -> Sequence[InitialEntry]:
        """None: the programs declare no entries."""
        return ()

    def commit(self, pipeline: P4Info) -> None:
        """Empty every table, and the driver's memory of it."""
        parts = self._parts
        parts.driver.reset_tables()
        ip = Program(parts.ip)
        client = Program(pipeline)
        self._tables = {
            table.id: self._table(table, client.tables[table.id])
            for table in ip.tables.values()
            if table.id in client.tables
        }
        self._box_tables = {
            table.id: table.size for table in client.tables.values() if table.id not in self._tables
        }
        if parts.replication is not None:
            parts.replication.reset()
        parts.answers()

    def quiesce(self) -> None:
        """A register read takes longer than a frame through an IP. Raises DeviceRefused."""
        if self._parts.replication is not None:
            self._parts.replication.flush()
        self._parts.answers()

    # --- entries

    def insert(self, table_id: int, key: Key, priority: int, action: ActionSpec) -> None:
        """Add an entry. Raises TableFull, DeviceRefused."""
        call = _direct(action)
        if table_id not in self._tables:
            if self._parts.replication and len(self._parts.replication.members) >= self._box_tables[table_id]:
                raise TableFull
            self._set_member(key, call)
            return
        table = self._tables[table_id]
        value, mask = _match(table.info, key)
        place = self._take_place(table)
        number, params = _params(table, call, place)
        try:
            table.table.insert(value, mask, _rank(table.info, key, priority), number, params)
            self._parts.answers()
        except BaseException:
            self._give_back(table, place)
            raise
        if place is not None:
            table.places[key, priority] = place

    def modify(self, table_id: int, key: Key, priority: int, action: ActionSpec) -> None:
        """Replace an entry's action. Raises DeviceRefused."""
        call = _direct(action)
        if table_id not in self._tables:
            self._set_member(key, call)
            return
        table = self._tables[table_id]
        value, mask = _match(table.info, key)
        number, params = _params(table, call, table.places.get((key, priority)))
        table.table.update(value, mask, number, params, _rank(table.info, key, priority))
        self._parts.answers()

    def delete(self, table_id: int, key: Key, priority: int) -> None:
        """Remove an entry. Raises DeviceRefused."""
        if table_id not in self._tables:
            self._set_member(key, None)
            return
        table = self._tables[table_id]
        table.table.delete(*_match(table.info, key), _rank(table.info, key, priority))
        self._parts.answers()
        self._give_back(table, table.places.pop((key, priority), None))

    def set_default(self, table_id: int, action: ActionCall | None) -> None:
        """Set the default action; None restores the program's own."""
        table = self._tables.get(table_id)
        if table is None:
            if action is not None:
                raise Unsupported("the card addresses what is for no member as it is")
            return
        if action is None:
            table.table.set_default(None)
            return
        counted = len(table.actions[action.action_id][1]) > len(action.params)
        table.table.set_default(_params(table, action, 0 if counted else None))

    def direct_counter(self, table_id: int, key: Key, priority: int) -> CounterData:
        """An entry's counter: what was read before, and what the IP counted since."""
        table, place = self._counted(table_id, key, priority)
        assert table.counter is not None
        packets, total = self._parts.driver.read_counter(table.counter.number, place)
        before = table.counter.totals[place]
        now = CounterData(before.packets + packets, before.bytes + total)
        table.counter.totals[place] = now
        self._parts.answers()
        return now

    def set_direct_counter(self, table_id: int, key: Key, priority: int, data: CounterData) -> None:
        """Let an entry's counter go on from ``data``."""
        table, place = self._counted(table_id, key, priority)
        assert table.counter is not None
        self._parts.driver.read_counter(table.counter.number, place)
        table.counter.totals[place] = data

    def _table(self, ip: TableInfo, client: TableInfo) -> _Table:
        """Raises OlafError when the driver has not got it as the program has."""
        table = self._parts.driver.table(_names(ip.name))
        if table.key_bits != sum(each.bits for each in ip.fields):
            raise DeviceRefused("FAILED_PRECONDITION", f"{ip.name}: the driver has another key")
        actions = {}
        for action in client.actions.values():
            widths = tuple(param.bits for param in ip.actions[action.id].params)
            if sum(widths) > table.params_bits:
                raise DeviceRefused("FAILED_PRECONDITION", f"{action.name}: the driver has other parameters")
            actions[action.id] = (table.action(_names(ip.actions[action.id].name)), widths)
        counter = self._counter(client) if client.counter_id else None
        return _Table(ip, table, actions, counter)

    def _counter(self, client: TableInfo) -> _Counter:
        wanted = client.counter_id & 0xFFFFFF | _COUNTER << 24
        info = Program(self._parts.ip).counters[wanted]
        number = self._parts.driver.counter(_names(info.name))
        self._parts.driver.reset_counter(number)
        return _Counter(number, list(range(info.size)))

    def _take_place(self, table: _Table) -> int | None:
        counter = table.counter
        if counter is None:
            return None
        if not counter.free:
            raise DeviceRefused("RESOURCE_EXHAUSTED", f"table {table.info.name} has no counter left")
        place = heapq.heappop(counter.free)
        # Nothing counts at a free place; what an entry before left there goes with this read.
        self._parts.driver.read_counter(counter.number, place)
        counter.totals[place] = CounterData(0, 0)
        return place

    def _give_back(self, table: _Table, place: int | None) -> None:
        if table.counter is not None and place is not None:
            heapq.heappush(table.counter.free, place)
            del table.counter.totals[place]

    def _counted(self, table_id: int, key: Key, priority: int) -> tuple[_Table, int]:
        if not key:
            raise Unsupported("the card does not count what matches no entry")
        table = self._tables.get(table_id)
        if table is None or (key, priority) not in table.places:
            raise Unsupported("the card does not count the copies of each member")
        return table, table.places[key, priority]

    def _set_member(self, key: Key, call: ActionCall | None) -> None:
        """``members`` is the box's: the action ``deliver``, or one without parameters for "as it is"."""
        replication = self._parts.replication
        if replication is None or len(key) != 1 or not isinstance(key[0], Exact):
            raise Unsupported("the card has no such table")
        member = Member(*call.params) if call is not None and call.params else None
        replication.set_member(key[0].value, member)

    # --- replication, packets

    def set_multicast_group(self, group_id: int, replicas: Sequence[Replica] | None) -> None:
        """Create or replace a multicast group in one step; None removes it. Raises DeviceRefused."""
        if self._parts.replication is None:
            raise Unsupported(f"{self._parts.name} does not replicate: set the group on the other device")
        self._parts.replication.set_group(group_id, replicas)
        self._parts.answers()

    def packet_out(self, frame: bytes) -> None:
        """Send a frame into the box. Raises ValueError when the host's interface does not take it."""
        if self._parts.host is None:
            raise Unsupported("packet-outs need the host function's interface")
        self._parts.host.packet_out(frame)

    def on_packet_in(self, receive: Callable[[bytes], None]) -> None:
        """Packet-ins are VNP4₁'s."""
        if self._parts.host is not None and self._parts.punts:
            self._parts.host.on_packet_in(receive)

    def on_digest(self, receive: Callable[[int, Sequence[bytes]], None]) -> None:
        """VitisNetP4 has none."""

    # --- what the card does not have

    idle_ns = _lacks("does not know when entries were last hit")

    def set_direct_meter(self, table_id: int, key: Key, priority: int, config: MeterConfig | None) -> None:
        if config is not None:
            raise Unsupported("the card has no meters")

    counter = set_counter = _lacks("has no indirect counters")
    set_meter = _lacks("has no meters")
    register = set_register = _lacks("has no P4 registers")
    set_member = set_group = _lacks("has no action profiles")
    set_value_set = _lacks("has no parser value sets")
    set_clone_session = _lacks("does not clone")


def _direct(action: ActionSpec) -> ActionCall:
    if not isinstance(action, ActionCall):
        raise Unsupported("the card has no action profiles")
    return action


def _names(full: str) -> list[str]:
    """The names that the driver may have for an object: its full name, or the end of it."""
    parts = full.split(".")
    return [".".join(parts[first:]) for first in range(len(parts))]


def _params(table: _Table, call: ActionCall, place: int | None) -> tuple[int, int]:
    """The driver's number of the action, and its parameters as one number, the first on top."""
    number, widths = table.actions[call.action_id]
    values = call.params if place is None else (*call.params, place)
    packed = 0
    for value, bits in zip(values, widths, strict=True):
        packed = packed << bits | value
    return number, packed


def _match(info: TableInfo, key: Key) -> tuple[int, int]:
    """Key and mask as numbers, the first field on top."""
    value = mask = 0
    for match, of in zip(key, info.fields, strict=True):
        one, bits = _field(match, of)
        value, mask = value << of.bits | one, mask << of.bits | bits
    return value, mask


def _field(match: Match, of: MatchField) -> tuple[int, int]:
    full = (1 << of.bits) - 1
    match match:
        case None:
            return 0, 0
        case Exact(value) | OptionalMatch(value):
            return value, full
        case Lpm(value, length):
            return value, full ^ full >> length
        case Ternary(value, mask):
            return value, mask
    raise Unsupported(f"{of.name}: the card's tables have no ranges")


def _rank(info: TableInfo, key: Key, priority: int) -> int:
    """The driver's lowest number wins: P4Runtime's highest, and of prefixes the longest."""
    if info.has_priority:
        return _HIGHEST_PRIORITY - priority
    for match, of in zip(key, info.fields, strict=True):
        if of.kind is MatchKind.LPM:
            return of.bits - (match.prefix_len if isinstance(match, Lpm) else 0)
    return 0
