"""Multicast groups and the addressees of their copies, in the box's replicator.

In the v1model form the copies are P4Runtime's and ``members`` is a table of VNP4₂'s egress. On the card both
are entries of one copy table, so a change of a member is a change of its groups.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from olafctl.targets.opennic.box_registers import BoxRegisters, Copy
from olafswitch.errors import BadInput
from olafswitch.p4runtime.dataplane import DeviceRefused, Replica


class ReplicaMember(NamedTuple):
    """The addressee of a copy."""

    mac: int
    addr: int
    udp_port: int


class BoxReplication:
    """The groups of one box. Members take effect with :meth:`flush`."""

    def __init__(self, registers: BoxRegisters, together: AbstractContextManager[Any]) -> None:
        """Create the groups; ``together`` is held for accesses to the registers that belong together."""
        self._registers, self._together = registers, together
        self._groups: dict[int, tuple[Replica, ...]] = {}
        self._members: dict[int, ReplicaMember] = {}
        self._stale: set[int] = set()
        self.groups = registers.read("groups")
        """The number of the box's groups, with the group 0 that means none."""

    @property
    def members(self) -> Mapping[int, ReplicaMember]:
        """The members by replica instance."""
        return self._members

    def reset(self) -> None:
        """Remove all groups and members."""
        with self._together:
            self._registers.clear_groups()
        self._groups.clear()
        self._members.clear()
        self._stale.clear()

    def set_group(self, group: int, replicas: Sequence[Replica] | None) -> None:
        """Create or replace a group in one step; None removes it. Raises DeviceRefused without room."""
        self._write(group, tuple(replicas or ()))
        if replicas is None:
            self._groups.pop(group, None)
        else:
            self._groups[group] = tuple(replicas)
        self._stale.discard(group)

    def set_member(self, instance: int, member: ReplicaMember | None) -> None:
        """Set the member to whom the copies of ``instance`` are addressed; None leaves them as they are."""
        if member is None:
            self._members.pop(instance, None)
        else:
            self._members[instance] = member
        self._stale.update(
            group
            for group, replicas in self._groups.items()
            if any(replica.instance == instance for replica in replicas)
        )

    def flush(self) -> None:
        """Write the groups whose members changed. Raises DeviceRefused."""
        for group in sorted(self._stale):
            self._write(group, self._groups[group])
        self._stale.clear()

    def _write(self, group: int, replicas: Sequence[Replica]) -> None:
        try:
            with self._together:
                self._registers.set_group(group, [self._copy(replica) for replica in replicas])
        except BadInput as error:
            raise DeviceRefused("RESOURCE_EXHAUSTED", str(error)) from None

    def _copy(self, replica: Replica) -> Copy:
        member = self._members.get(replica.instance)
        return Copy(replica.egress_port) if member is None else Copy(replica.egress_port, *member)
