"""Frames that a worker sends anyway, and their answers; none of them changes the server's weights.

The question for weights (INIT without any) passes every engine like other traffic and is answered by the
parameter server. An update must be known to the engine, and its ACK come back to this worker: it has a
gradient of zeros and a reward of -∞, which no reward gate lets pass and no running average counts.
"""

from __future__ import annotations

import socket
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
    """An ACK that came back."""

    header: wire.Olaf
    status: wire.OlafStatus | None
    """Where an engine put one in."""


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

    def ask(self, epochs: list[int]) -> wire.Init | Silence:
        """Ask for the weights of segment 0, once in each of ``epochs``, until one is answered."""
        received = self._exchange([_question(epoch) for epoch in epochs], wire.FrameType.INIT)
        return received if isinstance(received, Silence) else wire.Init.unpack(received)

    def update(self, epoch: int, segments: Segments) -> Answer | Silence:
        """Send an update of zeros for segment 0, until an ACK comes."""
        received = self._exchange([_zeros(epoch) + bytes(4 * segments.length(0))], wire.FrameType.ACK)
        if isinstance(received, Silence):
            return received
        header = wire.Olaf.unpack(received)
        marked = header.flags & wire.Flag.STATUS and len(received) >= wire.OLAF_BYTES + wire.OLAF_STATUS_BYTES
        return Answer(header, wire.OlafStatus.unpack(received, wire.OLAF_BYTES) if marked else None)

    def _exchange(self, datagrams: list[bytes], wanted: wire.FrameType) -> bytes | Silence:
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
                if len(received) >= wire.OLAF_BYTES and received[0] == wire.VERSION << 4 | wanted:
                    return received
        return Silence(refused)


def examine_server(
    prober: Prober, epoch: int, segments: Segments | None, mtu: int | None
) -> Generator[Finding, None, tuple[wire.Init, Segments | None] | None]:
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
        theirs = answer.epoch
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


def _taken_over(answer: wire.Init, segments: Segments | None, mtu: int | None) -> Segments | None:
    if segments is None or mtu is None or answer.values != segments.values:
        return segments
    try:
        theirs = Segments(answer.values, answer.segments)
    except ValueError:
        return segments
    return theirs if theirs.size <= wire.packet_values(mtu) else segments


def _model(answer: wire.Init, segments: Segments | None) -> Finding:
    if not answer.segments:
        return ok("model", "the server has no weights yet: the first worker gives it some")
    values, count = answer.values, answer.segments
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


def examine_engine(prober: Prober, server: wire.Init, segments: Segments | None) -> Iterator[Finding]:
    """Whether an engine knows this worker, and its ACK comes back with the queue's status.

    ``server`` is what the parameter server answered before.
    """
    if segments is None:
        yield skipped("engine", "give --values to send an update of zeros through the engine")
        return
    if not server.segments:
        yield skipped(
            "engine", "without weights the server answers no update: begin training, then ask again"
        )
        return
    epoch = server.epoch
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
    if not isinstance(answer, Silence) and answer.header.weights_version != server.weights_version:
        yield warning(
            "policy",
            "the server applied an update of zeros: it adds every worker's steps (policy plain), so that the "
            "effective rate grows with the number of workers",
            "olafctl server --policy plain --workers N takes their mean; nothing, where the sum is wanted, N "
            "is in use already, or another worker trains here now",
        )


def _question(epoch: int) -> bytes:
    """INIT without weights, of the smallest model that exists."""
    return wire.Init(wire.VERSION, wire.FrameType.INIT, epoch, 0, 1, 1, bytes(10), 0, 0).pack()


def _zeros(epoch: int) -> bytes:
    """The header of an update of segment 0."""
    now, seq = time.time_ns() % (1 << serial.TIME_BITS), time.monotonic_ns() & 0xFFFFFFFF
    kind = wire.FrameType.UPDATE
    return wire.Olaf(wire.VERSION, kind, epoch, 0, 1, seq, float("-inf"), now, 0, 0).pack()
