"""What throughput to expect of the target software on this machine, measured, and what limits it.

In processor time of one core, so that what else the machine does counts little: through the parts of the
engine, and for a moment through AF_XDP at veths in a namespace of their own.
"""

import json
import os
import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from olafctl.control.in_process import Engines, Stages, engines_of
from olafctl.membership.model import Host, Member
from olafctl.network import interfaces, ip, offload, trial
from olafctl.targets import front_ports, registry
from olafctl.targets.engine import load
from olafctl.targets.interface import Progress
from olafctl.targets.software.target import queue_library
from olafctl.targets.twin.attach import ENGINE_CPU
from olafctl.testbed.model import Testbed
from olafctl.testbed.topology import Topology
from olafctl.wire import layouts
from olafctl.wire.frames import Datagram, Endpoint, pack
from olafctl.wire.layouts import BEAT_BYTES, FrameType
from olafctl.wire.modes import Mode
from olafswitch import cache
from olafswitch.errors import OlafError
from olafswitch.ports.attachment import Attachment
from olafswitch.ports.namespace import within
from olafswitch.ports.transport import Transport

SHORT = 256
"""Bytes of a short update; the others fill their slots."""
_KINDS, _FRAMES, _RUNS = 16, 4096, 3
_SECONDS, _WINDOW = 0.06, 64
_MEASURED = (Transport.VETH, Transport.NIC)
"""Ports whose cost veths show: a card's is that of its driver beside the same sockets."""
_FILE = "expected.json"


@dataclass(frozen=True)
class Size:
    """What an update of ``bytes`` costs: ns of the engine's thread."""

    bytes: int
    engine: Stages
    """In the engine at the worker's port."""
    ports: float | None
    """Beside all engines on its way, in the kernel and at the two ports; None where that is not measured."""
    hops: int
    """Engines that it passes."""

    @property
    def ns(self) -> float:
        """All of it."""
        return self.hops * self.engine.whole + (self.ports or 0.0)

    @property
    def per_second(self) -> float:
        """As many as one core has the time for."""
        return 1e9 / self.ns


@dataclass(frozen=True)
class Expected:
    """Updates of each size, none combined with another, and what limits them."""

    sizes: Sequence[Size]
    measured: str
    """When, in local time."""
    limits: Sequence[str]

    def lines(self) -> Iterator[str]:
        """For people."""
        for size in self.sizes:
            rate = f"{_short(size.per_second)}/s ({size.per_second * size.bytes * 8 / 1e9:.2g} Gb/s)"
            stages = size.engine
            parts = f"VNP4₁ {stages.vnp4_1:.0f}, queue {stages.queue:.0f}, VNP4₂ {stages.vnp4_2:.0f} ns"
            each = " an engine" if size.hops > 1 else ""
            ports = "" if size.ports is None else f", ports and kernel {size.ports:.0f} ns"
            yield f"expect at most {rate} of {size.bytes}-byte updates a core: {parts}{each}{ports}"
        yield from (f"limit: {each}" for each in self.limits)

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        sizes = [{**asdict(size), "per_second": round(size.per_second)} for size in self.sizes]
        return {"sizes": sizes, "measured": self.measured, "limits": list(self.limits)}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> "Expected":
        """What :meth:`as_json` gave."""
        return Expected([_size(each) for each in value["sizes"]], value["measured"], tuple(value["limits"]))


def expected(testbed: Testbed, progress: Progress) -> Expected | None:
    """What ``testbed`` may expect on the target software; measured once for each build, configuration and
    kind of processor. None without workers. Raises OlafError."""
    worker = next(iter(_senders(testbed)), None)
    if worker is None:
        return None
    build = registry.get(testbed.target).build(testbed, progress)
    transports = {front_ports.chosen(port) for port in testbed.ports}
    key = cache.digest([build.key, testbed.text, *sorted(transports), *_machine()])

    def measure(folder: Path) -> None:
        progress("measuring what to expect of this machine")
        free = _free(testbed)
        hops = len(Topology(free).path_up(Topology(free).home(worker)))
        queues = [queue_library(engine, lambda _: None) for engine in free.engines]  # built with the rest
        sizes = []
        with engines_of(free, build, queues) as engines, _veths(free, worker, engines) as ends:
            for size in sorted({SHORT, free.beats * BEAT_BYTES}):
                frames = [_update(free, worker, size, seq) for seq in range(_KINDS)]
                runs = [engines.stages(worker.port, frames, _FRAMES) for _ in range(_RUNS)]
                stages = min(runs, key=lambda run: run.whole)
                over = _over(engines, ends, frames) if ends else None
                ports = None if over is None else max(over - hops * stages.whole, 0.0)
                sizes.append(Size(size, stages, ports, hops))
        record = {"sizes": [asdict(size) for size in sizes], "measured": time.strftime("%F %H:%M")}
        (folder / _FILE).write_text(json.dumps(record))

    folder, _ = cache.build_once("expected", key, measure)
    record = json.loads((folder / _FILE).read_text())
    sizes = [_size(each) for each in record["sizes"]]
    return Expected(sizes, record["measured"], tuple(_limits(testbed, sizes, transports)))


def _size(record: Mapping[str, Any]) -> Size:
    return Size(record["bytes"], Stages(**record["engine"]), record["ports"], record["hops"])


def _machine() -> Iterator[str]:
    """The kind of processor, and the kernel."""
    yield from (platform.machine(), platform.release(), str(os.cpu_count()))
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    yield from sorted({line for line in lines if line.startswith(("model name", "CPU part", "cpu MHz max"))})


def _senders(testbed: Testbed) -> Iterator[Member]:
    """Workers, first those of clusters that have a parameter server."""
    with_server = [each for each in testbed.clusters if not testbed.mode_of(each).sums]
    for cluster in (*with_server, *testbed.clusters):
        yield from cluster.workers


def _free(testbed: Testbed) -> Testbed:
    """With nothing that lets an update wait on purpose, on one core."""
    engines = tuple(replace(engine, output_rate=None, shards=1) for engine in testbed.engines)
    links = tuple(replace(link, rate=None, delay=0) for link in testbed.links)
    return replace(testbed, engines=engines, links=links)


def _update(testbed: Testbed, worker: Member, size: int, seq: int) -> bytes:
    to = _end(testbed.parameter_servers[0]) if testbed.parameter_servers else None
    if testbed.engine_host is not None and testbed.mode_of(testbed.cluster_of(worker)).sums:
        to = _end(testbed.engine_host)
    assert to is not None
    header = {
        "version": layouts.VERSION,
        "frame_type": int(FrameType.UPDATE),
        "epoch": testbed.cluster_of(worker).epoch,
        "count": 1,
        "seq": seq,
    }
    body = pack(layouts.OLAF, header).ljust(size - layouts.GRADIENT_OFFSET + layouts.OLAF.size, b"\0")
    return Datagram(_end(worker), to, body).encode()


def _end(host: Host) -> Endpoint:
    return Endpoint(host.mac, host.ip, host.udp_port)


_Ends = tuple[Attachment, Attachment]


@contextmanager
def _veths(testbed: Testbed, worker: Member, engines: Engines) -> Iterator[_Ends | None]:
    """The hosts' ends of two veths, at the ports of ``worker`` and of the parameter server; None where there
    can be none, or front ports are of another kind."""
    if {front_ports.chosen(port) for port in testbed.ports}.isdisjoint(_MEASURED) or interfaces.why_not():
        yield None
        return
    numbers = [worker.port, testbed.parameter_servers[0].port]
    with trial.namespace() as namespace:
        pairs = [(number, f"in{number}", f"out{number}") for number in dict.fromkeys(numbers)]
        ends = [name for _, *both in pairs for name in both]
        add = [f"link add name {inner} type veth peer name {outer}" for _, inner, outer in pairs]
        up = [f"link set dev {name} arp off addrgenmode none mtu {interfaces.MTU} up" for name in ends]
        ip.batch(["-n", namespace], [*add, *up])

        def attach() -> None:
            for name in ends:
                offload.disable(name)
            for number, inner, _ in pairs:
                engines.engine.add_own_interface(number, inner)

        within(namespace, attach)
        engines.engine.start()
        try:
            at_worker, at_server = (
                Attachment(number, Transport.VETH, f"out{number}", namespace) for number in numbers
            )
            yield at_worker, at_server
        finally:
            engines.engine.close()  # before its interfaces go


def _over(engines: Engines, ends: _Ends, frames: Sequence[bytes]) -> float | None:
    """ns of the engine's thread for each of ``frames`` from one of ``ends`` to the other; None when none
    arrives."""
    found = []
    for _ in range(_RUNS):
        before = engines.engine.processor_ns()
        done = load.measure(*ends, frames, _SECONDS, _WINDOW)
        if done.received:
            found.append((engines.engine.processor_ns() - before) / done.received)
    return min(found, default=None)


def _limits(testbed: Testbed, sizes: Sequence[Size], transports: set[Transport]) -> Iterator[str]:
    size = sizes[0]
    if size.ports is not None:
        what = "a driver may do better or worse than veths" if Transport.NIC in transports else "veths"
        share = f"{size.ports / size.ns:.0%} of the time for {size.bytes} bytes"
        yield f"ports and the kernel have {share} ({what})"
    if unmeasured := sorted(transports - set(_MEASURED) if sizes[0].ports is not None else transports):
        yield f"what ports of {', '.join(unmeasured)} cost is not in it"
    if len(testbed.engines) > 1:
        yield f"{len(testbed.engines)} engines share a thread; an update passes {size.hops}"
    if (shards := testbed.shards) > 1:
        at_work = min(shards, len(testbed.clusters))
        whole = f"{at_work} times that" if at_work > 1 else "no more than that"
        yield f"{shards} shards, {len(testbed.clusters)} clusters: at most {whole}, less hops between cores"
    if rate := testbed.root.output_rate:
        yield f"the testbed lets {rate / 1e9:g} Gb/s out"
    modes = sorted({str(testbed.mode_of(cluster)) for cluster in testbed.clusters} - {Mode.FIFO.value})
    if modes:
        yield f"measured without combining; in mode {' and '.join(modes)} fewer leave than come"
    usable = len(os.sched_getaffinity(0))
    if usable < 2 + shards:
        yield f"{usable} processor{'s' * (usable > 1)} for the engine, its hosts and all else"
    elif ENGINE_CPU not in os.environ:
        yield "the engine's thread shares its processor with what else runs (--engine-cpu)"


def _short(value: float) -> str:
    """12,300 or 1.23 million."""
    return f"{value / 1e6:.2f} million" if value >= 1e6 else f"{round(value, -2):,.0f}"


def why_not(error: OlafError | OSError) -> str:
    """One line for what kept it from being measured."""
    return error.problems[0].what if isinstance(error, OlafError) else str(error.strerror)
