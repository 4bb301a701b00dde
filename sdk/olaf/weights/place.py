"""Where a publisher or a player is: in a cluster that it joined, or at a fixed address."""

from __future__ import annotations

import os
from dataclasses import dataclass

from olaf.transport import wire
from olaf.transport.address import Cluster
from olaf.transport.membership import Membership, key_of
from olaf.transport.port import Address, Port

_JOIN_SECONDS = 10.0


@dataclass
class Place:
    """The control plane's answer, or nothing."""

    server: Address | None
    """The publisher's address; None at the publisher of a fixed testbed."""
    key: bytes
    membership: Membership | None
    fixed_epoch: int = 0

    @property
    def epoch(self) -> int:
        """The job's."""
        joined = self.membership.joined if self.membership else None
        return joined.epoch if joined else self.fixed_epoch

    def take(self, datagram: memoryview) -> None:
        """A control message."""
        if self.membership is not None:
            self.membership.take(datagram)

    def report(self, player: Address, version: int, lag: int, age: float | None, state: int) -> None:
        """How a player stands, to the control plane; ``age`` in s, ``state`` as ``wire.Report`` has it."""
        if self.membership is not None:
            self.membership.report(player, version, lag, age, state)

    def leave(self) -> None:
        """Leave the cluster."""
        if self.membership is not None:
            self.membership.leave()


def place_of(
    destination: Address | Cluster,
    key: str | None,
    role: wire.Role,
    port: Port,
    epoch: int,
) -> Place:
    """Join, where there is a control plane. Raises JoinRefused, NoAnswer, and ValueError for a bad key."""
    secret = key_of(key if key is not None else os.environ.get("OLAF_KEY", ""))
    if not isinstance(destination, Cluster):
        return Place(destination, secret, None, epoch)
    membership = Membership(port, destination, 0, role, secret)
    return Place(membership.admit(_JOIN_SECONDS).server, secret, membership)
