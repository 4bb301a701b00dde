"""The whole examination, in the order in which one fault hides the next."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Generator, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass

from olaf import serial
from olaf.doctor import machine
from olaf.doctor.machine import Finding, Way, report_fault, report_ok, report_skipped, report_warning
from olaf.errors import JoinRefused, NoAnswer, OlafError
from olaf.transport import wire
from olaf.transport.address import Cluster, parse
from olaf.transport.membership import Membership
from olaf.transport.port import Address
from olaf.transport.segments import Segments
from olaf.transport.udp import UdpPort
from olaf.worker.transmission import unacknowledged, unanswered

_SO_NO_CHECK = 11
_TRIES = 4


@dataclass(frozen=True)
class EngineAnswer:
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
        received = self._exchange_datagrams([_pack_question(epoch) for epoch in epochs], wire.FrameType.INIT)
        return received if isinstance(received, Silence) else wire.Init.unpack(received)

    def update(self, epoch: int, segments: Segments) -> EngineAnswer | Silence:
        """Send an update of zeros for segment 0, until an ACK comes."""
        received = self._exchange_datagrams(
            [_pack_zeros(epoch) + bytes(4 * segments.length(0))], wire.FrameType.ACK
        )
        if isinstance(received, Silence):
            return received
        header = wire.Olaf.unpack(received)
        marked = header.flags & wire.Flag.STATUS and len(received) >= wire.OLAF_BYTES + wire.OLAF_STATUS_BYTES
        return EngineAnswer(header, wire.OlafStatus.unpack(received, wire.OLAF_BYTES) if marked else None)

    def _exchange_datagrams(self, datagrams: list[bytes], wanted: wire.FrameType) -> bytes | Silence:
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
    """Find out whether a parameter server answers, in which epoch, and for which model.

    Returns its answer, if any, and the division that a worker then uses: the server's, where its segments fit
    ``mtu``; None where it keeps its own.
    """
    answer = prober.ask([epoch])
    if isinstance(answer, Silence):
        answer = prober.ask([other for other in range(wire.EPOCHS) if other != epoch])
        if isinstance(answer, Silence):
            yield _report_silence(answer)
            return None
        theirs = answer.epoch
        yield report_fault(
            "epoch",
            f"the parameter server is in epoch {theirs}, this worker in {epoch}",
            f"give the worker epoch={theirs}, or join by olaf://CLUSTER@ENGINE, which tells it",
        )
    else:
        yield report_ok("server", f"a parameter server answers in epoch {epoch}")
    taken = _taken_over(answer, segments, mtu)
    yield _compare_model(answer, taken)
    return answer, taken


def _report_silence(silence: Silence) -> Finding:
    if silence.refused:
        what = "the server's machine is reached, but no program listens there"
        return report_fault("server", what, "start olafctl server, or give its port")
    return report_fault("server", *unanswered())


def _taken_over(answer: wire.Init, segments: Segments | None, mtu: int | None) -> Segments | None:
    if segments is None or mtu is None or answer.values != segments.values:
        return segments
    try:
        theirs = Segments(answer.values, answer.segments)
    except ValueError:
        return segments
    return theirs if theirs.size <= wire.packet_values(mtu) else segments


def _compare_model(answer: wire.Init, segments: Segments | None) -> Finding:
    if not answer.segments:
        return report_ok("model", "the server has no weights yet: the first worker gives it some")
    values, count = answer.values, answer.segments
    if segments is None:
        return report_ok("model", f"{values} values in {count} segments")
    if (values, count) == (segments.values, segments.count):
        return report_ok("model", f"{values} values in {count} segments, as here")
    return report_fault(
        "model",
        f"the server trains {values} values in {count} segments, "
        f"here are {segments.values} in {segments.count}",
        "give every member the same model, mtu and segments",
    )


def examine_engine(prober: Prober, server: wire.Init, segments: Segments | None) -> Iterator[Finding]:
    """Find out whether an engine knows this worker, and its ACK comes back with the queue's status.

    ``server`` is what the parameter server answered before.
    """
    if segments is None:
        yield report_skipped("engine", "give --values to send an update of zeros through the engine")
        return
    if not server.segments:
        yield report_skipped(
            "engine", "without weights the server answers no update: begin training, then ask again"
        )
        return
    epoch = server.epoch
    answer = prober.update(epoch, segments)
    if isinstance(answer, Silence):
        why, remedy = unacknowledged(epoch, prober.port)
        yield report_fault("engine", f"no ACK in {_TRIES} tries: {why}", remedy)
    elif answer.status is None:
        yield report_fault(
            "engine",
            "the ACK carries no queue status: no engine on the way knows this address as a worker's",
            "add the worker to the testbed's cluster, or olafctl worker join CLUSTER ADDRESS",
        )
    else:
        status = answer.status
        yield report_ok(
            "engine",
            f"the ACK came through an engine: {status.active_clusters} active indices, {status.occupancy} of "
            f"{status.slots} slots taken",
        )
        if status.flags & wire.StatusFlag.FULL:
            yield report_warning(
                "queue", "the queue is full", "more slots, a faster output, or transmission control"
            )
    if not isinstance(answer, Silence) and answer.header.weights_version != server.weights_version:
        yield report_warning(
            "policy",
            "the server applied an update of zeros: it adds every worker's steps (policy plain), so that the "
            "effective rate grows with the number of workers",
            "olafctl server --policy plain --workers N takes their mean; nothing, where the sum is wanted, N "
            "is in use already, or another worker trains here now",
        )


def _pack_question(epoch: int) -> bytes:
    """Pack an INIT without weights, of the smallest model that exists."""
    return wire.Init(wire.VERSION, wire.FrameType.INIT, epoch, 0, 1, 1, bytes(10), 0, 0).pack()


def _pack_zeros(epoch: int) -> bytes:
    """Pack the header of an update of segment 0."""
    now, seq = time.time_ns() % (1 << serial.TIME_BITS), time.monotonic_ns() & 0xFFFFFFFF
    kind = wire.FrameType.UPDATE
    return wire.Olaf(wire.VERSION, kind, epoch, 0, 1, seq, float("-inf"), now, 0, 0).pack()


@dataclass(frozen=True)
class Place:
    """The worker's identity to its engine and its server."""

    server: Address
    local: Address
    epoch: int
    segments: Segments | None
    """Values of the model, None if unknown."""
    mtu: int | None
    """MTU that its packets must fit if it takes over the server's division; else None."""


@dataclass(frozen=True)
class ExaminedWorker:
    """The arguments that a training script would give ``olaf.Worker``."""

    server: str
    """``host:port``, or ``olaf://cluster@engine``."""
    local: Address
    values: int | None
    segments: int | None
    mtu: int
    epoch: int
    key: bytes


def examine_worker(worker: ExaminedWorker, wait: float) -> Iterator[Finding]:
    """Examine as ``worker``; each question waits up to ``wait`` seconds for an answer.

    Raises BadAddress for an address in no known form, ValueError for a model that cannot be divided,
    OlafError when the local address cannot be bound.
    """
    where = parse(worker.server)
    segments = _divide_model(worker)
    control = where.control if isinstance(where, Cluster) else where
    way = machine.way_to(control)
    if isinstance(way, Finding):
        yield way
    elif isinstance(where, Cluster):
        yield from _as_member(worker, where, way, wait)
    else:
        mtu = worker.mtu if worker.segments is None else None
        yield from _data_path(way, Place(where, worker.local, worker.epoch, segments, mtu), wait)


def _as_member(worker: ExaminedWorker, cluster: Cluster, way: Way, wait: float) -> Iterator[Finding]:
    """Join as the worker would, examine with the answer's values, and leave again."""
    port = _open_port(worker.local)
    local = port.address
    try:
        joined = Membership(port, cluster, worker.values or 0, wire.MemberRole.WORKER, worker.key).admit(wait)
    except (JoinRefused, NoAnswer) as error:
        yield from machine.examine_neighbour(way, cluster.control)
        yield report_fault(
            "membership", str(error), "on the engine's machine: olafctl daemon, olafctl cluster list"
        )
        return
    finally:
        port.close()
    place = f"member {joined.member} of {cluster.name}, epoch {joined.epoch}, {joined.segments} segments"
    yield report_ok("membership", place)
    segments = Segments(worker.values, joined.segments) if worker.values else None
    try:
        yield from _data_path(way, Place(joined.server, local, joined.epoch, segments, None), wait)
    finally:
        with closing(_open_port(local)) as port:
            Membership(port, cluster, worker.values or 0, wire.MemberRole.WORKER, worker.key).leave()


def _data_path(way: Way, place: Place, wait: float) -> Iterator[Finding]:
    yield from machine.examine_machine(way, place.server, place.segments)
    counted = machine.udp_counters()
    try:
        prober = Prober(place.server, place.local, wait)
    except OSError as error:
        raise _explain_taken(place.local, error) from error
    with closing(prober):
        mtu = None if place.mtu is None else max(place.mtu, way.mtu)
        answered = yield from examine_server(prober, place.epoch, place.segments, mtu)
        if answered is not None:
            yield from examine_engine(prober, *answered)
    yield from machine.examine_neighbour(way, place.server)
    yield from machine.report_dropped(counted)


def _divide_model(worker: ExaminedWorker) -> Segments | None:
    if worker.values is None:
        return None
    if worker.segments is not None:
        return Segments(worker.values, worker.segments)
    return Segments.of(worker.values, worker.mtu)


def _open_port(local: Address) -> UdpPort:
    try:
        return UdpPort(local)
    except OSError as error:
        raise _explain_taken(local, error) from error


def _explain_taken(local: Address, error: OSError) -> OlafError:
    return OlafError(
        f"--local: cannot use UDP {local[0]}:{local[1]}: {os.strerror(error.errno or 0)} "
        "(end the worker that runs here, or give another port)"
    )
