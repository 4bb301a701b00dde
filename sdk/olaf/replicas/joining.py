"""How a member comes to have what the others have.

It reports to everyone, takes a snapshot from a member, and counts as one when every member that
answers knows it. Up to the highest number that those knew then, it takes results from members only: they
may have decided without it. A member that is too far behind takes a snapshot too, but has nothing else to
wait for.

The first member founds the training: as soon as more than half of all are there, and none of them trains.
"""

from __future__ import annotations

from olaf.replicas.group import Group, MemberLine, MemberState
from olaf.replicas.trained import Snapshot, difference
from olaf.transport.pieces import Taker, What
from olaf.transport.port import Address, Port

_MUSTER = 1.0
"""Seconds that a founder waits for those that may train already."""


class Joining:
    """One member's way to the others' state."""

    def __init__(self, port: Port, group: Group, members: int, founder: bool) -> None:
        """``members`` may take part; ``founder``: this one founds the training if none is there."""
        self.taker: Taker | None = None
        self.snapshot: Snapshot | None = None
        """Taken, while this member waits to be known."""
        self._port, self._group = port, group
        self._members, self._founder = members, founder
        self._began = port.now()
        self._turns = 0
        self._giver: Address | None = None

    def begin_joining(self, giver: Address | None = None) -> None:
        """Forget what is under way; the next snapshot is to come from ``giver``, if one is given."""
        self.taker = self.snapshot = None
        self._giver = giver
        self._began = self._port.now()

    @property
    def lonely(self) -> bool:
        """Whether not all members have been found."""
        return len(self._group.addresses) < self._members - 1

    @property
    def founds(self) -> bool:
        """Whether no training exists and this member must found it now."""
        group = self._group
        if not self._founder or any(peer.line.era for peer in group.peers.values()):
            return False
        here = sum(1 for peer in group.peers.values() if not peer.absent) + 1
        mustered = self._port.now() - self._began >= _MUSTER
        return here >= self._members or (mustered and 2 * here > self._members)

    def tick(self, now: float) -> float | None:
        """Fetch from a member; returns when to be called again."""
        if self.snapshot is not None:
            return None
        if self.taker is not None and self.taker.what is What.MANIFEST:
            return self.taker.tick(now)
        best = self._find_best()
        if best is None:
            self.taker = None
            return self._explain_refusal(now)
        givers = [peer.address for peer in self._group.list_established(best) if not peer.absent]
        if not givers:
            return None
        if self.taker is None:
            chosen = self._giver if self._giver in givers else _choose_member(givers, self._group.own, 0)
            self.taker = Taker(self._port, What.SNAPSHOT, chosen)
        elif self.taker.silent or self.taker.giver not in givers:
            self._turns += 1
            self.taker.turn_to(_choose_member(givers, self._group.own, self._turns))
        return self.taker.tick(now)

    def note_snapshot(self, data: bytes) -> Snapshot | None:
        """Return the snapshot in ``data`` if it is of the numbering that counts.

        Raises ValueError for what is none.
        """
        self.taker = None
        snapshot = Snapshot.unpack(data)
        return None if self.is_outdated(snapshot) else snapshot

    def explain_refusal(self, manifest: bytes, own: list[str], member: Address) -> str:
        """Say why this member can never join, by what that member trains."""
        host, number = member
        theirs = manifest.decode(errors="replace").split("\n")
        return f"member {host}:{number} trains something else: {difference(theirs, own)}"

    def is_outdated(self, snapshot: Snapshot) -> bool:
        """Return whether another numbering counts by now."""
        best = self._find_best()
        return best is not None and best.is_newer(snapshot.line)

    def is_known(self) -> int | None:
        """Return the fence when all who answer know this member; else None."""
        group, fence = self._group, 0
        for peer in group.list_others():
            if peer.absent:
                continue
            if peer.knows != group.me.incarnation:
                return None
            fence = max(fence, peer.fence)
        return fence

    def _find_best(self) -> MemberLine | None:
        """Return the numbering that counts, of those that members have reported."""
        best: MemberLine | None = None
        for peer in self._group.list_established():
            if not peer.absent and (best is None or peer.line.is_newer(best)):
                best = peer.line
        return best

    def _explain_refusal(self, now: float) -> float | None:
        """Ask members that train something else what it is."""
        for stranger, state in self._group.strangers.items():
            if state is MemberState.MEMBER:
                self.taker = Taker(self._port, What.MANIFEST, stranger)
                return self.taker.tick(now)
        return None


def _choose_member(givers: list[Address], own: Address, turn: int) -> Address:
    """Choose the member to ask for the state, so that joining members spread over those that can give."""
    order = sorted(givers)
    return order[(own[1] + sum(map(int, own[0].split("."))) + turn) % len(order)]
