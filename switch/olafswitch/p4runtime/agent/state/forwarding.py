"""The forwarding state of one device under one pipeline: what writes change and reads show."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from olafswitch.p4runtime import dataplane as dp
from olafswitch.p4runtime.agent.state.idle import Watch
from olafswitch.p4runtime.agent.state.keys import KeyReader
from olafswitch.p4runtime.agent.state.refusal import invalid
from olafswitch.p4runtime.agent.state.tables import Entry, TableState
from olafswitch.p4runtime.program import Profile, Program


@dataclass
class GroupState:
    members: tuple[tuple[int, int], ...]
    """(member id, weight)."""
    max_size: int
    users: int = 0
    """Table entries that point to it."""


@dataclass
class MemberState:
    action: dp.ActionCall
    users: int = 0
    """Table entries and groups that point to it."""


@dataclass
class ProfileState:
    profile: Profile
    members: dict[int, MemberState] = field(default_factory=dict)
    groups: dict[int, GroupState] = field(default_factory=dict)
    one_shots: int = 0
    """Table entries with an action set of their own."""


@dataclass(frozen=True)
class ReplicaSet:
    """A multicast group's or clone session's replicas, and what else a read must give back."""

    replicas: tuple[dp.Replica, ...]
    message: bytes
    """The MulticastGroupEntry or CloneSessionEntry as it is to be read."""
    packet_length: int = 0
    """Of a clone session: bytes, 0 does not truncate."""


@dataclass(frozen=True)
class DigestConfig:
    """Times in nanoseconds; see P4Runtime §9.8."""

    max_timeout_ns: int
    max_list_size: int
    ack_timeout_ns: int


class Forwarding:
    """``plane`` is the device, or a SavedPlane while the pipeline is saved and not yet committed."""

    def __init__(self, program: Program, config: Any, plane: dp.ForwardingPlane) -> None:
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

    def table(self, table_id: int) -> TableState:
        """Raises Refusal for a table that the program does not have."""
        if table_id not in self.tables:
            raise invalid(f"the program has no table {table_id:#x}")
        return self.tables[table_id]

    def counted(self, state: TableState, entry: Entry) -> dp.CounterData | None:
        """An entry's direct counter; None where the table has none or the device cannot read it."""
        if not state.table.counter_id:
            return None
        try:
            return self.plane.direct_counter(state.table.id, entry.key, entry.priority)
        except dp.Unsupported:
            return None

    def add_initial_entries(self, entries: Sequence[dp.InitialEntry]) -> None:
        """Remember the entries that the program declares; the data plane has them already.

        Those of tables that are @hidden, which the P4Info does not have, concern no controller.
        """
        for each in (entry for entry in entries if entry.table_id in self.tables):
            entry = Entry(each.key, each.priority, each.action, is_const=each.is_const)
            self.tables[each.table_id].entries[identity(each.key), each.priority] = entry


def identity(key: dp.Key) -> tuple[object, ...]:
    """The identity that a KeyReader gives the same key."""
    return tuple(None if match is None else _plain(match) for match in key)


def _plain(match: Any) -> object:
    values = tuple(getattr(match, name) for name in match.__dataclass_fields__)
    return values[0] if len(values) == 1 else values
