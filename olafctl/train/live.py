"""LunarLander-v3 over a deployment's real ports, in wall time: each worker is a process of its own.

The parameter server is here. A worker that dies does not stop the others; without this process they end.
"""

import logging
import multiprocessing
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event

import numpy as np
import torch
from olaf import ParameterServer
from olaf.udp import UdpPort
from olaf.worker import Counters

from olafctl.cosim.medium import address
from olafctl.errors import BadInput, Problem
from olafctl.ports.namespace import within
from olafctl.testbed.model import Cluster, Host, Testbed, Worker
from olafctl.train import network
from olafctl.train.journal import Figures, Journal
from olafctl.train.member import Member
from olafctl.train.plan import Plan, Step, Trained, trained, values_of
from olafctl.train.serving import asynchronous, parameter_server

_LOG = logging.getLogger("olafctl")
_LINGER = 30.0
"""Seconds that workers have to end what they are at."""
_LOOK = 1.0
"""Seconds between two looks whether to go on waiting for the first weights."""

Show = Callable[[Mapping[str, Figures]], None]
"""Given every cluster's figures now and then, by name."""


@dataclass(frozen=True)
class Job:
    """What one worker process is to do."""

    cluster: Cluster
    worker: Worker
    namespace: str | None
    server: Host
    plan: Plan
    done: int
    """Updates of earlier runs."""
    begin: float
    """When the training began, on the system's monotonic clock."""


def train(
    testbed: Testbed,
    server: Host,
    plan: Plan,
    namespaces: Mapping[str, str | None],
    journal: Journal,
    report: float,
    show: Show,
) -> list[Trained]:
    """Train every cluster that is not of iswitch mode until each worker has made its updates, or Ctrl-C.

    ``namespaces`` are the hosts' by name, None this process's own; ``show`` is called every ``report``
    seconds. Raises BadInput for a cluster that no network fits, and for addresses that cannot be used.
    """
    clusters = asynchronous(testbed)
    for cluster in clusters:
        values_of(cluster, testbed)
    serving = _serve(testbed, server, plan, namespaces[server.name], journal)
    begin = time.monotonic() - journal.begin
    jobs = [
        Job(cluster, worker, namespaces[worker.name], server, plan, journal.done[worker.name], begin)
        for cluster in clusters
        for worker in cluster.workers
    ]
    with closing(serving), _Workers(jobs) as workers:
        due = time.monotonic() + report
        try:
            while workers.left:
                for step in workers.steps(max(due - time.monotonic(), 0.0)):
                    journal.write(step)
                if time.monotonic() >= due:
                    due += report
                    show(_figures(clusters, serving, journal, begin))
        except KeyboardInterrupt:
            _LOG.info("ending: every worker finishes what it is at; Ctrl-C again ends at once")
            for step in workers.end():
                journal.write(step)
        show(_figures(clusters, serving, journal, begin))
        return [
            trained(one, journal.steps, [workers.counters[w.name] for w in one.workers], serving)
            for one in clusters
        ]


def _serve(
    testbed: Testbed, server: Host, plan: Plan, namespace: str | None, journal: Journal
) -> ParameterServer:
    host, number = address(server)
    try:
        port = within(namespace, lambda: UdpPort((host, number)))
    except OSError as error:
        what = error.strerror or str(error)
        raise BadInput(Problem(what, f"parameter server {server.name}", "is another one running?")) from error
    return parameter_server(
        testbed, f"{host}:{number}", plan.policy, port=port, checkpoint=journal.checkpoint
    )


def _figures(
    clusters: tuple[Cluster, ...], serving: ParameterServer, journal: Journal, begin: float
) -> Mapping[str, Figures]:
    """Of those that have any."""
    now = time.monotonic() - begin
    found = {one.name: journal.report(one, now, serving.age_of_model(one.name)) for one in clusters}
    return {name: figures for name, figures in found.items() if figures is not None}


class _Workers:
    """The processes, each with a pipe: one that is killed cannot take a common queue with it."""

    def __init__(self, jobs: list[Job]) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([__name__])  # what takes long to import is imported once
        self._stop = context.Event()
        self.counters = {job.worker.name: Counters() for job in jobs}
        self._pipes: dict[Connection, str] = {}
        self._processes: list[BaseProcess] = []
        for job in jobs:
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(target=_work, args=(job, theirs, self._stop), daemon=True)
            process.start()
            theirs.close()
            self._pipes[ours] = job.worker.name
            self._processes.append(process)

    def __enter__(self) -> "_Workers":
        return self

    def __exit__(self, *failure: object) -> None:
        self._stop.set()
        for process in self._processes:
            process.join(_LINGER if failure[0] is None else 0)
            if process.is_alive():
                process.terminate()
                process.join()

    @property
    def left(self) -> bool:
        """Whether any worker is still at it."""
        return bool(self._pipes)

    def steps(self, timeout: float) -> list[Step]:
        """What workers said within ``timeout`` seconds."""
        found = []
        for pipe in wait(list(self._pipes), timeout):
            assert isinstance(pipe, Connection)
            try:
                said = pipe.recv()
            except (EOFError, OSError):
                _LOG.warning("worker %s has died; the others go on", self._pipes.pop(pipe))
                continue
            if isinstance(said, Step):
                found.append(said)
            elif isinstance(said, Counters):
                self.counters[self._pipes.pop(pipe)] = said
            else:
                _LOG.warning("worker %s: %s; the others go on", self._pipes.pop(pipe), said)
        return found

    def end(self) -> list[Step]:
        """Have all workers end, and return what they still said."""
        self._stop.set()
        found, until = [], time.monotonic() + _LINGER
        while self._pipes and time.monotonic() < until:
            found += self.steps(until - time.monotonic())
        return found


def _work(job: Job, pipe: Connection, stop: Event) -> None:
    """A worker process: the steps, then the counters, go to ``pipe``; or why there can be none."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to all; the parent says when
    torch.set_num_threads(1)
    parent = multiprocessing.parent_process()

    def stopped() -> bool:
        return stop.is_set() or (parent is not None and not parent.is_alive())

    host, number = address(job.worker)
    try:
        port = within(job.namespace, lambda: UdpPort((host, number)))
    except OSError as error:
        pipe.send(error.strerror or str(error))
        return
    weights = network.initial(
        np.random.default_rng((job.plan.seed, job.cluster.index)),
        network.width(job.cluster.values or network.parameters(network.HIDDEN)),
    )
    random = np.random.default_rng((job.plan.seed, job.worker.member, job.done))
    with closing(
        Member(port, address(job.server), job.cluster, job.worker.name, weights, job.plan, random)
    ) as member:
        while not member.end.wait(_LOOK):
            if stopped():
                break
        for _ in range(job.done, job.plan.updates):
            if stopped():
                break
            pipe.send(_update(member, job, stop))
        pipe.send(replace(member.end.counters))


def _update(member: Member, job: Job, stop: Event) -> Step:
    """One update, offered no sooner than the plan's pace allows."""
    begin = time.monotonic()
    gradient, played = member.work(job.plan.episodes)
    least = job.plan.pace.update + job.plan.pace.step * len(played.actions)
    stop.wait(max(begin + least - time.monotonic(), 0.0))
    probability = member.end.probability
    sent = member.end.offer(gradient, played.mean_reward)
    ready = time.monotonic() - job.begin
    return Step(ready, job.cluster.index, job.worker.name, played.mean_reward, probability, sent)
