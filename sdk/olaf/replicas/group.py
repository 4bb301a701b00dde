"""The members of a training: each one's state, as it reports it, and the members that are excluded.

Every member reports its state to all others, twice a second. So members find one another through any one of
them, notice what they missed when nothing else comes, and hold their chains of results against each other.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from ipaddress import IPv4Address
from typing import Callable, NamedTuple

from olaf.transport import wire
from olaf.transport.port import Address, Port

_EVERY, _EVERY_JOINING = 0.5, 0.25
"""Seconds from one report to the next."""
_DEAD = 20
"""Reports sent without one received, after which a member counts as dead: 10 s."""
_ABSENT = 4
"""Likewise, after which a joining member does not wait for it: 2 s, or 1 s while joining."""


class MemberState(IntEnum):
    """The state of a member."""

    JOINING = 0
    MEMBER = 1
    OPENING = 2
    LEFT = 3
    FAILED = 4


class MemberLine(NamedTuple):
    """One numbering of results. Of two, the one of the later era counts, then the lower leader's."""

    era: int = 0
    leader: Address = ("0.0.0.0", 0)
    identity: int = 0

    def is_newer(self, other: MemberLine) -> bool:
        """Return whether the members on ``other`` must come over to this line."""
        return (-self.era, _order_members(self.leader), self.identity) < (
            -other.era,
            _order_members(other.leader),
            other.identity,
        )


NOWHERE = MemberLine()


def _order_members(address: Address) -> tuple[int, int]:
    return int(IPv4Address(address[0])), address[1]


@dataclass
class Standing:
    """A member's report of itself."""

    incarnation: int = 0
    state: MemberState = MemberState.JOINING
    line: MemberLine = NOWHERE
    version: int = 0
    newest: int = 0
    chain: int = 0


@dataclass
class Peer(Standing):
    """Another member's last report."""

    address: Address = ("", 0)
    missed: int = 0
    """Reports sent since its last one arrived."""
    knows: int = 0
    """The incarnation of this member that it knows; 0 for none."""
    fence: int = 0
    """Its highest number when it first reported that incarnation."""

    @property
    def dead(self) -> bool:
        """Whether its reports have been missing for long."""
        return self.missed >= _DEAD

    @property
    def absent(self) -> bool:
        """Whether its reports have been missing for a while."""
        return self.missed >= _ABSENT


class Group:
    """The members that this one knows."""

    def __init__(self, port: Port, own: Address, others: Iterable[Address], digest: int) -> None:
        self.port, self.own, self.digest = port, own, digest
        self.me = Standing(incarnation=port.wall() // 1_000_000 % (1 << 48))
        self.addresses = [other for other in others if other != own]
        """Addresses where members may be."""
        self.peers: dict[Address, Peer] = {}
        """Members that have reported the same digest and have not left."""
        self.strangers: dict[Address, MemberState] = {}
        """Members with another digest."""
        self.gone: dict[Address, MemberState] = {}
        """Members that have left or have given up."""
        self.banned: dict[Address, int] = {}
        """The newest excluded incarnation by address."""
        self.refresh: Callable[[], object] = lambda: None
        """Brings ``me`` up to date before it is sent: others rely on it from then on."""
        self._due = port.now()

    def begin_again(self) -> None:
        """Begin a new incarnation: what this one promised or had is void."""
        now = self.port.wall() // 1_000_000
        self.me.incarnation = max(self.me.incarnation + 1, now) % (1 << 48)
        for peer in self.peers.values():
            peer.knows = peer.fence = 0

    def list_others(self) -> list[Peer]:
        """List the members on the same line, and those about to be on it."""
        return [
            peer
            for peer in self.peers.values()
            if peer.state is MemberState.JOINING or peer.line.identity == self.me.line.identity
        ]

    def list_established(self, line: MemberLine | None = None) -> list[Peer]:
        """List the established members, with ``line`` only those on it."""
        return [
            peer
            for peer in self.peers.values()
            if peer.state is MemberState.MEMBER and (line is None or peer.line == line)
        ]

    def find_peer(self, source: Address, incarnation: int) -> Peer | None:
        """Return the member that sent this, unless it has restarted or is excluded."""
        peer = self.peers.get(source)
        return peer if peer is not None and peer.incarnation == incarnation else None

    @property
    def bans(self) -> int:
        """Checksum of the excluded incarnations."""
        return zlib.crc32(repr(sorted(self.banned.items())).encode()) if self.banned else 0

    def ban_peer(self, peer: Peer) -> None:
        """Exclude a dead member until it begins again."""
        self.banned[peer.address] = max(peer.incarnation, self.banned.get(peer.address, 0))
        self.peers.pop(peer.address, None)

    def tick(self, now: float, steady: bool) -> float:
        """Report to everyone when due; returns when it is due next. ``steady``: not waiting."""
        if now >= self._due:
            self._due = now + (_EVERY if steady else _EVERY_JOINING)
            for peer in self.peers.values():
                peer.missed += 1
            self.tell_members(self.addresses, wanted=not steady)
        return self._due

    def report_soon(self) -> None:
        """Report to everyone at the next tick."""
        self._due = self.port.now()

    def meet_peer(self, host: int, number: int) -> None:
        """Add a member that asked the control plane for members."""
        address = (str(IPv4Address(host)), number)
        if address != self.own and address not in self.addresses:
            self.addresses.append(address)
        self.tell_members([address], wanted=True)

    def tell_members(self, to: Iterable[Address], wanted: bool = False) -> None:
        """Tell members the state of this one, and whom it knows."""
        self.refresh()
        me = self.me
        known = [(peer.address, peer.incarnation, 0) for peer in self.peers.values()]
        known += [(address, incarnation, 1) for address, incarnation in self.banned.items()]
        leader, port = me.line.leader
        head = wire.Tell(
            wire.Talk.TELL,
            me.state,
            wanted,
            self.digest,
            me.line.era,
            int(IPv4Address(leader)),
            port,
            me.line.identity,
            me.incarnation,
            me.version,
            me.newest,
            me.chain,
            len(known),
        ).pack()
        body = b"".join(
            wire.Known(int(IPv4Address(host)), number, incarnation, banned).pack()
            for (host, number), incarnation, banned in known
        )
        for address in to:
            self.port.send(address, head, body)

    def hear_report(self, datagram: memoryview, source: Address) -> Peer | None:
        """Take a member's report; returns the member unless it is excluded.

        Raises struct.error, ValueError for a datagram of another kind.
        """
        report = wire.Tell.unpack(datagram)
        known = [
            wire.Known.unpack(datagram, wire.TELL_BYTES + number * wire.KNOWN_BYTES)
            for number in range(report.known)
        ]
        state = MemberState(report.state)
        if source not in self.addresses:
            self.addresses.append(source)
        if report.digest != self.digest:
            self.peers.pop(source, None)
            self.strangers[source] = state
            return None
        self.strangers.pop(source, None)
        peer = self.peers.get(source)
        if report.incarnation <= self.banned.get(source, -1):
            self.tell_members([source])  # that it is banned
            return None
        if peer is not None and report.incarnation < peer.incarnation:
            return None  # of before it was killed
        if state in (MemberState.LEFT, MemberState.FAILED):
            self.peers.pop(source, None)
            self.gone[source] = state
            return None
        self.gone.pop(source, None)
        if peer is None or report.incarnation > peer.incarnation:
            peer = self.peers[source] = Peer(address=source, incarnation=report.incarnation)
        peer.missed, peer.state = 0, state
        peer.line = MemberLine(
            report.era, (str(IPv4Address(report.leader_addr)), report.leader_port), report.line
        )
        peer.version, peer.newest, peer.chain = report.version, report.newest, report.chain
        self._was_introduced(peer, known)
        if report.wanted:
            self.tell_members([source])
        return peer

    def _was_introduced(self, peer: Peer, known: list[wire.Known]) -> None:
        """Take the members that this one knows, perhaps this member among them."""
        for entry in known:
            address = (str(IPv4Address(entry.addr)), entry.port)
            if address == self.own and entry.incarnation >= self.me.incarnation:
                if entry.banned:
                    peer.knows = -entry.incarnation
                elif peer.knows != entry.incarnation:
                    peer.knows, peer.fence = entry.incarnation, peer.newest
            elif entry.banned:
                self._is_banned(address, entry.incarnation)
            elif address != self.own and address not in self.peers and address not in self.gone:
                # It counts, since others know it, until it reports or is found dead.
                self.peers[address] = Peer(entry.incarnation, address=address)
            if address != self.own and address not in self.addresses:
                self.addresses.append(address)

    def _is_banned(self, address: Address, incarnation: int) -> None:
        """Exclude an address up to this incarnation, as others have done."""
        if incarnation > self.banned.get(address, -1):
            self.banned[address] = incarnation
            held = self.peers.get(address)
            if held is not None and held.incarnation <= incarnation:
                del self.peers[address]

    def was_expelled(self, peer: Peer) -> bool:
        """Return whether that member has reported this one as excluded."""
        return peer.knows < 0 and -peer.knows >= self.me.incarnation
