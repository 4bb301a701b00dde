"""Who trains along: how each member stands, by what it tells, and whose word counts no more.

Every member tells all others how it stands, twice a second. So members find one another through any one of
them, notice what they missed when nothing else comes, and hold their chains of results against each other.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from ipaddress import IPv4Address
from typing import Callable, NamedTuple

from olaf import wire
from olaf.port import Address, Port

_EVERY, _EVERY_JOINING = 0.5, 0.25
"""Seconds from one telling to the next."""
_DEAD = 20
"""Tellings without a word from it after which a member counts as dead: 10 s."""
_ABSENT = 4
"""As many, after which one that joins does not wait for it: 2 s, or 1 s while joining."""


class State(IntEnum):
    """How a member stands."""

    JOINING = 0
    MEMBER = 1
    OPENING = 2
    LEFT = 3
    FAILED = 4


class Line(NamedTuple):
    """One numbering of results. Of two, the one of the later era counts, then the lower leader's."""

    era: int = 0
    leader: Address = ("0.0.0.0", 0)
    identity: int = 0

    def beats(self, other: Line) -> bool:
        """Whether members on the other one must come over."""
        return (-self.era, _order(self.leader), self.identity) < (
            -other.era,
            _order(other.leader),
            other.identity,
        )


NOWHERE = Line()


def _order(address: Address) -> tuple[int, int]:
    return int(IPv4Address(address[0])), address[1]


@dataclass
class Standing:
    """How one member stands."""

    incarnation: int = 0
    state: State = State.JOINING
    line: Line = NOWHERE
    version: int = 0
    newest: int = 0
    chain: int = 0


@dataclass
class Peer(Standing):
    """What another member told last."""

    address: Address = ("", 0)
    missed: int = 0
    """Tellings of ours since it was heard."""
    knows: int = 0
    """This member's incarnation that it knows; 0 for none."""
    fence: int = 0
    """Its highest number when it was first known to know that one."""

    @property
    def dead(self) -> bool:
        """It has not been heard for long."""
        return self.missed >= _DEAD

    @property
    def absent(self) -> bool:
        """It has not been heard for a while."""
        return self.missed >= _ABSENT


class Group:
    """The members that this one knows."""

    def __init__(self, port: Port, own: Address, others: Iterable[Address], digest: int) -> None:
        self.port, self.own, self.digest = port, own, digest
        self.me = Standing(incarnation=port.wall() // 1_000_000 % (1 << 48))
        self.addresses = [other for other in others if other != own]
        """Where members may be."""
        self.peers: dict[Address, Peer] = {}
        """Those that were heard, with the same digest, and have not left."""
        self.strangers: dict[Address, State] = {}
        """Those with another digest."""
        self.gone: dict[Address, State] = {}
        """Those that have left, or have given up."""
        self.banned: dict[Address, int] = {}
        """By address, the newest incarnation that counts for nothing any more."""
        self.refresh: Callable[[], object] = lambda: None
        """Brings ``me`` up to date before it is told: others rely on it from then on."""
        self._due = port.now()

    def again(self) -> None:
        """Begin a new incarnation: what this one promised or had is void."""
        now = self.port.wall() // 1_000_000
        self.me.incarnation = max(self.me.incarnation + 1, now) % (1 << 48)
        for peer in self.peers.values():
            peer.knows = peer.fence = 0

    def others(self) -> list[Peer]:
        """Those on the same line, or about to be, that count."""
        return [
            peer
            for peer in self.peers.values()
            if peer.state is State.JOINING or peer.line.identity == self.me.line.identity
        ]

    def established(self, line: Line | None = None) -> list[Peer]:
        """Members, of this line only if one is given."""
        return [
            peer
            for peer in self.peers.values()
            if peer.state is State.MEMBER and (line is None or peer.line == line)
        ]

    def of(self, source: Address, incarnation: int) -> Peer | None:
        """The member that sent this, if it is still the same and counts."""
        peer = self.peers.get(source)
        return peer if peer is not None and peer.incarnation == incarnation else None

    @property
    def bans(self) -> int:
        """Checksum of whose word counts no more."""
        return zlib.crc32(repr(sorted(self.banned.items())).encode()) if self.banned else 0

    def ban(self, peer: Peer) -> None:
        """It is dead: nothing that it had counts, until it begins again."""
        self.banned[peer.address] = max(peer.incarnation, self.banned.get(peer.address, 0))
        self.peers.pop(peer.address, None)

    def tick(self, now: float, steady: bool) -> float:
        """Tell everyone when it is due; returns when it is next. ``steady``: nothing is waited for."""
        if now >= self._due:
            self._due = now + (_EVERY if steady else _EVERY_JOINING)
            for peer in self.peers.values():
                peer.missed += 1
            self.tell(self.addresses, wanted=not steady)
        return self._due

    def soon(self) -> None:
        """Tell everyone at the next tick."""
        self._due = self.port.now()

    def meet(self, host: int, number: int) -> None:
        """Someone that asked the control plane for members is there."""
        address = (str(IPv4Address(host)), number)
        if address != self.own and address not in self.addresses:
            self.addresses.append(address)
        self.tell([address], wanted=True)

    def tell(self, to: Iterable[Address], wanted: bool = False) -> None:
        """How this one stands, and whom it knows."""
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

    def hear(self, datagram: memoryview, source: Address) -> Peer | None:
        """Take what a member tells; returns it if its word counts.

        Raises struct.error, ValueError for what is no such message.
        """
        told = wire.Tell.unpack(datagram)
        known = [
            wire.Known.unpack(datagram, wire.TELL_BYTES + number * wire.KNOWN_BYTES)
            for number in range(told.known)
        ]
        state = State(told.state)
        if source not in self.addresses:
            self.addresses.append(source)
        if told.digest != self.digest:
            self.peers.pop(source, None)
            self.strangers[source] = state
            return None
        self.strangers.pop(source, None)
        peer = self.peers.get(source)
        if told.incarnation <= self.banned.get(source, -1):
            self.tell([source])  # that it is banned
            return None
        if peer is not None and told.incarnation < peer.incarnation:
            return None  # of before it was killed
        if state in (State.LEFT, State.FAILED):
            self.peers.pop(source, None)
            self.gone[source] = state
            return None
        self.gone.pop(source, None)
        if peer is None or told.incarnation > peer.incarnation:
            peer = self.peers[source] = Peer(address=source, incarnation=told.incarnation)
        peer.missed, peer.state = 0, state
        peer.line = Line(told.era, (str(IPv4Address(told.leader_addr)), told.leader_port), told.line)
        peer.version, peer.newest, peer.chain = told.version, told.newest, told.chain
        self._introduced(peer, known)
        if told.wanted:
            self.tell([source])
        return peer

    def _introduced(self, peer: Peer, known: list[wire.Known]) -> None:
        """Whom that member knows, this one perhaps among them."""
        for entry in known:
            address = (str(IPv4Address(entry.addr)), entry.port)
            if address == self.own and entry.incarnation >= self.me.incarnation:
                if entry.banned:
                    peer.knows = -entry.incarnation
                elif peer.knows != entry.incarnation:
                    peer.knows, peer.fence = entry.incarnation, peer.newest
            elif entry.banned:
                self._banned(address, entry.incarnation)
            elif address != self.own and address not in self.peers and address not in self.gone:
                # It counts, as others know it, until it is heard or found dead.
                self.peers[address] = Peer(entry.incarnation, address=address)
            if address != self.own and address not in self.addresses:
                self.addresses.append(address)

    def _banned(self, address: Address, incarnation: int) -> None:
        """Others go on without what was there up to this incarnation."""
        if incarnation > self.banned.get(address, -1):
            self.banned[address] = incarnation
            held = self.peers.get(address)
            if held is not None and held.incarnation <= incarnation:
                del self.peers[address]

    def expelled(self, peer: Peer) -> bool:
        """Whether that member has said that this one's word counts no more."""
        return peer.knows < 0 and -peer.knows >= self.me.incarnation
