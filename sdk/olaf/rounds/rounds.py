"""Sums over all members of an iswitch cluster, exactly once each (iSwitch §3).

A vector travels in chunks of one frame. Each segment of the cluster is a lane of the engine: it works on one
round at a time, and its next chunk follows when the round's result is here. All members reduce vectors of
the same lengths in the same order, so a chunk has the same lane and round everywhere, and no member is more
than one round ahead of another.

What is lost is sent again: a contribution after a growing pause (the engine drops one it has), and after
``_SILENT_TRIES`` silent tries Help asks the other members for the result, which each keeps for one round.

A result that was lost on the way to everyone is made again. In a cluster, the control plane clears the
engine's round. At a fixed address no control plane does that, so a chunk has several numbers: a member
that hears from all others that they lack the result, too, contributes the chunk under its next number, and
those that hear of the higher number follow. From the engine a member takes only the number that it has
contributed to last; from a member any number of its chunk. No agreement is needed, the engine makes it: a sum
of a higher number needs every member, and one that has the result of a lower number stops contributing. So
all members have the same sum, of the same number.

At a fixed address a job that cannot go on fails in seconds at every member: when a member does not answer any
more, has left or given up, or when no number of a chunk has brought a result.

H is the number of all members' updates, so a sum is the same bits for every member. It is made in the order
of arrival: of two members it is always the same; of n members two orders differ by at most
2·(n-1)·2^-24·Σ|x_i| in each value.
"""

from __future__ import annotations

import ipaddress
import logging
import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from olaf.errors import NoAnswer
from olaf.rounds.lane import NUMBERS, Lane, Peers, Reduction, Then, chunk_of
from olaf.serial import ROUND_BITS, TIME_BITS, newer
from olaf.transport import wire
from olaf.transport.address import Cluster
from olaf.transport.frames import job
from olaf.transport.membership import Membership, genuine, is_control, key_of
from olaf.transport.port import Address, Port, Run
from olaf.transport.segments import STANDARD_MTU, Vector, payload, values_of

_LOG = logging.getLogger("olaf")
_SILENT_TRIES = 3
_JOIN_AGAIN = 8
"""Silent tries between one Join and the next."""
_REPORT = 10.0
"""Seconds a round may last before the log names it."""


@dataclass
class RoundCounters:
    """Counts of frames."""

    sent: int = 0
    again: int = 0
    """Contributions sent again."""
    helps: int = 0
    """Requests for a result."""
    helped: int = 0
    """Results given to others."""
    remade: int = 0
    """Rounds, not frames, that were begun because the result of the one before reached no member."""
    results: int = 0
    partial: int = 0
    """Results that were forced before all had contributed; scaled to stand for all."""
    repeated: int = 0
    """Results of rounds that were over."""
    refused: int = 0
    """Datagrams of another epoch, length or type, or that are not Olaf frames."""


class Rounds:
    """One member of an iswitch cluster."""

    def __init__(
        self,
        port: Port,
        where: Address | Cluster,
        members: int,
        *,
        segments: int = 1,
        mtu: int = STANDARD_MTU,
        epoch: int = 0,
        peers: Sequence[Address] = (),
        key: str = "",
        wait: float = 10.0,
        limit: float = 1800.0,
    ) -> None:
        """``where`` is the server address that contributions go to, or a cluster to join.

        ``members`` is H, the number of worker updates in a sum. ``segments`` and ``epoch`` count for a fixed
        address only. There, Help goes straight to ``peers``; in a cluster to the control plane, which
        forwards it. A round that lasts longer than ``limit`` seconds fails, and with it all that follow.

        Raises ValueError for an epoch that no frame carries, JoinRefused, and NoAnswer when the control plane
        does not answer within ``wait`` seconds.
        """
        self.counters = RoundCounters()
        self.members, self.peers = members, list(peers)
        self._port, self._epoch = port, job(epoch)
        self._size, self._limit = wire.packet_values(mtu), limit
        self._failure: NoAnswer | None = None
        self._lanes: list[Lane] = []
        self._membership: Membership | None = None
        self._left = False
        if isinstance(where, Cluster):
            self._membership = Membership(port, where, 0, wire.MemberRole.WORKER, key_of(key))
            joined = self._membership.admit(wait)
            if joined.threshold != members:
                # Before the first round: members that join one after the other must not end rounds alone.
                self._membership.set_threshold(members, wait)
            self._server, self._epoch, segments = joined.server, joined.epoch, joined.segments
        else:
            self._server = where
        self._lanes = [Lane(segment) for segment in range(segments)]
        self._others = Peers(port, self._epoch)
        port.serve(self)

    @property
    def server(self) -> Address:
        """The address that contributions go to."""
        return self._server

    @property
    def segments(self) -> int:
        """Lanes of the engine."""
        return len(self._lanes)

    def open(self, segments: Sequence[int], first: int, seconds: float) -> dict[int, int]:
        """Sum ones over all members in these idle segments' rounds from ``first`` on; they go on from there.

        Each is a whole segment, so that a queue with shorter slots fails here and not within the job.

        Returns those that did not make it in time, each with the number of updates in what came instead, 0
        if nothing came.
        """
        ones = {segment: np.ones(self._size, np.float32) for segment in segments}
        with self._port.lock:
            for segment, one in ones.items():
                lane = self._lanes[segment]
                lane.round, lane.kept = chunk_of(first), None
                lane.waiting.append((Reduction(one, 1, lambda failure: None), slice(0, self._size)))
                self._begin_round(lane)
            if self._membership is None and segments:
                # A peer that answers now and is silent later has died.
                self._others.ask_peers(self.peers, segments[0], self._lanes[segments[0]].round)
        self._port.wake()
        lanes = [self._lanes[segment] for segment in segments]
        self._port.wait(lambda: not any(lane.waiting for lane in lanes), seconds)
        with self._port.lock:
            for lane in lanes:
                lane.waiting.clear()
            return {
                lane.segment: 0 if lane.kept is None else lane.kept[0].count
                for lane in lanes
                if lane.kept is None or lane.kept[0].count != self.members
            }

    def unopened(self, segments: Sequence[int], counts: Sequence[int]) -> str:
        """Say why no round begins in these segments, where ``counts`` updates were in what came instead."""
        where = f"{self._server[0]}:{self._server[1]}"
        if counts:
            return (
                f"the engine before {where} ends rounds with {counts[0]} updates, but this job has "
                f"{self.members} members: set the cluster's threshold to {self.members}"
            )
        answered = len(self._lanes) - len(segments)
        if answered:
            return (
                f"the engine before {where} makes no sums in segments {', '.join(map(str, segments))} of "
                f"{len(self._lanes)}: give OLAF_SEGMENTS as many as the testbed gives the cluster"
            )
        return (
            f"the engine before {where} made no sum of all {self.members} members: is the cluster in iswitch "
            f"mode with a threshold of {self.members}, in epoch {self._epoch}, do its slots hold segments of "
            f"{self._size} values (OLAF_MTU), and is each member known there by its address and UDP port "
            "(OLAF_LOCAL)? olaf-doctor reports which"
        )

    def start(self, vector: Vector, then: Then = lambda failure: None) -> Reduction:
        """Begin to replace ``vector`` (n,), contiguous binary32, by its sum over all members.

        ``then`` is called when it is done or has failed, on the port's thread. Raises ValueError for
        another type, and NoAnswer when an earlier round has failed.
        """
        if vector.dtype != np.float32 or vector.ndim != 1 or not vector.flags.c_contiguous:
            raise ValueError("only contiguous vectors of binary32 can be summed")
        chunks = -(-len(vector) // self._size)
        reduction = Reduction(vector, chunks, then)
        with self._port.lock:
            if self._failure is not None:
                raise self._failure
            for number in range(chunks):
                place = slice(number * self._size, min((number + 1) * self._size, len(vector)))
                lane = self._lanes[number % len(self._lanes)]
                lane.waiting.append((reduction, place))
                if len(lane.waiting) == 1:
                    self._begin_round(lane)
        if not chunks:
            then(None)
        self._port.wake()
        return reduction

    def reduce(self, vector: Vector) -> None:
        """Call ``start``, and wait for the end. Raises NoAnswer, saying what is missing."""
        reduction = self.start(vector)
        while not self._port.wait(lambda: reduction.done or reduction.failure is not None, self._limit):
            pass
        if reduction.failure is not None:
            raise reduction.failure

    def leave(self) -> None:
        """Sum no more: members that wait for another round fail; those that miss a result still get it."""
        with self._port.lock:
            self._left = True

    def close(self) -> None:
        """Leave, and give the socket back; members that miss a result can no longer have it from here."""
        if self._membership is not None:
            self._membership.leave()
        self._port.close()

    def receive(self, run: Run, source: Address) -> None:
        """Receive results, Help of another member, or garbage."""
        for datagram in run:
            self._receive_datagram(datagram, source)

    def tick(self) -> float | None:
        """Send again what was not answered, then ask for help."""
        now = self._port.now()
        due = []
        if self._membership is not None:
            due.append(self._membership.tick())
            if self._membership.joined is not None:
                self._epoch = self._membership.joined.epoch
        for lane in self._lanes:
            if not lane.waiting:
                continue
            if now >= lane.due:
                self._send_again(lane, now)
            due.append(lane.due if lane.waiting else None)
        return min((time for time in due if time is not None), default=None)

    def _receive_datagram(self, datagram: memoryview, source: Address) -> None:
        if is_control(datagram):
            self._take_control(datagram, source)
            return
        try:
            header = wire.Olaf.unpack(datagram)
            values = values_of(datagram[wire.OLAF_BYTES :])
        except (struct.error, ValueError):
            self.counters.refused += 1
            return
        if (
            header.version != wire.VERSION
            or header.frame_type != wire.FrameType.RESULT
            or header.epoch != self._epoch
            or header.segment >= len(self._lanes)
            or header.count < 1
        ):
            self.counters.refused += 1
            return
        lane = self._lanes[header.segment]
        from_member = source in self.peers
        if from_member:
            self._others.note_answer(source)
        expected = chunk_of(header.seq) == chunk_of(lane.round) if from_member else header.seq == lane.round
        if not lane.waiting or not expected:
            self.counters.repeated += 1
            return
        reduction, place = lane.waiting[0]
        if len(values) != place.stop - place.start:
            self.counters.refused += 1
            return
        self.counters.results += 1
        if header.count < self.members:
            self.counters.partial += 1
            values = values * np.float32(self.members / header.count)
        lane.kept = header, bytes(datagram[wire.OLAF_BYTES :])
        lane.round = chunk_of(lane.round + NUMBERS)
        lane.waiting.popleft()
        self._others.all_there()
        reduction.note_arrival(place, values)
        if lane.waiting:
            self._begin_round(lane)

    def _begin_round(self, lane: Lane) -> None:
        lane.began, lane.reported = self._port.now(), False
        self._try_again(lane)

    def _try_again(self, lane: Lane) -> None:
        """Contribute under the lane's number, for the first time."""
        lane.tries = 0
        lane.lacking.clear()
        lane.due = self._port.now() + lane.next_pause()
        self._contribute_chunk(lane)

    def _send_again(self, lane: Lane, now: float) -> None:
        lane.tries += 1
        lane.due = now + lane.next_pause()
        self.counters.again += 1
        self._contribute_chunk(lane)
        if lane.tries >= _SILENT_TRIES:
            self._ask_help(lane)
        if lane.tries % _JOIN_AGAIN == 0 and self._membership is not None:
            self._membership.join()  # a control plane that began again may have another epoch for us
        if now - lane.began > _REPORT and not lane.reported:
            lane.reported = True
            _LOG.warning("%s", self._list_missing())
        if now - lane.began > self._limit:
            self._give_up(f"after {self._limit:g} s {self._list_missing()}")
        elif dead := self._others.find_dead():
            (host, number), silent = dead
            self._give_up(
                f"member {host}:{number} has not answered for {silent:.0f} s: {self._list_missing()}"
            )

    def _give_up(self, reason: str) -> None:
        self._failure = NoAnswer(reason)
        failed = [reduction for lane in self._lanes for reduction, _ in lane.waiting]
        for lane in self._lanes:
            lane.waiting.clear()
        for reduction in failed:
            reduction.fail_with(self._failure)

    def _contribute_chunk(self, lane: Lane) -> None:
        reduction, place = lane.waiting[0]
        now = self._port.wall() % (1 << TIME_BITS)
        header = wire.Olaf(
            wire.VERSION, wire.FrameType.UPDATE, self._epoch, 0, 1, lane.round, 0.0, now, lane.segment, 0
        )
        self.counters.sent += self._port.send(self._server, header.pack(), payload(reduction.vector[place]))

    def _ask_help(self, lane: Lane) -> None:
        self.counters.helps += 1
        if self._membership is not None:
            self._membership.help(lane.segment, lane.round)
            return
        self._others.ask_peers(self.peers, lane.segment, lane.round)
        self._remake_round(lane)

    def _remake_round(self, lane: Lane) -> None:
        """Contribute under the next number if no member has the result."""
        if lane.tries < _SILENT_TRIES or len(lane.lacking) < self.members - 1:
            return
        if lane.round % NUMBERS == NUMBERS - 1:
            self._give_up(f"{NUMBERS} sums in turn reached no member: {self._list_missing()}")
            return
        self._follow_number(lane, lane.round + 1)
        self._others.ask_peers(self.peers, lane.segment, lane.round)

    def _follow_number(self, lane: Lane, number: int) -> None:
        self.counters.remade += 1
        lane.round = number
        self._try_again(lane)

    def _take_control(self, datagram: memoryview, source: Address) -> None:
        help_ = None
        if self._membership is not None:
            help_ = self._membership.take(datagram)
        elif datagram[0] == wire.ControlAction.HELP and genuine(
            datagram, wire.HELP_BYTES, b"", self._port.address
        ):
            help_ = wire.Help.unpack(datagram)
        elif (
            datagram[0] == wire.ControlAction.ACK
            and source in self.peers
            and genuine(datagram, wire.ANSWER_BYTES, b"", self._port.address)
        ):
            self._take_answer(wire.Answer.unpack(datagram), source)
        if help_ is None or help_.segment >= len(self._lanes):
            return
        lane = self._lanes[help_.segment]
        if self._membership is None and source in self.peers:
            self._others.note_answer(source)
        kept = lane.kept
        if kept is None or chunk_of(kept[0].seq) != chunk_of(help_.round):
            if self._membership is None and source in self.peers:
                self._note_lack(lane, help_.round, source)
            return
        kept[0].epoch = self._epoch
        asker = (str(ipaddress.IPv4Address(help_.asker_addr)), help_.asker_port)
        self._port.send(asker if help_.asker_addr else source, kept[0].pack(), kept[1])
        self.counters.helped += 1

    def _note_lack(self, lane: Lane, number: int, peer: Address) -> None:
        """Note that a member lacks a result that this one does not have, either."""
        if self._failure is not None or self._left:
            self._others.answer_peer(peer, wire.Reason.FAILED if self._failure else wire.Reason.NOT_A_MEMBER)
            return
        self._others.answer_peer(peer, wire.Reason.OK)
        if not lane.waiting or chunk_of(number) != chunk_of(lane.round):
            return
        if newer(number, lane.round, ROUND_BITS):
            self._follow_number(lane, number)
        if number == lane.round:
            lane.lacking.add(peer)
            self._remake_round(lane)

    def _take_answer(self, answer: wire.Answer, peer: Address) -> None:
        """Take the answer of a member without the result: it will have it, or it has ended."""
        self._others.note_answer(peer)
        ended = self._others.note_end(answer)
        if ended and any(lane.waiting and lane.tries >= _SILENT_TRIES for lane in self._lanes):
            self._give_up(f"member {peer[0]}:{peer[1]} {ended}: {self._list_missing()}")

    def _list_missing(self) -> str:
        waiting = [f"{lane.round} of segment {lane.segment}" for lane in self._lanes if lane.waiting]
        return (
            f"no result of round {', '.join(waiting)} from {self._server[0]}:{self._server[1]}; "
            f"{self.counters.results} results came before, {self.counters.refused} frames were refused: "
            "is every member running, known to the engine, and in the same epoch?"
        )
