"""The forwarding state of one device under one pipeline, which writes change and reads show."""

import heapq
import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from olafswitch.p4runtime import dataplane as dp
from olafswitch.p4runtime.agent.keys import CallReader, Identity, KeyReader
from olafswitch.p4runtime.agent.refusals import Code, Refusal, invalid_argument, not_found
from olafswitch.p4runtime.dataplane import (
    DEFAULT_ENTRY,
    ActionCall,
    ActionSpec,
    ForwardingPlane,
    Key,
    MeterConfig,
)
from olafswitch.p4runtime.plain import EntryRequest
from olafswitch.p4runtime.program import Array, Profile, ProgramInfo, TableInfo

# What a table holds, as the agent remembers it for reads: the data plane is never read for entries.

Undo = Callable[[], None]
"""Reverts one applied update, for batches that are all or nothing."""


@dataclass(slots=True)
class StoredEntry:
    key: Key
    priority: int
    action: ActionSpec
    metadata: bytes = b""
    controller_metadata: int = 0
    meter: MeterConfig | None = None
    is_const: bool = False
    idle_timeout_ns: int = 0
    """0 for an entry that is never reported as idle."""
    timer_start: int = 0
    """When an entry with a timeout was written or last found idle: monotonic clock, ns."""
    encoded: bytes | None = None
    """The entry as an answer without counters and meters, after a read has requested it."""


@dataclass(slots=True)
class DefaultEntry:
    """A table's default entry; ``action`` None is the program's own."""

    action: ActionCall | None = None
    metadata: bytes = b""
    controller_metadata: int = 0
    meter: MeterConfig | None = None


@dataclass
class TableState:
    table: TableInfo
    entries: dict[tuple[Identity, int], StoredEntry] = field(default_factory=dict)
    """Entries by key and priority, oldest first."""
    default: DefaultEntry = field(default_factory=DefaultEntry)

    def __post_init__(self) -> None:
        self.keys = KeyReader(self.table.fields, f"table {self.table.name}")
        self.calls = CallReader(self.table)

    def read_key(self, request: EntryRequest) -> tuple[Key, Identity]:
        """Return the key of an entry, with its priority checked. Raises Refusal."""
        key, identity = self.keys.read_key(request.match)
        if self.table.has_priority:
            if request.priority <= 0:
                raise invalid_argument(f"table {self.table.name}: an entry needs a priority above 0")
        elif request.priority:
            raise invalid_argument(
                f"table {self.table.name} has no priorities: its key is only exact and LPM fields"
            )
        return key, identity

    def find_entry(self, request: EntryRequest) -> tuple[StoredEntry, Identity]:
        """Return the entry with a request's key and priority. Raises Refusal."""
        _, identity = self.read_key(request)
        entry = self.entries.get((identity, request.priority))
        if entry is None:
            raise not_found(f"table {self.table.name} has no such entry")
        return entry, identity

    def address_of(self, request: EntryRequest) -> tuple[Key, int]:
        """Return the key and priority that name a request's entry to the data plane. Raises Refusal."""
        if request.is_default:
            self.check_default(request)
            return DEFAULT_ENTRY, 0
        entry, _ = self.find_entry(request)
        return entry.key, entry.priority

    def check_default(self, request: EntryRequest) -> None:
        """Refuse what a default entry cannot have. Raises Refusal."""
        if request.match or request.priority:
            raise invalid_argument(
                f"table {self.table.name}: the default entry has neither match nor priority"
            )
        if request.idle_timeout_ns or request.has_last_hit:
            raise invalid_argument(f"table {self.table.name}: the default entry has no idle timeout")


# When entries with an idle timeout are to be checked (P4Runtime §9.1.8).

SHORTEST_NS = 10_000_000
"""The shortest time between two checks of an entry."""
_MAX_STALE = 1024  # checks of deleted entries; beyond this, and twice the others, they are removed

_Place = tuple[int, Identity, int]
"""Table id, identity of the key, and priority."""


class Watch:
    """The entries with an idle timeout of one forwarding state; for one thread at a time.

    Times are monotonic, in ns.
    """

    def __init__(self) -> None:
        self._checks: dict[_Place, int] = {}
        self._queue: list[tuple[int, int, TableState, Identity, int]] = []
        self._numbers = itertools.count()

    def watch_entry(self, state: TableState, identity: Identity, entry: StoredEntry) -> None:
        """Watch an entry that was written just now, if it has an idle timeout."""
        if not entry.idle_timeout_ns:
            self.forget_entry(state, identity, entry)
            return
        entry.timer_start = time.monotonic_ns()
        check = entry.timer_start + entry.idle_timeout_ns
        earlier = self._checks.get((state.table.id, identity, entry.priority))
        if earlier is None or check < earlier:
            self._check_at(check, state, identity, entry.priority)

    def forget_entry(self, state: TableState, identity: Identity, entry: StoredEntry) -> None:
        """Forget an entry that was deleted, or has no idle timeout any more."""
        self._checks.pop((state.table.id, identity, entry.priority), None)
        if len(self._queue) > 2 * len(self._checks) + _MAX_STALE:
            self._queue = [each for each in self._queue if self._is_due(each)]
            heapq.heapify(self._queue)

    def next_check(self) -> int | None:
        """Return when to ask for expired entries; None while there is no check."""
        return self._queue[0][0] if self._queue else None

    def find_expired(self, plane: ForwardingPlane) -> list[tuple[TableState, StoredEntry]]:
        """Return the entries that no packet hit for their idle timeout; restart their timers."""
        now = time.monotonic_ns()
        found = []
        while self._queue and self._queue[0][0] <= now:
            each = heapq.heappop(self._queue)
            if not self._is_due(each):
                continue
            _, _, state, identity, priority = each
            entry = state.entries[identity, priority]
            hit = now - plane.idle_ns(state.table.id, entry.key, priority)
            if max(hit, entry.timer_start) + entry.idle_timeout_ns <= now:
                entry.timer_start = now
                found.append((state, entry))
            check = max(hit, entry.timer_start) + entry.idle_timeout_ns
            self._check_at(max(check, now + SHORTEST_NS), state, identity, priority)
        return found

    def _check_at(self, when: int, state: TableState, identity: Identity, priority: int) -> None:
        self._checks[state.table.id, identity, priority] = when
        heapq.heappush(self._queue, (when, next(self._numbers), state, identity, priority))

    def _is_due(self, queued: tuple[int, int, TableState, Identity, int]) -> bool:
        when, _, state, identity, priority = queued
        return self._checks.get((state.table.id, identity, priority)) == when


# The forwarding state of one device under one pipeline: what writes change and reads show.


@dataclass
class GroupState:
    members: tuple[tuple[int, int], ...]
    """Pairs of (member id, weight)."""
    max_size: int
    users: int = 0
    """The number of table entries that point to the group."""


@dataclass
class MemberState:
    action: dp.ActionCall
    users: int = 0
    """The number of table entries and groups that point to the member."""


@dataclass
class ProfileState:
    profile: Profile
    members: dict[int, MemberState] = field(default_factory=dict)
    groups: dict[int, GroupState] = field(default_factory=dict)
    one_shots: int = 0
    """The number of table entries with their own action set."""


@dataclass(frozen=True)
class ReplicaSet:
    """A multicast group's or clone session's replicas, and the message for reads."""

    replicas: tuple[dp.Replica, ...]
    message: bytes
    """The MulticastGroupEntry or CloneSessionEntry as reads return it."""
    packet_length: int = 0
    """The bytes of a packet that a clone session copies; 0 does not truncate."""


@dataclass(frozen=True)
class DigestConfig:
    """The configuration of a digest, with times in ns; see P4Runtime §9.8."""

    max_timeout_ns: int
    max_list_size: int
    ack_timeout_ns: int


class Forwarding:
    """A forwarding state of ``plane``: the device, or a SavedPlane while the pipeline is only saved."""

    def __init__(self, program: ProgramInfo, config: Any, plane: dp.ForwardingPlane) -> None:
        self.program = program
        self.config = config
        self.plane = plane
        self.tables = {id: TableState(table) for id, table in program.tables.items()}
        self.profiles = {id: ProfileState(profile) for id, profile in program.profiles.items()}
        self.meters: dict[tuple[int, int], dp.MeterConfig] = {}
        self.multicast_groups: dict[int, ReplicaSet] = {}
        self.clone_sessions: dict[int, ReplicaSet] = {}
        self.value_sets: dict[int, list[dp.Key]] = {id: [] for id in program.value_sets}
        self.value_set_keys = {
            id: KeyReader(value_set.fields, f"value set {value_set.name}")
            for id, value_set in program.value_sets.items()
        }
        self.digests: dict[int, DigestConfig] = {}
        self.idle = Watch()

    def table_of(self, table_id: int) -> TableState:
        """Return a table's state. Raises Refusal for a table that the program does not have."""
        if table_id not in self.tables:
            raise invalid_argument(f"the program has no table {table_id:#x}")
        return self.tables[table_id]

    def count_of_entry(self, state: TableState, entry: StoredEntry) -> dp.CounterData | None:
        """Return an entry's direct counter; None where the table has none or the device cannot read it."""
        if not state.table.counter_id:
            return None
        try:
            return self.plane.direct_counter(state.table.id, entry.key, entry.priority)
        except dp.Unsupported:
            return None

    def add_initial_entries(self, entries: Sequence[dp.InitialEntry]) -> None:
        """Remember the entries that the program declares; the data plane has them already.

        Entries of @hidden tables, which the P4Info does not have, concern no controller.
        """
        for each in (entry for entry in entries if entry.table_id in self.tables):
            entry = StoredEntry(each.key, each.priority, each.action, is_const=each.is_const)
            self.tables[each.table_id].entries[identity_of(each.key), each.priority] = entry


def identity_of(key: dp.Key) -> tuple[object, ...]:
    """Return the identity that a KeyReader gives the same key."""
    return tuple(None if match is None else _plain_match(match) for match in key)


def _plain_match(match: Any) -> object:
    values = tuple(getattr(match, name) for name in match.__dataclass_fields__)
    return values[0] if len(values) == 1 else values


# How requests name the elements of counters, meters and registers.


def find_indexed(arrays: Mapping[int, Array], id: int, message: Any, what: str) -> tuple[Array, range]:
    """Return the array with an id, and the indices that a message's ``index`` means: one, or all without
    it."""
    if id not in arrays:
        raise invalid_argument(f"the program has no {what} {id:#x}")
    array = arrays[id]
    if not message.HasField("index"):
        return array, range(array.size)
    index = message.index.index
    if index < 0:
        raise invalid_argument(f"{what} {array.name}: the index {index} is negative")
    if index >= array.size:
        raise Refusal(
            Code.OUT_OF_RANGE, f"{what} {array.name}: index {index} is beyond its size {array.size}"
        )
    return array, range(index, index + 1)
