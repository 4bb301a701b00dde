"""One block on the card as the data plane behind the P4Runtime agent.

A controller sees the v1model form's P4Info, as on every target. The box's own tables (``members``) are not
among the block's. Ids are the same in both.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from olafctl.targets.opennic.host import HostFunction
from olafctl.targets.opennic.replication import BoxReplication, ReplicaMember
from olafswitch.p4.hardware.driver import Driver
from olafswitch.p4.hardware.plane import HardwarePlane
from olafswitch.p4.p4info.matching import find_mismatch
from olafswitch.p4runtime.dataplane import (
    ActionCall,
    ActionSpec,
    CounterData,
    Exact,
    Key,
    P4Info,
    PipelineRefused,
    Replica,
    ReplicationLimits,
    TableFull,
    Unsupported,
)
from olafswitch.p4runtime.program import ProgramInfo

_MAX_PORT = 0xFFFF


@dataclass(frozen=True)
class Parts:
    """The parts of one IP's data plane."""

    name: str
    """``vnp4_1`` or ``vnp4_2``."""
    build_id: str
    driver: Driver
    client: P4Info
    """The P4Info of the program as controllers see it."""
    ip: P4Info
    """The IP's own P4Info."""
    answers: Callable[[], None]
    """Raises DeviceRefused when the card does not answer any more."""
    host: HostFunction | None = None
    replication: BoxReplication | None = None
    punts: bool = False
    """Whether packet-ins come from this IP."""


class CardPlane(HardwarePlane):
    """A block's plane, with the box's share of a program: ``members``, copies, packet-ins."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts.driver, ProgramInfo(parts.ip))
        self._parts = parts
        self._client = ProgramInfo(parts.client)
        groups = parts.replication.groups if parts.replication else 1
        self.replication = ReplicationLimits(_MAX_PORT, 0xFFFF, max(groups - 1, 1), 1)

    # --- the pipeline

    def prepare(self, p4info: P4Info, config: bytes) -> P4Info:
        """Return the P4Info if it and ``config`` are the bitstream's program, else raise PipelineRefused."""
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
        if difference := find_mismatch(p4info, parts.client):
            raise PipelineRefused(f"the P4Info does not belong to the bitstream: {difference}")
        return p4info

    def commit(self, pipeline: P4Info) -> None:
        """Empty every table, and the driver's memory of them."""
        super().commit(pipeline)
        if self._parts.replication is not None:
            self._parts.replication.reset()
        self._parts.answers()

    def quiesce(self) -> None:
        """Write the groups whose members changed, and wait as a plane does. Raises DeviceRefused."""
        if self._parts.replication is not None:
            self._parts.replication.flush()
        self._parts.answers()
        super().quiesce()

    # --- entries

    def insert(self, table_id: int, key: Key, priority: int, action: ActionSpec) -> None:
        """Add an entry. Raises TableFull, DeviceRefused."""
        if self._is_the_blocks(table_id):
            super().insert(table_id, key, priority, action)
            self._parts.answers()
            return
        replication = self._parts.replication
        if replication and len(replication.members) >= self._client.tables[table_id].size:
            raise TableFull
        self._set_member(key, action)

    def modify(self, table_id: int, key: Key, priority: int, action: ActionSpec) -> None:
        """Replace an entry's action. Raises DeviceRefused."""
        if self._is_the_blocks(table_id):
            super().modify(table_id, key, priority, action)
            self._parts.answers()
        else:
            self._set_member(key, action)

    def delete(self, table_id: int, key: Key, priority: int) -> None:
        """Remove an entry. Raises DeviceRefused."""
        if self._is_the_blocks(table_id):
            super().delete(table_id, key, priority)
            self._parts.answers()
        else:
            self._set_member(key, None)

    def set_default(self, table_id: int, action: ActionCall | None) -> None:
        """Set the default action; None restores the program's own."""
        if self._is_the_blocks(table_id):
            super().set_default(table_id, action)
        elif action is not None:
            raise Unsupported("the card addresses what is for no member as it is")

    def direct_counter(self, table_id: int, key: Key, priority: int) -> CounterData:
        """Return an entry's counter. Raises Unsupported for the box's ``members``."""
        if not self._is_the_blocks(table_id):
            raise Unsupported("the card does not count the copies of each member")
        counted = super().direct_counter(table_id, key, priority)
        self._parts.answers()
        return counted

    def _is_the_blocks(self, table_id: int) -> bool:
        return table_id in self._info.tables

    def _set_member(self, key: Key, action: ActionSpec | None) -> None:
        """Set or remove an entry of ``members``: the action ``deliver``, or one without parameters."""
        replication = self._parts.replication
        if replication is None or len(key) != 1 or not isinstance(key[0], Exact):
            raise Unsupported("the card has no such table")
        params = action.params if isinstance(action, ActionCall) else ()
        replication.set_member(key[0].value, ReplicaMember(*params) if params else None)

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
        """Call ``receive`` with each packet-in, which come from VNP4₁ alone."""
        if self._parts.host is not None and self._parts.punts:
            self._parts.host.on_packet_in(receive)
