"""Frames that a worker sends anyway, and their answers; none of them changes the server's weights.

The question for weights (INIT without any) passes every engine like other traffic and is answered by the
parameter server. An update must be known to the engine, and its ACK come back to this worker: it has a
gradient of zeros and a reward of -∞, which no reward gate lets pass and no running average counts.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass

from olaf import serial
from olaf.doctor.finding import Finding, fault, ok, skipped, warning
from olaf.transport import wire
from olaf.transport.port import Address
from olaf.transport.segments import Segments
from olaf.worker.silence import unacknowledged, unanswered

_SO_NO_CHECK = 11
_TRIES = 4


@dataclass(frozen=True)
class Answer:
    """A frame that came back."""

    header: wire.Olaf
    status: wire.OlafStatus | None
    """Where an engine put one in."""

    @property
    def has_weights(self) -> bool:
        """Whether the server has a model, by its INIT."""
        return (self.header.seq, self.header.count) != (0, 0)


@dataclass(frozen=True)
class Silence:
    """Nothing came back; ``refused`` if the server's machine reports that no program listens there."""

    refused: bool


class Prober:
    """One UDP socket to the parameter server."""

    def __init__(self, server: Address, local: Address, wait: float) -> None:
        """``wait`` is in seconds, for each question. Raises OSError when ``local`` cannot be bound."""
        self._wait = wait
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_NO_CHECK, 1)
            self._socket.bind(local)
            self._socket.connect(server)
        except OSError:
            self._socket.close()
            raise

    @property
    def port(self) -> int:
        """This end's UDP port."""
        number: int = self._socket.getsockname()[1]
        return number

    def close(self) -> None:
        self._socket.close()

    def ask(self, epochs: list[int]) -> Answer | Silence:
        """Ask for the weights of segment 0, once in each of ``epochs``, until one is answered."""
        datagrams = [_header(wire.FrameType.INIT, epoch, seq=1) for epoch in epochs]
        return self._exchange(datagrams, wire.FrameType.INIT)

    def update(self, epoch: int, segments: Segments) -> Answer | Silence:
        """Send an update of zeros for segment 0, until an ACK comes."""
        header = _header(wire.FrameType.UPDATE, epoch, seq=time.monotonic_ns() & 0xFFFFFFFF)
        return self._exchange([header + bytes(4 * segments.length(0))], wire.FrameType.ACK)

    def _exchange(self, datagrams: list[bytes], wanted: wire.FrameType) -> Answer | Silence:
        refused = False
        for _ in range(_TRIES):
            until = time.monotonic() + self._wait / _TRIES
            for datagram in datagrams:
                with suppress(OSError):
                    self._socket.send(datagram)
            while (left := until - time.monotonic()) > 0:
                self._socket.settimeout(left)
                try:
                    received = self._socket.recv(65536)
                except TimeoutError:
                    break
                except ConnectionRefusedError:
                    refused = True
                    continue
                except OSError:
                    continue
                if (answer := _read(received)) is not None and answer.header.frame_type == wanted:
                    return answer
        return Silence(refused)


def examine_server(
    prober: Prober, epoch: int, segments: Segments | None, mtu: int | None
) -> Generator[Finding, None, tuple[Answer, Segments | None] | None]:
    """Whether a parameter server answers, in which epoch, and for which model.

    Returns its answer, if any, and the division that a worker then uses: the server's, where its segments fit
    ``mtu``; None where it keeps its own.
    """
    answer = prober.ask([epoch])
    if isinstance(answer, Silence):
        answer = prober.ask([other for other in range(wire.EPOCHS) if other != epoch])
        if isinstance(answer, Silence):
            yield _unanswered(answer)
            return None
        theirs = answer.header.epoch
        yield fault(
            "epoch",
            f"the parameter server is in epoch {theirs}, this worker in {epoch}",
            f"give the worker epoch={theirs}, or join by olaf://CLUSTER@ENGINE, which tells it",
        )
    else:
        yield ok("server", f"a parameter server answers in epoch {epoch}")
    taken = _taken_over(answer, segments, mtu)
    yield _model(answer, taken)
    return answer, taken


def _unanswered(silence: Silence) -> Finding:
    if silence.refused:
        what = "the server's machine is reached, but no program listens there"
        return fault("server", what, "start olafctl server, or give its port")
    return fault("server", *unanswered())


def _taken_over(answer: Answer, segments: Segments | None, mtu: int | None) -> Segments | None:
    if segments is None or mtu is None or answer.header.seq != segments.values:
        return segments
    try:
        theirs = Segments(answer.header.seq, answer.header.count)
    except ValueError:
        return segments
    return theirs if theirs.size <= wire.packet_values(mtu) else segments


def _model(answer: Answer, segments: Segments | None) -> Finding:
    if not answer.has_weights:
        return ok("model", "the server has no weights yet: the first worker gives it some")
    values, count = answer.header.seq, answer.header.count
    if segments is None:
        return ok("model", f"{values} values in {count} segments")
    if (values, count) == (segments.values, segments.count):
        return ok("model", f"{values} values in {count} segments, as here")
    return fault(
        "model",
        f"the server trains {values} values in {count} segments, "
        f"here are {segments.values} in {segments.count}",
        "give every member the same model, mtu and segments",
    )


def examine_engine(prober: Prober, server: Answer, segments: Segments | None) -> Iterator[Finding]:
    """Whether an engine knows this worker, and its ACK comes back with the queue's status.

    ``server`` is what the parameter server answered before.
    """
    if segments is None:
        yield skipped("engine", "give --values to send an update of zeros through the engine")
        return
    if not server.has_weights:
        yield skipped(
            "engine", "without weights the server answers no update: begin training, then ask again"
        )
        return
    epoch = server.header.epoch
    answer = prober.update(epoch, segments)
    if isinstance(answer, Silence):
        why, remedy = unacknowledged(epoch, prober.port)
        yield fault("engine", f"no ACK in {_TRIES} tries: {why}", remedy)
    elif answer.status is None:
        yield fault(
            "engine",
            "the ACK carries no queue status: no engine on the way knows this address as a worker's",
            "add the worker to the testbed's cluster, or olafctl worker join CLUSTER ADDRESS",
        )
    else:
        status = answer.status
        yield ok(
            "engine",
            f"the ACK came through an engine: {status.active_clusters} active indices, {status.occupancy} of "
            f"{status.slots} slots taken",
        )
        if status.flags & wire.StatusFlag.FULL:
            yield warning(
                "queue", "the queue is full", "more slots, a faster output, or transmission control"
            )
    if not isinstance(answer, Silence) and answer.header.policy != server.header.policy:
        yield warning(
            "policy",
            "the server applied an update of zeros: it adds every worker's steps (policy plain), so that the "
            "effective rate grows with the number of workers",
            "olafctl server --policy plain --workers N takes their mean; nothing, where the sum is wanted, N "
            "is in use already, or another worker trains here now",
        )


def _header(kind: wire.FrameType, epoch: int, seq: int) -> bytes:
    """Of segment 0; an INIT's ``seq`` is the model's length, here of the smallest model that there is."""
    now = time.time_ns() % (1 << serial.TIME_BITS)
    return wire.Olaf(wire.VERSION, kind, epoch, 0, 1, seq, float("-inf"), now, 0, 0).pack()


def _read(datagram: bytes) -> Answer | None:
    try:
        header = wire.Olaf.unpack(datagram)
        marked = bool(header.flags & wire.Flag.STATUS)
        status = wire.OlafStatus.unpack(datagram[wire.OLAF_BYTES :]) if marked else None
    except struct.error:
        return None
    return Answer(header, status) if header.version == wire.VERSION else None
