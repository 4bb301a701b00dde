"""OLAF §5 on kernel sockets: 24 workers in 8 clusters, a queue of 4 slots, transmission control or none.

Every worker and the parameter server have a socket in their host's network namespace; what they send passes
the deployed twin in wall time, whose limited output is the bottleneck.
"""

import heapq
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from random import Random
from statistics import fmean

import numpy as np
from olaf import ParameterServer, Worker
from olaf.policies import Plain
from olaf.transport.udp import UdpPort

from olafctl.membership.model import Host
from olafctl.targets.interface import Registers, of_root
from olafctl.targets.testbeds import load_testbed
from olafctl.testbed.model import Testbed
from olafctl.wire.layouts import GRADIENT_OFFSET
from olaflab.papers.figure import Columns
from olafswitch.errors import OlafError, Problem
from olafswitch.ports.namespace import run_within
from olaftest.deployment import using_hosts

CLUSTERS, WORKERS, SLOTS, VALUES = 8, 3, 4, 300
_FRAME_BITS = 8 * (GRADIENT_OFFSET + 4 * VALUES)
_NAME = "bench-live"
_WINDOW_INTERVALS = 3
_BEGIN_SECONDS = 60.0
_JITTER = 0.1
"""Share of the interval by which an update is early or late."""


@dataclass(frozen=True)
class SocketLoad:
    """How the workers send; times in seconds."""

    interval: float
    """Between two updates of a worker."""
    excess: float
    """What they offer, in multiples of what the output carries."""
    v: float
    """1/s."""
    delta_t: float
    seconds: float
    """Length of each run."""


LOAD = SocketLoad(interval=0.25, excess=1.8, v=8.0, delta_t=0.125, seconds=60.0)


@dataclass(frozen=True)
class SocketRun:
    """What happened in one run."""

    control: bool
    offered: int
    """Updates."""
    sent: int
    lost: int
    """Updates sent that the queue lost."""
    probability: float
    """Mean P_s as the updates were offered."""
    active: float
    """Mean N of the ACKs' status that the workers held then."""
    age: float
    """s: Age-of-Model, the mean over clusters."""


COLUMNS: Columns = {
    "transmission control": lambda run: "yes" if run["control"] else "no",
    "offered": "{offered}",
    "sent": "{sent}",
    "share sent": lambda run: f"{run['sent'] / run['offered']:.3f}",
    "mean P_s": "{probability:.3f}",
    "mean N": "{active:.2f}",
    "lost": lambda run: f"{run['lost'] / max(run['sent'], 1):.1%}",
    "AoM ms": lambda run: f"{1e3 * run['age']:.1f}",
}


def measure_sockets(wanted: SocketLoad, progress: Callable[[str], None]) -> list[SocketRun]:
    """Measure a run without transmission control and one with it. Raises OlafError; BadInput without root."""
    bed = load_testbed("bench-live.yaml", _make_testbed_text(wanted))
    with using_hosts(bed, progress) as (_, running, namespaces):
        runs = []
        for control in (False, True):
            progress(f"{wanted.seconds:g} s {'with' if control else 'without'} transmission control")
            runs.append(_run_once(bed, of_root(running.queues), namespaces, wanted, control))
        return runs


def _make_testbed_text(wanted: SocketLoad) -> str:
    rate = round(CLUSTERS * WORKERS / wanted.interval * _FRAME_BITS / wanted.excess)
    window = round(_WINDOW_INTERVALS * wanted.interval * 1e6)
    return f"""
name: {_NAME}
engine: {{indices: 16, slots: {SLOTS}, beats: 24, output_rate: {rate} b/s, active_window: {window} us}}
ports: [{{number: 1, name: ps}}, {{numbers: 2-{CLUSTERS + 1}, name: tor}}]
parameter_servers: [{{name: ps, port: ps, ip: 10.0.0.254}}]
clusters: [{{name: c, count: {CLUSTERS}, workers: {WORKERS}, ports: 2-{CLUSTERS + 1}, ip: 10.0.1.1,
             values: {VALUES}}}]
"""


def _run_once(
    bed: Testbed,
    registers: Registers,
    namespaces: Mapping[str, str | None],
    wanted: SocketLoad,
    control: bool,
) -> SocketRun:
    server_host = bed.parameter_servers[0]
    names = {str(worker.ip): worker.cluster for worker in bed.workers}

    def open_port(host: Host) -> UdpPort:
        return run_within(namespaces[host.name], lambda: UdpPort((str(host.ip), host.udp_port)))

    with ExitStack() as stack:
        server = ParameterServer(
            policy=partial(Plain, rate=1e-3),
            members=names,
            multicast=True,
            port=open_port(server_host),
        )
        stack.enter_context(closing(server))
        workers = [
            stack.enter_context(closing(_make_worker(open_port(host), host, server_host, wanted, control)))
            for host in bed.workers
        ]
        for worker in workers:
            worker.begin(np.zeros(VALUES, np.float32))
        if not all(worker.wait(_BEGIN_SECONDS) for worker in workers):
            raise OlafError(Problem(f"no weights after {_BEGIN_SECONDS:g} s", "bench live"))
        before = registers.read("dropped_full")
        chances, active = _offer_updates(workers, wanted)
        ages = [server.age_of_model(cluster.name) for cluster in bed.clusters]
        return SocketRun(
            control,
            offered=sum(worker.counters.offered for worker in workers),
            sent=sum(worker.counters.sent for worker in workers),
            lost=registers.read("dropped_full") - before,
            probability=fmean(chances),
            active=fmean(active),
            age=fmean(age for age in ages if age is not None),
        )


def _make_worker(port: UdpPort, host: Host, server: Host, wanted: SocketLoad, control: bool) -> Worker:
    return Worker(
        f"{server.ip}:{server.udp_port}",
        VALUES,
        v=wanted.v,
        delta_t=wanted.delta_t,
        control=control,
        seed=int(host.ip),
        port=port,
    )


def _offer_updates(workers: list[Worker], wanted: SocketLoad) -> tuple[list[float], list[int]]:
    """Offer updates for as long as wanted: P_s and N at each."""
    drawn, gradient = Random(1), np.ones(VALUES, np.float32)
    chances: list[float] = []
    active: list[int] = []
    begin = time.monotonic()
    due = [(begin + drawn.random() * wanted.interval, number) for number in range(len(workers))]
    heapq.heapify(due)
    while due[0][0] < begin + wanted.seconds:
        when, number = heapq.heappop(due)
        time.sleep(max(0.0, when - time.monotonic()))
        worker = workers[number]
        chances.append(worker.probability)
        if worker.status is not None:
            active.append(worker.status.active_clusters)
        worker.offer(gradient, 0.0)
        worker.poll()
        away = 1 + _JITTER * (2 * drawn.random() - 1)
        heapq.heappush(due, (when + wanted.interval * away, number))
    return chances, active
