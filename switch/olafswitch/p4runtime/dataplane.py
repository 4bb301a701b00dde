"""The interface between the P4Runtime agent and a device; each device kind implements :class:`DataPlane`.

The agent checks every request against the P4Info first: ids exist, values fit their widths, an entry to
insert does not exist yet, an entry to modify or delete does. It remembers entries, members, groups, value
sets and replicas, so a device is never read for them; it is read for counters, registers and idle times only.
Values are unsigned integers, in the P4Info's widths; byte order and padding are the device's concern. The
agent makes one call at a time for each device, from any thread; packets go on meanwhile.

A device refuses a missing facility with :class:`Unsupported`, which a controller sees as UNIMPLEMENTED; for
another reason of the specification's it raises :class:`DeviceRefused`. Any other exception becomes INTERNAL;
nothing may have changed then.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from olafswitch.p4runtime.protocol import p4info_pb2

P4Info: TypeAlias = p4info_pb2.P4Info

Prepared: TypeAlias = Any
"""A pipeline as a device prepared it; only the device reads it."""


@dataclass(frozen=True)
class Exact:
    value: int


@dataclass(frozen=True)
class Lpm:
    value: int
    prefix_len: int


@dataclass(frozen=True)
class Ternary:
    value: int
    mask: int


@dataclass(frozen=True)
class Range:
    low: int
    high: int


@dataclass(frozen=True)
class Optional:
    value: int


Match = Exact | Lpm | Ternary | Range | Optional | None
"""The match of one key field; None is "don't care"."""

Key = tuple[Match, ...]
"""One Match for each key field, in the P4Info's order."""

DEFAULT_ENTRY: Key = ()
"""Stands for a table's default entry where a direct counter or meter is named."""


@dataclass(frozen=True)
class ActionCall:
    """An action and its parameters, in the P4Info's order."""

    action_id: int
    params: tuple[int, ...]


@dataclass(frozen=True)
class MemberRef:
    """An action profile member."""

    member_id: int


@dataclass(frozen=True)
class GroupRef:
    """An action selector group."""

    group_id: int


@dataclass(frozen=True)
class WeightedAction:
    """One action of a one-shot action set."""

    action: ActionCall
    weight: int


ActionSpec = ActionCall | MemberRef | GroupRef | tuple[WeightedAction, ...]


@dataclass(frozen=True)
class CounterData:
    packets: int
    bytes: int


@dataclass(frozen=True)
class MeterConfig:
    """Rates per second and bursts, in bytes or packets as the P4Info's unit says."""

    cir: int
    cburst: int
    pir: int
    pburst: int


@dataclass(frozen=True)
class Replica:
    """One copy of a multicast or cloned packet."""

    egress_port: int
    instance: int


@dataclass(frozen=True)
class ReplicationLimits:
    """The largest port, instance and ids that replication takes; the smallest is 0 for ports and instances, 1
    for ids. Larger values are refused with INVALID_ARGUMENT before the device sees them."""

    port: int
    instance: int
    multicast_group: int
    clone_session: int


@dataclass(frozen=True)
class InitialEntry:
    """An entry that the program itself declares, with ``entries`` or ``const entries``."""

    table_id: int
    key: Key
    priority: int
    """The largest priority wins; 0 in a table without priorities."""
    action: ActionCall
    is_const: bool


class PipelineRefused(Exception):
    """The pipeline configuration cannot run on this device; the message says why."""


class TableFull(Exception):
    """The table already holds as many entries as its size."""


class Unsupported(Exception):
    """This device has no such facility; the message names it."""


class DeviceRefused(Exception):
    """The device refuses an update; ``code`` is the name of one of P4Runtime's codes, as NOT_FOUND."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class ForwardingPlane(Protocol):
    """The forwarding state of one device, which P4Runtime's Write changes."""

    replication: ReplicationLimits

    def insert(self, table_id: int, key: Key, priority: int, action: ActionSpec) -> None:
        """Add an entry. The largest priority wins. Raises TableFull."""

    def modify(self, table_id: int, key: Key, priority: int, action: ActionSpec) -> None:
        """Replace an entry's action in one step: each packet sees the old or the new one."""

    def delete(self, table_id: int, key: Key, priority: int) -> None:
        """Remove an entry."""

    def set_default(self, table_id: int, action: ActionCall | None) -> None:
        """Set the default action; None restores the program's own."""

    def idle_ns(self, table_id: int, key: Key, priority: int) -> int:
        """Return the ns since packets last hit an entry of a table with idle timeouts, or since its
        insertion.

        Raises Unsupported where the device does not know.
        """

    def direct_counter(self, table_id: int, key: Key, priority: int) -> CounterData:
        """Return an entry's direct counter; the key may be DEFAULT_ENTRY.

        Raises Unsupported for the default entry where the device does not count misses.
        """

    def set_direct_counter(self, table_id: int, key: Key, priority: int, data: CounterData) -> None:
        """Set an entry's direct counter; the key may be DEFAULT_ENTRY."""

    def set_direct_meter(self, table_id: int, key: Key, priority: int, config: MeterConfig | None) -> None:
        """Set an entry's direct meter; None lets all packets be green. The key may be DEFAULT_ENTRY."""

    def counter(self, counter_id: int, index: int) -> CounterData:
        """Return one element of an indirect counter."""

    def set_counter(self, counter_id: int, index: int, data: CounterData) -> None:
        """Set one element of an indirect counter."""

    def set_meter(self, meter_id: int, index: int, config: MeterConfig | None) -> None:
        """Set one element of an indirect meter, or with None let all packets be green."""

    def register(self, register_id: int, index: int) -> int:
        """Return one element of a register; a signed value as two's complement of its width."""

    def set_register(self, register_id: int, index: int, value: int) -> None:
        """Set one element of a register."""

    def set_member(self, profile_id: int, member_id: int, action: ActionCall | None) -> None:
        """Create or replace an action profile member; None removes it."""

    def set_group(self, profile_id: int, group_id: int, members: Sequence[tuple[int, int]] | None) -> None:
        """Create or replace a selector group of (member id, weight); None removes it."""

    def set_value_set(self, value_set_id: int, members: Sequence[Key]) -> None:
        """Replace a parser value set's members."""

    def set_multicast_group(self, group_id: int, replicas: Sequence[Replica] | None) -> None:
        """Create or replace a multicast group in one step; None removes it."""

    def set_clone_session(
        self, session_id: int, replicas: Sequence[Replica] | None, packet_length: int = 0
    ) -> None:
        """Create or replace a clone session; None removes it. ``packet_length`` 0 does not truncate."""

    def quiesce(self) -> None:
        """Wait until no packet that saw the state before the last write is in this pipeline.

        The agent calls it at the end of every Write, so that the write is effective once it returns. Raises
        DeviceRefused when the write cannot take effect.
        """


class DataPlane(ForwardingPlane, Protocol):
    """One device: its forwarding state, its pipeline, its packets."""

    def prepare(self, p4info: P4Info, device_config: bytes) -> Prepared:
        """Check and build a pipeline without touching the running one; may take minutes.

        Raises PipelineRefused.
        """

    def initial_entries(self, pipeline: Prepared) -> Sequence[InitialEntry]:
        """Return the entries that the program itself declares, in source order; () where they are unknown."""

    def commit(self, pipeline: Prepared) -> None:
        """Run a pipeline from now on, with the program's own entries and no others.

        When it raises, the agent commits the pipeline before it again, and writes its state again.
        """

    def packet_out(self, frame: bytes) -> None:
        """Process a frame from the controller; it begins with the program's ``packet_out`` header.

        Raises ValueError for a frame that the device cannot take.
        """

    def on_packet_in(self, receive: Callable[[bytes], None]) -> None:
        """Call ``receive`` with each frame for the controller; it begins with the ``packet_in`` header."""

    def on_digest(self, receive: Callable[[int, Sequence[bytes]], None]) -> None:
        """Call ``receive(digest_id, fields)`` for each digest; fields as canonical byte strings."""
