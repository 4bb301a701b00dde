"""What a P4Runtime agent drives: the small interface between the protocol and a device.

The twin's compiled P4 implements it today, VitisNetP4's driver library will be the second. The agent
has checked everything against the P4Info before it calls: ids exist, values fit their widths, a
duplicate insert never gets here. Values are unsigned integers. The agent serialises calls for one
device; the data plane forwards packets meanwhile.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

from p4.config.v1 import p4info_pb2

P4Info: TypeAlias = p4info_pb2.P4Info


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
"""One key field's match; None is "don't care"."""

Key = tuple[Match, ...]
"""One Match per key field, in the P4Info's order."""


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
class InitialEntry:
    """An entry that the program itself declares, with ``entries`` or ``const entries``."""

    table_id: int
    key: Key
    priority: int
    """Larger wins, 0 in a table without priorities."""
    action: ActionCall
    is_const: bool


class PipelineRefused(Exception):
    """The pipeline configuration cannot run on this device; the message says why."""


class TableFull(Exception):
    """The table already holds as many entries as its size."""


class Unsupported(Exception):
    """This device has no such facility; the message names it."""


class DataPlane(Protocol):
    """One device's match-action pipeline."""

    def prepare(self, p4info: P4Info, device_config: bytes) -> Any:
        """Check and build a pipeline without touching the running one.

        Raises PipelineRefused.
        """

    def commit(self, pipeline: Any) -> None:
        """Run ``pipeline`` (from :meth:`prepare`) from now on, with empty tables and const entries."""

    def insert(self, table_id: int, key: Key, priority: int, action: ActionSpec) -> None:
        """Add an entry. A larger priority wins. Raises TableFull."""

    def modify(self, table_id: int, key: Key, priority: int, action: ActionSpec) -> None:
        """Replace an entry's action in one step: each packet sees the old or the new one."""

    def delete(self, table_id: int, key: Key, priority: int) -> None:
        """Remove an entry."""

    def set_default(self, table_id: int, action: ActionCall | None) -> None:
        """Set the default action; None restores the program's own."""

    def idle_ns(self, table_id: int, key: Key, priority: int) -> int:
        """How long ago packets last hit an entry of a table with idle timeouts (or it was inserted), in ns.

        Raises Unsupported where the device does not know.
        """

    def direct_counter(self, table_id: int, key: Key, priority: int) -> CounterData:
        """An entry's direct counter; the key () means the default entry.

        Raises Unsupported for the default entry where the device does not count misses.
        """

    def set_direct_counter(self, table_id: int, key: Key, priority: int, data: CounterData) -> None: ...

    def set_direct_meter(
        self, table_id: int, key: Key, priority: int, config: MeterConfig | None
    ) -> None: ...

    def counter(self, counter_id: int, index: int) -> CounterData: ...

    def set_counter(self, counter_id: int, index: int, data: CounterData) -> None: ...

    def set_meter(self, meter_id: int, index: int, config: MeterConfig | None) -> None: ...

    def register(self, register_id: int, index: int) -> int: ...

    def set_register(self, register_id: int, index: int, value: int) -> None: ...

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
        """Return once no packet that saw the state before the last write is still in this pipeline.

        The agent calls it at the end of every Write, so "after the write returned" means something.
        """

    def packet_out(self, frame: bytes) -> None:
        """Inject a frame, its ``packet_out`` header already in front, at the CPU port."""

    def on_packet_in(self, receive: Callable[[bytes], None]) -> None:
        """Call ``receive`` with each frame that leaves by the CPU port, ``packet_in`` header in front."""

    def on_digest(self, receive: Callable[[int, Sequence[bytes]], None]) -> None:
        """Call ``receive(digest_id, fields)`` for each digest; fields as canonical byte strings."""


@runtime_checkable
class HasInitialEntries(Protocol):
    """A data plane that can say which entries a program declares, for reads to show them."""

    def initial_entries(self, pipeline: Any) -> Sequence[InitialEntry]:
        """The entries of the program of ``pipeline`` (from ``prepare``), in source order."""
