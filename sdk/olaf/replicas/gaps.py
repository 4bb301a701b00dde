"""Results that did not arrive: members request them, and leave out those that no member has.

A member without a result asks one other member for it, then all. One that has it sends it. When all have
answered that they lack it, too, although it must have left the engine, the asker has them *promise*: one that
promises takes this result from a member only, even if the engine's copy comes after all. When every member
has promised, none of them has it and none will, so it is void: each leaves it out of the step. One that has
it never promises and gives it instead. So no two members ever decide a number differently, whichever asks,
and however many do.

A member that does not answer for long must not stop the others. More than half of all can go on without it,
if they promise to take nothing of it either, until it begins again from a snapshot.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from olaf.replicas.commits import Commits
from olaf.replicas.group import Group, MemberState, Peer
from olaf.replicas.ledger import Ledger
from olaf.transport import wire
from olaf.transport.port import Address, Port
from olaf.transport.segments import payload

_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 2.0
"""Seconds until contributions without a result are sent again: twice the usual time, within these."""
_UP, _DOWN = 1.1, 1 / 1.1
"""How the usual time from one step to the next follows each of them."""
_SOON, _EVIDENT_PAUSE = 0.003, 0.5
"""Seconds until a result that others have is requested, at first and at most."""
_RESENT = 2
"""Contributions sent again without a result before the first question."""
_FEW = 3
"""Tries before a member requests promises."""
_DOUBT = 1.0
"""Seconds before contributions are given a second time; doubles while the engine does not answer."""
_MOST_DOUBLED = 6
_AT_ONCE = 64
"""Results of all segments that a member far behind requests from one other at once."""
_SCAN, _SCAN_EACH = 0.004, 20e-6
"""Seconds between two looks at all segments: at least, and for each of them."""


class Kind(IntEnum):
    """Why a member does not give a result."""

    NOT_YET = 0
    PROMISED = 1
    OLD = 2


@dataclass
class GapCounters:
    """Counts of results that did not arrive."""

    gaps: int = 0
    """Results that others had, or that newer ones came before."""
    helps: int = 0
    """Questions to members, in frames."""
    helped: int = 0
    """Results given to members."""
    voids: int = 0
    """Results in the steps applied here that no member had, left out by all."""
    promises: int = 0
    banned: int = 0
    """Members that the others went on without."""


@dataclass
class _Lane:
    """One segment's lowest number without a result."""

    number: int = 0
    began: float = 0.0
    due: float = 0.0
    tries: int = 0
    evident: bool = False
    """Whether there is such a result."""
    lacking: dict[Address, int] = field(default_factory=dict)
    """The members that lack it, too, and how many contributions each has given to it."""
    promised: set[Address] = field(default_factory=set)
    old: bool = False
    """Whether a member applied it so long ago that no member keeps it."""
    hard: bool = False
    """Whether this member requests promises."""


class Gaps:
    """Finds the results that one member lacks, and answers others."""

    def __init__(self, port: Port, ledger: Ledger, group: Group, commits: Commits, wanted: int) -> None:
        """``wanted`` is H."""
        self.counters = GapCounters()
        self.behind = False
        """Whether no member keeps what is missing here."""
        self.halted = False
        """Whether this member must not send to the engine."""
        self._port, self._ledger, self._group, self._commits = port, ledger, group, commits
        self._wanted = wanted
        self._lanes = [_Lane() for _ in range(ledger.segments.count)]
        self._pace = _FIRST_PAUSE
        """Seconds from one step to the next, about."""
        self._last: float | None = None
        self._doubts = 0
        """Consecutive times that contributions were given again without a result."""
        self._due = 0.0

    def begin_numbering(self) -> None:
        """Look at everything for the first time."""
        self._lanes = [_Lane() for _ in self._lanes]
        self._due, self._doubts, self.behind, self._last = 0.0, 0, False, None

    def note_result(self) -> None:
        """Note that the engine gave a result, and so works."""
        self._doubts = 0

    def note_step(self) -> None:
        """Note that a step was applied, and adapt the pace expected of the next one."""
        now = self._port.now()
        if self._last is not None:
            # Towards the median: stalls, which are long, must not make slow what ends the next one.
            self._pace = max(self._pace * (_UP if now - self._last > self._pace else _DOWN), _SOON)
        self._last = now

    def tick(self, now: float) -> float:
        """Look at all segments; returns when to look next."""
        if now < self._due:
            return self._due
        self._due = now + max(_SCAN, _SCAN_EACH * len(self._lanes))
        ledger = self._ledger
        ahead = max((peer.version for peer in self._list_mates() if not peer.absent), default=0)
        later = float("inf")
        for segment, lane in enumerate(self._lanes):
            number = ledger.lowest_undecided(segment)
            evident = number <= ledger.newest[segment] or number <= ahead
            if lane.number != number:
                pause = _SOON if evident else self._next_pause(0)
                self._lanes[segment] = lane = _Lane(number, now, now + pause)
            if not evident and not self._commits.count_given(segment):
                lane.evident = False
                lane.due = max(lane.due, now + self._next_pause(0))
                continue
            if evident != lane.evident:
                lane.evident, lane.tries = evident, 0
                lane.due = min(lane.due, now + _SOON)
                self.counters.gaps += evident
            if now >= lane.due:
                self._try_gap(segment, lane, now)
            later = min(later, lane.due)
        # What is found between two looks waits for the next one.
        self._due = max(self._due, min(later, now + 4 * _SCAN))
        return self._due

    def _list_mates(self) -> list[Peer]:
        """List the members of the same numbering."""
        return self._group.list_established(self._group.me.line)

    def _next_pause(self, tries: int) -> float:
        return float(min(max(2 * self._pace, _FIRST_PAUSE) * 2.0 ** min(tries, 16), _LONGEST_PAUSE))

    def _try_gap(self, segment: int, lane: _Lane, now: float) -> None:
        lane.tries += 1
        if lane.evident:
            lane.due = now + min(_SOON * 2.0 ** min(lane.tries, 16), _EVIDENT_PAUSE)
            if self._is_nowhere(segment, lane):
                self._ask_promises(segment, lane)
            else:
                self._ask_some(segment, lane, lane.tries == 1)
            return
        lane.due = now + self._next_pause(lane.tries - 1)
        if self.halted:
            return
        if self._was_swallowed(segment, lane, now):
            self._doubts += 1
            lane.began = now
            self._commits.renew_commits(segment)
        else:
            self._commits.send_again(segment)
        if lane.tries > _RESENT:
            self._ask_some(segment, lane, lane.tries == _RESENT + 1)

    def _ask_some(self, segment: int, lane: _Lane, one: bool) -> None:
        """Ask one member, or all."""
        others = [peer for peer in self._group.list_others() if not peer.dead]
        ahead = [peer for peer in others if peer.version >= lane.number] or others
        if not (one and ahead):
            self._ask_member(segment, lane.number, [peer.address for peer in others], False)
            return
        chosen = ahead[(segment + lane.number) % len(ahead)]
        self._ask_member(segment, lane.number, [chosen.address], False)
        # One a look would never catch up with members that step more often.
        stop = min(chosen.version + 1, lane.number + _AT_ONCE // len(self._lanes))
        for number in range(lane.number + 1, stop):
            if self._ledger.find_result(segment, number) is None:
                self._ask_member(segment, number, [chosen.address], False)

    def _is_nowhere(self, segment: int, lane: _Lane) -> bool:
        """Return whether a result has left the engine and no member that answers has it."""
        if lane.hard:
            return True
        seen = lane.number <= self._ledger.newest[segment]
        return seen and lane.tries > _FEW and not lane.old and self._all_lack(lane)

    def _was_swallowed(self, segment: int, lane: _Lane, now: float) -> bool:
        """Return whether contributions for a result were given, and none came to any member.

        The result was lost on the way to all, or its contributions between two engines. A second contribution
        decides: the next result is this one, or the one after it, and then this one is void.
        """
        given = self._commits.count_given(segment) + sum(lane.lacking.values())
        doubt = max(_DOUBT * 2.0 ** min(self._doubts, _MOST_DOUBLED), 4 * self._pace)
        return given >= self._wanted and now - lane.began >= doubt and self._all_lack(lane)

    def _all_lack(self, lane: _Lane) -> bool:
        """Return whether all other members that answer have reported that they lack the result, too."""
        return all(peer.dead or peer.address in lane.lacking for peer in self._group.list_others())

    def _ask_promises(self, segment: int, lane: _Lane) -> None:
        """Collect promises; decide when all have arrived."""
        if not lane.hard:
            lane.hard = True
            self._ledger.add_promise(segment, lane.number)
        others = self._group.list_others()
        open_ = [peer for peer in others if peer.address not in lane.promised]
        if open_ and all(peer.dead for peer in open_):
            kept = len(others) - len(open_) + 1
            if 2 * kept > len(others) + 1:
                for peer in open_:
                    self._group.ban_peer(peer)
                    self.counters.banned += 1
                # They must promise again, now to take nothing from the excluded members either.
                lane.promised.clear()
                self._group.tell_members(self._group.addresses)
                open_ = self._group.list_others()
        if open_:
            self._ask_member(segment, lane.number, [peer.address for peer in open_], True)
            return
        self._decide_void(segment, lane.number)

    def _decide_void(self, segment: int, number: int) -> None:
        """Decide that a result is void, and tell all members."""
        self._ledger.take_result(segment, number, 0, np.zeros(0, np.float32), member=True)
        self._commits.note_answer(segment)
        for peer in self._group.list_others():
            self._give_result(peer.address, segment, number, 0, b"")

    def _ask_member(self, segment: int, number: int, of: list[Address], promise: bool) -> None:
        me = self._group.me
        self.counters.helps += len(of)
        ask = wire.Ask(wire.Talk.ASK, promise, segment, number, me.line.identity, me.incarnation).pack()
        if promise and self._group.banned:
            self._group.tell_members(of)
        for address in of:
            self._port.send(address, ask)

    def _give_result(
        self, to: Address, segment: int, number: int, count: int, body: bytes | memoryview
    ) -> None:
        me = self._group.me
        head = wire.Give(wire.Talk.GIVE, segment, number, count, me.line.identity, me.incarnation)
        self._port.send(to, head.pack(), body)

    def answer_question(self, datagram: memoryview, source: Address) -> None:
        """Answer a member that lacks a result. Raises struct.error for a datagram of another kind."""
        ask = wire.Ask.unpack(datagram)
        me, ledger = self._group.me, self._ledger
        peer = self._group.find_peer(source, ask.incarnation)
        if peer is None or ask.segment >= len(self._lanes):
            return
        member = me.state is MemberState.MEMBER
        if member and ask.line != me.line.identity:
            return
        found = ledger.find_result(ask.segment, ask.number) if member else None
        if found is not None:
            self.counters.helped += 1
            self._give_result(source, ask.segment, ask.number, found[0], payload(found[1]))
            return
        kind = Kind.NOT_YET
        if member and ask.number <= ledger.version:
            kind = Kind.OLD
        elif ask.promise:
            kind = Kind.PROMISED
            self.counters.promises += 1
            ledger.add_promise(ask.segment, ask.number)
        given = 0
        if member and ask.number == ledger.lowest_undecided(ask.segment):
            given = self._commits.count_given(ask.segment)
        lack = wire.Lack(
            wire.Talk.LACK, kind, ask.segment, ask.number, given, self._group.bans, ask.line, me.incarnation
        )
        self._port.send(source, lack.pack())

    def take_answer(self, datagram: memoryview, source: Address) -> None:
        """Note that a member lacks the result, too. Raises struct.error for a datagram of another kind."""
        lack = wire.Lack.unpack(datagram)
        peer = self._group.find_peer(source, lack.incarnation)
        if peer is None or lack.line != self._group.me.line.identity or lack.segment >= len(self._lanes):
            return
        lane = self._lanes[lack.segment]
        if lane.number != lack.number or self._ledger.lowest_undecided(lack.segment) != lack.number:
            return
        if lack.kind == Kind.OLD:
            lane.old = True
            self.behind = self.behind or lane.tries > _FEW
            return
        lane.lacking[source] = lack.given
        if lack.kind == Kind.PROMISED and lack.bans == self._group.bans:
            lane.promised.add(source)
            if lane.hard:
                self._promises_if_all(lack.segment, lane)

    def _promises_if_all(self, segment: int, lane: _Lane) -> None:
        if all(peer.address in lane.promised for peer in self._group.list_others()):
            self._ask_promises(segment, lane)

    def take_given(self, datagram: memoryview, source: Address) -> tuple[int, int, int, memoryview] | None:
        """Return segment, number, count and sums of a result that a member gives; None from an excluded one.

        Raises struct.error for a datagram of another kind.
        """
        give = wire.Give.unpack(datagram)
        peer = self._group.find_peer(source, give.incarnation)
        if peer is None or give.line != self._group.me.line.identity or give.segment >= len(self._lanes):
            return None
        return give.segment, give.number, give.count, datagram[wire.GIVE_BYTES :]
