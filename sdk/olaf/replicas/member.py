"""A member's part in the protocol: one party of a port, in one of three states.

It *joins* until it has what the others have, or *opens* a numbering if none exists; then it is a
*member*, which applies a step as soon as the sum of every segment is decided. It falls back to joining when
the others have opened another numbering, have gone on without it, or hold other results than it does.
"""

from __future__ import annotations

import logging
import struct
import zlib
from dataclasses import dataclass
from typing import Callable

from olaf.errors import JoinRefused, NoAnswer, OlafError
from olaf.replicas.commits import Commits
from olaf.replicas.gaps import Gaps
from olaf.replicas.group import Group, MemberLine, MemberState, Peer
from olaf.replicas.joining import Joining
from olaf.replicas.ledger import Ledger, ResultOutcome
from olaf.replicas.trained import PAUSE, Opening, Snapshot, Trained
from olaf.serial import ROUND_BITS
from olaf.transport import wire
from olaf.transport.membership import Membership, is_control
from olaf.transport.pieces import Giver, What
from olaf.transport.port import Address, Port, Run
from olaf.transport.segments import Vector, values_of

_LOG = logging.getLogger("olaf")
_RESTARTED = 1.0
"""Seconds of nothing but odd results after which the engine counts as restarted."""
_ASK_AGAIN = 0.5
"""Seconds from one question to the control plane to the next."""
_STALLED = 3.0
"""Seconds without a result until a member requests its place from the control plane again."""
_OPENING = 15.0
"""Seconds without any result, besides the time that its zeros take, after which opening has failed."""
_BEYOND = 64
"""Results that come after the last one that is wanted."""
_EARLY = 4096
"""Results that are kept while a member joins."""


@dataclass
class MemberCounters:
    """Results in frames; everything else in times."""

    results: int = 0
    repeated: int = 0
    """Results that were known, or decided otherwise."""
    odd: int = 0
    """Results of other bits under a number that was decided."""
    refused: int = 0
    """Datagrams of another epoch, length or type, of no member, or that are not messages."""
    opened: int = 0
    """Numberings opened here: the first, or one after the engine began again."""
    snapshots: int = 0
    """Snapshots taken from a member."""
    fell_back: int = 0
    """Times that this one had to come over to what others have."""
    diverged: int = 0
    """Restarts among these because its results differed from theirs."""


class Member:
    """One member of a training."""

    def __init__(
        self,
        port: Port,
        server: Address,
        trained: Trained,
        group: Group,
        commits: Commits,
        joining: Joining,
        giver: Giver,
        manifest: list[str],
        wanted: int,
        until: int | None,
        limit: float,
        stepped: Callable[[], object],
        membership: Membership | None,
    ) -> None:
        """``wanted`` is H; all else as for ``Replica``."""
        self.counters = MemberCounters()
        self.failure: OlafError | None = None
        self.group, self.commits, self.joining, self.giver = group, commits, joining, giver
        self.ledger = Ledger(commits.segments)
        self.gaps = Gaps(port, self.ledger, group, commits, wanted)
        self.trained, self.until = trained, until
        self._port, self._server, self._manifest = port, server, manifest
        self._wanted, self._limit, self._stepped = wanted, limit, stepped
        self._membership = membership
        self._opening: Opening | None = None
        self._early: dict[tuple[int, int], tuple[int, bytes]] = {}
        """Results that came while this one joined, by segment and the engine's number."""
        self._odd: float | None = None
        """Time since which the engine has given nothing but odd results."""
        self._progress = self._requested = port.now()
        """Times of the last progress, and of the last request to the control plane."""

        group.refresh = self._report_state

    @property
    def joined(self) -> bool:
        """Whether this one has all that the others have."""
        return self.group.me.state is MemberState.MEMBER

    @property
    def done(self) -> bool:
        """Whether ``until`` steps have been applied."""
        return self.until is not None and self.ledger.version >= self.until

    @property
    def level(self) -> bool:
        """Whether all members that answer are known to have the same results."""
        here = [peer for peer in self.group.peers.values() if not peer.absent]
        version, chain = self.ledger.version, self.ledger.chain
        same = all(
            (peer.state, peer.version, peer.chain) == (MemberState.MEMBER, version, chain) for peer in here
        )
        return self.joined and same

    def receive(self, run: Run, source: Address) -> None:
        """Receive results, members' reports and control messages; count garbage."""
        for datagram in run:
            if self.failure is not None:
                return
            try:
                if is_control(datagram):
                    self._take_message(datagram, source)
                else:
                    self._take_result(datagram)
            except (struct.error, ValueError):
                self.counters.refused += 1

    def tick(self) -> float | None:
        """Tell members, ask them, send again and join, as far as it is due."""
        now = self._port.now()
        if self.failure is not None:
            return self.group.tick(now, True)
        due = [self._take_control(now)]
        due.append(self.group.tick(now, self.joined))
        if self.joined:
            due.append(self.gaps.tick(now))
            if self.gaps.behind:
                due.append(self.joining.tick(now))
            self._watch_silence(now)
        elif self._opening is not None:
            due.append(self._opening.tick(now))
            if now - self._progress > _OPENING + PAUSE * self._wanted:
                self._fail_training(NoAnswer(self._list_unopened(self._opening)))
        elif self.joining.founds:
            self._open_numbering()
            due.append(now)
        else:
            due.append(self.joining.tick(now))
            self._admit_member()
            self._is_forsaken()
        due.append(self.commits.send_due(now))
        return min((time for time in due if time is not None), default=None)

    def _report_state(self) -> None:
        """Bring this member's report up to date."""
        me, ledger = self.group.me, self.ledger
        me.version, me.chain, me.newest = ledger.version, ledger.chain, max(ledger.newest)

    def _take_control(self, now: float) -> float | None:
        """Let the membership send what is due, where there is a control plane."""
        if self._membership is None:
            return None
        if self.joined and now - max(self._progress, self._requested) >= _STALLED:
            self._requested = now
            self._membership.join()  # a restarted control plane may have another epoch
        elif not self.joined and self.joining.lonely and now - self._requested >= _ASK_AGAIN:
            self._requested = now
            self._membership.help(0, 0)  # it goes to another member, which then knows this one
        due = self._membership.tick()
        if self._membership.joined is not None:
            self.commits.epoch = self._membership.joined.epoch
        self.gaps.halted = self._membership.halted
        return due

    def _take_message(self, datagram: memoryview, source: Address) -> None:
        action = datagram[0]
        if action == wire.Talk.TELL:
            self._take_report(self.group.hear_report(datagram, source))
        elif action == wire.Talk.ASK:
            self.gaps.answer_question(datagram, source)
        elif action == wire.Talk.LACK:
            self.gaps.take_answer(datagram, source)
            self._apply_steps()
        elif action == wire.Talk.GIVE:
            given = self.gaps.take_given(datagram, source)
            if given is None or not self.joined:
                self.counters.refused += 1
                return
            segment, number, count, body = given
            self._take_values(segment, number, count, values_of(body), True)
        elif action == wire.Talk.FETCH:
            self._give_snapshot(datagram, source)
        elif action == wire.Talk.PIECE:
            taker = self.joining.taker
            whole = None if taker is None else taker.take_piece(datagram, source)
            if taker is not None and whole is not None:
                self._take_snapshot(taker.what, whole, source)
        elif self._membership is not None:
            help_ = self._membership.take(datagram)
            if help_ is not None and help_.asker_addr:
                self.group.meet_peer(help_.asker_addr, help_.asker_port)
        else:
            self.counters.refused += 1

    def _take_result(self, datagram: memoryview) -> None:
        header = wire.Olaf.unpack(datagram)
        values = values_of(datagram[wire.OLAF_BYTES :])
        segments = self.ledger.segments
        if (
            header.version != wire.VERSION
            or header.frame_type != wire.FrameType.RESULT
            or header.epoch != self.commits.epoch
            or header.segment >= segments.count
            or header.count < 1
            or len(values) != segments.length(header.segment)
        ):
            self.counters.refused += 1
        elif self._opening is not None:
            self._progress = self._port.now()
            bases = self._opening.came(header.segment, header.seq)
            if bases is not None:
                self._has_opened(bases)
        elif not self.joined:
            if len(self._early) >= _EARLY:
                del self._early[next(iter(self._early))]
            self._early[header.segment, header.seq] = header.count, values.tobytes()
        else:
            number = self.ledger.number_of(header.segment, header.seq)
            self._take_values(header.segment, number, header.count, values, False)

    def _take_values(self, segment: int, number: int, count: int, values: Vector, member: bool) -> None:
        if self.until is not None and self.until < number <= self.until + _BEYOND:
            self.counters.repeated += 1
            self.ledger.note_seen(segment, number)  # so that the last ones are missed, too
            return
        outcome = self.ledger.take_result(segment, number, count, values, member)
        if outcome is ResultOutcome.NEW:
            self.counters.results += 1
            self._progress = self._port.now()
            self.commits.note_answer(segment)
            if not member:
                self._odd = None
                self.gaps.note_result()
            self._apply_steps()
        elif outcome is ResultOutcome.ODD:
            self.counters.odd += 1
            self._odd = self._port.now() if self._odd is None else self._odd
        elif outcome is ResultOutcome.OVER:
            self.counters.repeated += 1
        else:
            self.counters.refused += 1

    def _apply_steps(self) -> None:
        """Apply all steps that are decided."""
        while not self.done and (step := self.ledger.next_step()) is not None:
            self.trained.step(step.compute_mean(self.ledger.segments))
            self.ledger.pinned = self.giver.version
            self.ledger.note_applied(step, self.trained.weights if self.ledger.looks else None)
            self.commits.note_step()
            self.gaps.note_step()
            self.gaps.counters.voids += int((step.counts == 0).sum())
            self._progress = self._port.now()
            if self.done:
                self.group.report_soon()
            self._stepped()

    def _take_report(self, peer: Peer | None) -> None:
        """Handle another member's report."""
        me = self.group.me
        if peer is None or me.state is MemberState.OPENING:
            return
        if self.group.was_expelled(peer):
            self._fall_back(f"member {_name_member(peer.address)} and others went on without this one")
        elif self.joined and peer.state is MemberState.MEMBER:
            if peer.line.is_newer(me.line):
                self._fall_back(f"member {_name_member(peer.line.leader)} has opened another numbering")
            elif peer.line == me.line and self._compare_chain(peer):
                self.counters.diverged += 1
                self._fall_back(f"member {_name_member(peer.address)} has other results", peer.address)

    def _compare_chain(self, peer: Peer) -> bool:
        """Return whether this member comes over to ``peer``, which has other results: always the same one of
        two."""
        return peer.address < self.group.own and self.ledger.chain_differs(peer.version, peer.chain)

    def _fall_back(self, why: str, giver: Address | None = None) -> None:
        """Have everything from the others once more, or from that one."""
        _LOG.warning("%s: it takes a snapshot and goes on from there", why)
        self.counters.fell_back += 1
        self.group.begin_again()
        self.group.me.state, self.group.me.line = MemberState.JOINING, MemberLine()
        self._forget_numbering()
        self.joining.begin_joining(giver)

    def _forget_numbering(self) -> None:
        """Drop everything of this numbering."""
        self.ledger.clear()
        self.commits.clear()
        self.giver.forget_version()
        self._early.clear()
        self._odd, self._opening = None, None
        self._progress = self._port.now()
        self.gaps.begin_numbering()
        self.group.report_soon()

    def _open_numbering(self) -> None:
        """Open a numbering from this version on."""
        self._forget_numbering()
        self.group.me.state = MemberState.OPENING
        self._opening = Opening(self.commits, self.ledger.segments.count, self._port.now())

    def _has_opened(self, bases: list[int]) -> None:
        me, version = self.group.me, self.ledger.version
        era = 1 + max([me.line.era, *(peer.line.era for peer in self.group.peers.values())])
        identity = zlib.crc32(f"{self.group.own} {self._port.wall()}".encode())
        self._forget_numbering()
        me.line, me.state = MemberLine(era, self.group.own, identity), MemberState.MEMBER
        first = [(base - version) % (1 << ROUND_BITS) for base in bases]
        self.ledger.begin_at(version, zlib.crc32(self.trained.weights.tobytes()), first)
        self.counters.opened += 1
        self._stepped()

    def _give_snapshot(self, datagram: memoryview, source: Address) -> None:
        """Give pieces of this member's state."""

        def state() -> tuple[int, bytes]:
            ledger = self.ledger
            line, saved = self.group.me.line, self.trained.save()
            snapshot = Snapshot(line, ledger.version, ledger.chain, ledger.bases, saved)
            return ledger.version, snapshot.pack()

        self.giver.give_pieces(datagram, source, self.joined, self.ledger.is_near, state)

    def _take_snapshot(self, what: What, whole: bytes, source: Address) -> None:
        """Take the state of a member, or the manifest that refuses this one."""
        if what is What.MANIFEST:
            self._fail_training(JoinRefused(self.joining.explain_refusal(whole, self._manifest, source)))
            return
        snapshot = self.joining.note_snapshot(whole)
        if snapshot is None:
            return
        if not self.joined:
            self.joining.snapshot, self.group.me.line = snapshot, snapshot.line
            self.group.report_soon()
            self._admit_member()
        elif snapshot.line == self.group.me.line and snapshot.version > self.ledger.version:
            self._load_snapshot(snapshot)

    def _admit_member(self) -> None:
        """Become a member, once all that answer know this one."""
        snapshot = self.joining.snapshot
        if snapshot is None:
            return
        if self.joining.is_outdated(snapshot):
            self._fall_back("another numbering was opened meanwhile")
            return
        fence = self.joining.is_known()
        if fence is None:
            return
        self.group.me.state = MemberState.MEMBER
        self.joining.begin_joining()
        self.ledger.fence = fence
        self._load_snapshot(snapshot)
        self.group.report_soon()
        early, self._early = self._early, {}
        for (segment, seq), (count, body) in early.items():
            number = self.ledger.number_of(segment, seq)
            self._take_values(segment, number, count, values_of(memoryview(body)), False)
        self._odd = None  # what came early may be of before the numbering

    def _load_snapshot(self, snapshot: Snapshot) -> None:
        try:
            self.trained.load(snapshot.state)
        except ValueError as error:
            self._fail_training(
                JoinRefused(f"the snapshot of version {snapshot.version} does not fit: {error}")
            )
            return
        self.counters.snapshots += 1
        self.ledger.begin_at(snapshot.version, snapshot.chain, snapshot.bases)
        self.commits.note_step()
        self.gaps.begin_numbering()
        self._progress = self._port.now()
        self._apply_steps()
        self._stepped()

    def _is_forsaken(self) -> None:
        """Fail if no member trains and the one that was to begin the training has given up."""
        for address, state in self.group.gone.items():
            if state is MemberState.FAILED and not self.group.list_established():
                self._fail_training(
                    NoAnswer(f"member {_name_member(address)} has given up, and no other one trains")
                )
                return

    def _watch_silence(self, now: float) -> None:
        """Detect an engine that has restarted, and one that no longer answers."""
        if self._odd is not None and now - self._odd >= _RESTARTED:
            here = [peer for peer in self.group.peers.values() if not peer.absent]
            level = all(peer.version <= self.ledger.version + 1 for peer in here)
            # The others give the lowest one some time: it may have noticed nothing.
            before = sum(peer.address < self.group.own for peer in here)
            if level and now - self._odd >= _RESTARTED * (1 + before):
                _LOG.warning("the engine was restarted: this member opens a new numbering")
                self._open_numbering()
        elif self.commits.waiting and not self.done and now - self._progress > self._limit:
            self._fail_training(NoAnswer(self._list_missing()))

    def _fail_training(self, failure: OlafError) -> None:
        """Fail, and report that to the others."""
        self.failure, self._opening = failure, None
        self.group.me.state = MemberState.FAILED
        self.commits.clear()
        self.group.report_soon()
        self._stepped()

    def _list_missing(self) -> str:
        numbers = [self.ledger.lowest_undecided(segment) for segment in range(self.ledger.segments.count)]
        lowest = min(numbers)
        return (
            f"no result {lowest} of segment {numbers.index(lowest)}"
            f" from {_name_member(self._server)} or a member "
            f"in {self._limit:g} s; {self.counters.results} results came before, {self.counters.refused} "
            "frames were refused: do enough members train for the engine's H, and does the engine know each "
            "of them?"
        )

    def _list_unopened(self, opening: Opening) -> str:
        missing = opening.missing()
        return (
            f"the engine before {_name_member(self._server)} made no sum"
            f" of {self._wanted} updates in segment "
            f"{missing[0]} of {self.ledger.segments.count}: is the cluster in iswitch-async mode with an H "
            f"of {self._wanted} and as many segments, in epoch {self.commits.epoch}, and is this member "
            "known there by its address and UDP port (OLAF_LOCAL)?"
        )


def _name_member(address: Address) -> str:
    return f"{address[0]}:{address[1]}"
