"""The whole examination, in the order in which one fault hides the next."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

from olaf.doctor import machine, probes
from olaf.doctor.finding import Finding, fault, ok
from olaf.doctor.machine import Way
from olaf.errors import JoinRefused, NoAnswer, OlafError
from olaf.transport import wire
from olaf.transport.address import Cluster, parse
from olaf.transport.membership import Membership
from olaf.transport.port import Address
from olaf.transport.segments import Segments
from olaf.transport.udp import UdpPort


@dataclass(frozen=True)
class Place:
    """The worker's identity to its engine and its server."""

    server: Address
    local: Address
    epoch: int
    segments: Segments | None
    """Values of the model, None if unknown."""
    mtu: int | None
    """What its packets must fit if it takes over the server's division; else None."""


@dataclass(frozen=True)
class Worker:
    """What a training script would give ``olaf.Worker``."""

    server: str
    """``host:port``, or ``olaf://cluster@engine``."""
    local: Address
    values: int | None
    segments: int | None
    mtu: int
    epoch: int
    key: bytes


def examine(worker: Worker, wait: float) -> Iterator[Finding]:
    """Examine as ``worker``; each question waits up to ``wait`` seconds for an answer.

    Raises BadAddress for an address in no known form, ValueError for a model that cannot be divided,
    OlafError when the local address cannot be bound.
    """
    where = parse(worker.server)
    segments = _segments(worker)
    control = where.control if isinstance(where, Cluster) else where
    way = machine.way_to(control)
    if isinstance(way, Finding):
        yield way
    elif isinstance(where, Cluster):
        yield from _as_member(worker, where, way, wait)
    else:
        mtu = worker.mtu if worker.segments is None else None
        yield from _data_path(way, Place(where, worker.local, worker.epoch, segments, mtu), wait)


def _as_member(worker: Worker, cluster: Cluster, way: Way, wait: float) -> Iterator[Finding]:
    """Join as the worker would, examine with the answer's values, and leave again."""
    port = _port(worker.local)
    local = port.address
    try:
        joined = Membership(port, cluster, worker.values or 0, wire.Role.WORKER, worker.key).admit(wait)
    except (JoinRefused, NoAnswer) as error:
        yield from machine.neighbour(way, cluster.control)
        yield fault("membership", str(error), "on the engine's machine: olafctl daemon, olafctl cluster list")
        return
    finally:
        port.close()
    place = f"member {joined.member} of {cluster.name}, epoch {joined.epoch}, {joined.segments} segments"
    yield ok("membership", place)
    segments = Segments(worker.values, joined.segments) if worker.values else None
    try:
        yield from _data_path(way, Place(joined.server, local, joined.epoch, segments, None), wait)
    finally:
        with closing(_port(local)) as port:
            Membership(port, cluster, worker.values or 0, wire.Role.WORKER, worker.key).leave()


def _data_path(way: Way, place: Place, wait: float) -> Iterator[Finding]:
    yield from machine.examine(way, place.server, place.segments)
    counted = machine.udp_counters()
    try:
        prober = probes.Prober(place.server, place.local, wait)
    except OSError as error:
        raise _taken(place.local, error) from error
    with closing(prober):
        mtu = None if place.mtu is None else max(place.mtu, way.mtu)
        answered = yield from probes.examine_server(prober, place.epoch, place.segments, mtu)
        if answered is not None:
            yield from probes.examine_engine(prober, *answered)
    yield from machine.neighbour(way, place.server)
    yield from machine.dropped(counted)


def _segments(worker: Worker) -> Segments | None:
    if worker.values is None:
        return None
    if worker.segments is not None:
        return Segments(worker.values, worker.segments)
    return Segments.of(worker.values, worker.mtu)


def _port(local: Address) -> UdpPort:
    try:
        return UdpPort(local)
    except OSError as error:
        raise _taken(local, error) from error


def _taken(local: Address, error: OSError) -> OlafError:
    return OlafError(
        f"--local: cannot use UDP {local[0]}:{local[1]}: {os.strerror(error.errno or 0)} "
        "(end the worker that runs here, or give another port)"
    )
