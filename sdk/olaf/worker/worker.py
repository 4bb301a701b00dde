"""A worker's end of asynchronous training: offer updates, take the newest weights; neither ever waits.

A model is a run of segments, and each is a small model of its own: it is sent, merged, applied, versioned
and answered by itself, so training is block-coordinate asynchronous SGD. Segments of one update may be
applied at different times, and weights of different versions lie next to each other. Weights are therefore
adopted by segment, as they arrive; an optimiser keeps its moments, which belong to single coordinates.
"""

from __future__ import annotations

import logging
import os
import struct
from dataclasses import dataclass
from itertools import islice
from random import Random

import numpy as np

from olaf import serial
from olaf.errors import OtherModel
from olaf.guards import Dropped, as_number
from olaf.transport import frames, wire
from olaf.transport.address import Cluster, parse
from olaf.transport.membership import Membership, is_control, key_of
from olaf.transport.port import Address, Port, Run
from olaf.transport.segments import STANDARD_MTU, Segments, Vector, binary32, finite, payload, representable
from olaf.transport.udp import open_port
from olaf.worker.outbox import Mark, Outbox
from olaf.worker.received import Block, ReceivedWeights
from olaf.worker.transmission import TOLERANCE, Silence, TransmissionControl

_ASK_AGAIN = 0.25
"""Seconds until a segment without weights is requested again."""
_ASK_FOR = 64
"""Segments requested at a time, so that a busy server answers all before they are requested again."""
_SILENCE = 2.0
"""Seconds between a sent update and joining again when nothing was heard meanwhile; doubles up to _MOST."""
_MOST = 32.0
_LOG = logging.getLogger("olaf")
_TIME = (1 << serial.TIME_BITS) - 1


@dataclass
class WorkerCounters:
    """Since the worker was made; ``offered``, ``held`` and ``waited`` count updates, all others frames."""

    offered: int = 0
    held: int = 0
    """Updates that transmission control held back, to be folded into the next."""
    blocked: int = 0
    """Not sent because the socket was full; sent later, with what is offered until then."""
    waited: int = 0
    """Updates of which a part waited until what went before was answered, and went with the next."""
    sent: int = 0
    acks: int = 0
    newer: int = 0
    """Weights that were newer than what was held."""
    older: int = 0
    """Weights late, duplicated or overtaken."""
    refused: int = 0
    """Datagrams of another epoch, sender or model, or that are not Olaf frames."""
    joins: int = 0
    outages: int = 0
    """Times that the server, or the engine before it, answered again after seconds of silence."""
    broken: int = 0
    """Updates and rewards dropped because not all of their numbers were finite in binary32."""


class Worker:
    """One member of a cluster; for use by one thread, next to its own."""

    def __init__(
        self,
        server: str,
        values: int,
        *,
        mtu: int = STANDARD_MTU,
        segments: int | None = None,
        local: str | None = None,
        epoch: int = 0,
        v: float | None = None,
        delta_t: float = TOLERANCE,
        control: bool = True,
        seed: int | None = None,
        keep: int = 0,
        key: str | None = None,
        wait: float = 5.0,
        port: Port | None = None,
    ) -> None:
        """``server`` is a parameter server's ``host:port``, or ``olaf://cluster@engine`` to join there.

        ``values`` is the model's length. ``epoch`` and ``segments`` (else the server's, or as few as
        fit an ``mtu`` in bytes) are for a fixed address; a Join's answer gives both. ``local`` is where this
        worker is, else as ``udp.usual`` finds it. ``v`` (1/s) and ``delta_t`` (s) are those of OLAF §5;
        without ``control`` every update is sent. ``seed`` makes draws repeat. ``keep``: as many versions of
        the weights are remembered. ``key`` is the cluster's, else $OLAF_KEY. ``port`` stands for a socket
        bound to ``local``.

        Raises BadAddress; JoinRefused and NoAnswer (after ``wait`` s) for a cluster; OSError when ``local``
        cannot be bound; ValueError for a model that cannot be divided, a ``keep`` below 0, an epoch that no
        frame carries, and what TransmissionControl refuses.
        """
        if keep < 0:
            raise ValueError(f"{keep} versions of the weights cannot be kept; give 0 or more")
        where = parse(server)
        random = Random(seed)
        self.counters = WorkerCounters()
        self.control = TransmissionControl(v, delta_t, random, control)
        self.status: wire.OlafStatus | None = None
        """The newest queue status an ACK carried."""
        self._port: Port = port or open_port(local, where)
        self._membership: Membership | None = None
        self._server: Address | None = None
        self._mtu: int | None = None
        """MTU that packets must fit if the server has another division."""
        self._mark = Mark(frames.job(epoch))
        # Random, so that a worker that starts again is not taken for a late duplicate of itself.
        self._mark.seq = random.getrandbits(serial.ROUND_BITS)
        try:
            if isinstance(where, Cluster):
                secret = key_of(os.environ.get("OLAF_KEY", "") if key is None else key)
                self._membership = Membership(self._port, where, values, wire.MemberRole.WORKER, secret)
                self.segments = Segments(values, self._membership.admit(wait).segments)
                self._take_place()
            else:
                self._server = where
                self.segments = Segments(values, segments) if segments else Segments.of(values, mtu)
                self._mtu = None if segments else max(mtu, self._port.mtu(where))
        except BaseException:
            self._port.close()
            raise
        self._reader = frames.Reader()
        self._before: Vector | None = None
        self._keep = keep
        self._initial: Vector | None = None
        self._ask: float | None = None
        self._other: str | None = None
        self._unheard: float | None = None
        """Time since which updates have been sent and nothing came."""
        self._patience = _SILENCE
        self._begin_division(np.zeros(values, np.float32))
        self._port.serve(self)

    def _begin_division(self, weights: Vector) -> None:
        """Begin with this division into segments, and with these weights."""
        self._outbox = Outbox(self.segments, self._port.room)
        self._silence = Silence(self.segments.count)
        self._received = ReceivedWeights(self.segments, self._keep, weights)
        self._requested: set[int] = set()
        """Segments whose weights were requested and have not arrived."""
        self._given: set[int] = set()
        """Segments whose initial weights the server was given."""

    def begin(self, weights: Vector) -> None:
        """Ask for the server's weights, in the background, and offer these (values,) in case it has none.

        The first worker whose weights arrive whole initialises the server (OLAF §2.1). Raises ValueError for
        weights of another length, and such that are not finite.
        """
        initial = binary32(weights).copy()
        if initial.shape != (self.segments.values,) or not finite(initial):
            raise ValueError(f"initial weights must be {self.segments.values} finite numbers of binary32")
        with self._port.lock:
            if self._given:
                return  # a part of others has been sent
            self._initial = initial
            if self._ask is not None:
                return
            self._ask = self._port.now()
        self._port.wake()

    @property
    def begun(self) -> bool:
        """Whether the server's weights of every segment have been received."""
        return not self._received.missing

    def wait(self, seconds: float) -> bool:
        """Block until ``begun``; False after ``seconds``. Call it before the training, not within it.

        Raises OtherModel when the server's model has another length or division.
        """
        self._port.wait(lambda: self.begun or self._other is not None, seconds)
        if self._other is not None:
            raise OtherModel(self._other)
        return self.begun

    def offer(self, gradient: Vector, reward: float) -> bool:
        """Send this update (values,), or hold it back to be added to the next; whether it was sent whole.

        Everything held so far goes with it. ``reward`` is the mean episode reward; -inf if not known.
        Raises ValueError for another length, TypeError for complex numbers. An update or a reward that
        binary32 cannot hold is dropped.
        """
        gradient = binary32(gradient)
        if gradient.shape != (self.segments.values,):
            raise ValueError(f"an update of shape {gradient.shape}, but the model has {self.segments.values}")
        usable = representable(reward) and finite(gradient)
        with self._port.lock:
            self.counters.offered += 1
            if not usable:
                self.dropped("updates")
                return not self._outbox.held_from
            now, mark = self._port.now(), self._mark
            sending = not self._is_halted and self.control.draw(now)
            self.counters.held += not sending
            mark.seq = (mark.seq + 1) % (1 << serial.ROUND_BITS)
            mark.reward, mark.time = as_number(reward), self._port.wall() & _TIME
            was_due = self._outbox.next_due()
            with np.errstate(all="ignore"):
                refused = self._outbox.offer_update(
                    gradient, sending, self._received.adopted, mark, now, self._send_run
                )
            self.counters.blocked += refused
            self.counters.waited += sending and bool(self._outbox.held_from)
            # The thread must look: for silence, or for what can only be sent after a pause.
            alone = (sending and self._silence.sent(now)) or (
                was_due is None and self._outbox.next_due() is not None
            )
            if sending and self._unheard is None and self._membership is not None:
                self._unheard, alone = now, True
            if alone:
                self._port.wake()
            return not self._outbox.held_from

    def dropped(self, what: str) -> None:
        """Count numbers that are not finite in binary32, and warn the first time."""
        self.counters.broken += 1
        if self.counters.broken == 1:
            Dropped(what).add()

    @property
    def fresh(self) -> bool:
        """Whether ``poll`` would return anything."""
        return self._received.fresh

    @property
    def held(self) -> Vector:
        """Sum of updates offered and not sent, (values,): a copy."""
        with self._port.lock:
            return self._outbox.held.copy()

    @property
    def newest(self) -> Vector:
        """The server's newest weights that came (values,): a copy."""
        with self._port.lock:
            return self._received.flat.copy()

    @property
    def before_outage(self) -> Vector:
        """The server's newest weights (values,) from before the last outage; raises ValueError before one."""
        if self._before is None:
            raise ValueError("the server has answered so far")
        return self._before

    @property
    def _is_halted(self) -> bool:
        return self._membership is not None and self._membership.halted

    def poll(self) -> list[Block]:
        """Return the weights that are newer than at the last call, by segment; empty when there are none."""
        with self._port.lock:
            return self._received.take_fresh()

    def versions(self) -> list[Vector]:
        """Return the last ``keep`` versions of the weights (values,) that came, also for others, newest
        first."""
        with self._port.lock:
            return self._received.history.versions()

    def drain(self, seconds: float) -> bool:
        """Block until all that was offered is sent and answered; False after ``seconds``."""
        return self._port.wait(lambda: self._outbox.drained, seconds)

    @property
    def probability(self) -> float:
        """P_s of OLAF §5 at this moment."""
        return self.control.probability(self._port.now())

    def close(self) -> None:
        """Leave the cluster and give the socket back."""
        if self._membership is not None:
            self._membership.leave()
        self._port.close()

    def receive(self, run: Run, source: Address) -> None:
        """Receive ACKs, weights, control messages, or garbage."""
        for piece in (run,) if len(run) == 1 else frames.together(run):
            self._receive_run(piece, source)

    def tick(self) -> float | None:
        """Send what is due, request missing weights, report silence, join again after it."""
        now, due = self._port.now(), []
        if self._membership is not None:
            if self._unheard is not None and now >= self._unheard + self._patience:
                self._unheard, self._patience = now, min(2 * self._patience, _MOST)
                self._membership.join()
            due.append(self._membership.tick())
            if self._unheard is not None:
                due.append(self._unheard + self._patience)
            self._take_place()
        if self._ask is not None and now >= self._ask:
            self._ask = now + _ASK_AGAIN if self._ask_for_weights() else None
        due.append(self._ask)
        if not self._is_halted:
            self.counters.blocked += self._outbox.go_on(self._mark, now, self._send_run)
            due.append(self._outbox.next_due())
        if self._server is not None:
            port, count = self._port.address[1], self.segments.count
            if warning := self._silence.tell(now, self._server, self._mark.epoch, port, count):
                _LOG.warning("%s", warning)
            due.append(self._silence.due(now))
        return min((time for time in due if time is not None), default=None)

    def _ask_for_weights(self) -> bool:
        """Ask for the weights of as many segments as may be under way; return whether any are missing."""
        if len(self._given) >= len(self._received.missing):
            self._given.clear()  # another worker's may have initialised the server, or some were lost
        wanted = (segment for segment in self._received.missing if segment not in self._given)
        self._requested = set(islice(wanted, min(_ASK_FOR, self._outbox.window)))
        for segment in sorted(self._requested):
            self._introduce_segment(segment, b"")
        return bool(self._received.missing)

    def _take_answer(self, segment: int) -> None:
        """Take the answer to a question for a segment's weights; the next questions follow at once."""
        self._requested.discard(segment)
        if not self._requested and self._ask is not None and len(self._given) < len(self._received.missing):
            self._ask = self._port.now()

    def _take_place(self) -> None:
        """Take over the last Join's answer; another epoch is another run of the server."""
        joined = self._membership.joined if self._membership is not None else None
        if joined is None or (joined.server, joined.epoch) == (self._server, self._mark.epoch):
            return
        first = self._server is None
        self._server, self._mark.epoch = joined.server, joined.epoch
        self.counters.joins += 1
        if not first:
            self._received.forget_versions()
            self._ask = self._port.now()

    def _send_run(self, run: Run) -> int:
        """Send a run, and return how many frames of it, the first ones, were sent."""
        sent = 0 if self._server is None else self._port.send_run(self._server, run)
        self.counters.sent += sent
        return sent

    def _introduce_segment(self, segment: int, body: memoryview | bytes) -> None:
        """Send an INIT: the model's length and division; with weights for a server that has none."""
        values, count = self.segments.values, self.segments.count
        init = wire.Init(
            wire.VERSION, wire.FrameType.INIT, self._mark.epoch, 0, count, values, bytes(10), segment, 0
        )
        if self._server is not None:
            self._port.send(self._server, init.pack(), body)

    def _receive_run(self, run: Run, source: Address) -> None:
        """Receive frames of neighbouring segments, one by one if not all are ACKs of ours."""
        if is_control(run.data):
            if self._membership is not None:
                for datagram in run:
                    self._membership.take(datagram)
            return
        start = wire.OLAF_BYTES
        try:
            header = wire.Olaf.unpack(run.data)
            status = None
            if header.flags & wire.Flag.STATUS:
                start += wire.OLAF_STATUS_BYTES
                status = wire.OlafStatus.unpack(run.part(len(run) - 1, len(run)).data, wire.OLAF_BYTES)
        except struct.error:
            header = None
        ours = (
            header is not None
            and source == self._server
            and header.version == wire.VERSION
            and header.epoch == self._mark.epoch
            and header.segment + len(run) <= self.segments.count
        )
        if len(run) > 1 and not (ours and header and header.frame_type == wire.FrameType.ACK):
            for datagram in run:
                self._receive_run(Run(datagram), source)
        elif header is None or not ours:
            self.counters.refused += 1
        elif header.frame_type == wire.FrameType.ACK:
            self._take_acks(header, run, start, status)
        elif header.frame_type == wire.FrameType.INIT:
            self._take_introduction(wire.Init.unpack(run.data), run)
        else:
            self.counters.refused += 1

    def _take_acks(self, header: wire.Olaf, run: Run, start: int, status: wire.OlafStatus | None) -> None:
        """Take a run of ACKs; ``status`` is the last frame's."""
        self.counters.acks += len(run)
        self._outbox.note_answers(len(run), self._port.now(), status is not None)
        self._note_answer()
        self._silence.acknowledged(range(header.segment, header.segment + len(run)))
        self.control.acknowledged(self._port.now(), *([] if status is None else [status]))
        self.status = status or self.status
        self._take_weights(header.segment, run, start)

    def _note_answer(self) -> None:
        """Note that the server answered, perhaps after an outage."""
        self._unheard, self._patience = None, _SILENCE
        if silent := self._silence.heard(self._port.now()):
            self.counters.outages += 1
            self._before = self._received.flat.copy()
            where = "" if self._server is None else f"{self._server[0]}:{self._server[1]} "
            _LOG.warning("%sanswers again after %.0f s", where, silent)

    def _take_introduction(self, init: wire.Init, run: Run) -> None:
        """Take the server's INIT: its weights, that it has none yet, or that its model differs."""
        self._note_answer()
        if (init.values, init.segments) not in ((0, 0), (self.segments.values, self.segments.count)):
            self._take_division(init)
            return
        self._other = None
        start = wire.OLAF_BYTES + (wire.OLAF_STATUS_BYTES if init.flags & wire.Flag.STATUS else 0)
        if len(run.data) > start:
            self._given.clear()
            self._take_weights(init.segment, run, start)
            if not self.begun and self._ask is None:
                self._ask = self._port.now()
        else:
            place, weights = self.segments.slice(init.segment), self._received.flat
            if self._received.version_of(init.segment) is not None:  # it has lost what it had
                self._initial = weights.copy() if self._initial is None else self._initial
                self._initial[place] = weights[place]
                self._received.forget_version(init.segment)
            if self._initial is not None:
                self._introduce_segment(init.segment, payload(self._initial[place]))
                self._given.add(init.segment)
            self._ask = self._port.now() + _ASK_AGAIN
        self._take_answer(init.segment)

    def _take_division(self, init: wire.Init) -> None:
        """Take the server's model and division, if they differ from this worker's: the server is right.

        In no segments: those that the engine has for this cluster are too few for the model.
        """
        if not init.segments:
            self._refuse_model(
                f"the engine before the parameter server has too short slots for a model of {init.values} "
                f"values in its cluster's segments: give the testbed's cluster values: {init.values}"
            )
            return
        why = "give every member the same model and MTU"
        if init.values == self.segments.values and self._mtu is not None:
            try:
                theirs = Segments(init.values, init.segments)
            except ValueError:  # shorter than it has segments
                theirs = self.segments
                why = f"does the testbed's cluster have values: {init.values}?"
            if theirs.size > wire.packet_values(self._mtu):
                why = (
                    f"its segments do not fit the MTU of {self._mtu} bytes (mtu=); does the testbed's "
                    f"cluster have values: {init.values}?"
                )
            elif theirs.count == init.segments:
                self.segments = theirs
                self._begin_division(self._received.flat)
                if self._initial is not None:
                    self._ask = self._port.now()
                return
        self._refuse_model(
            f"the parameter server trains a model of {init.values} values in {init.segments} segments, "
            f"this one has {self.segments.values} in {self.segments.count}: {why}"
        )

    def _refuse_model(self, why: str) -> None:
        """Refuse to train this model: ``wait`` raises the reason, the log reports it once."""
        if self._other is None:
            _LOG.warning("%s", why)
        self._other = why

    def _take_weights(self, segment: int, run: Run, start: int) -> None:
        """Take weights from byte ``start`` of each frame, of neighbouring segments from ``segment`` on."""
        try:
            values = self._reader.values(run, start)
            fits = self.segments.fit(segment, len(run), (run.size - start) // 4, len(values))
        except ValueError:
            fits = False
        if not fits or not finite(values):
            if len(run) == 1:
                self.counters.refused += 1
                return
            for number, datagram in enumerate(run):
                self._take_weights(segment + number, Run(datagram), start)
            return
        kept = self._received.put(segment, values, frames.weights_versions(run), self._port.now())
        newer = sum(map(len, kept))
        self.counters.newer += newer
        self.counters.older += len(run) - newer
        if self._given:
            self._given.difference_update(*kept)
