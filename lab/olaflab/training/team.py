"""Workers as processes of this machine: each has a pipe, so that one that is killed disturbs no other."""

import logging
import multiprocessing
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from olaf.elastic import SharedPool
from olaf.errors import OlafError as SdkError
from olaf.experience import memory
from olaf.transport.udp import UdpPort
from olaf.worker import WorkerCounters

from olafctl.membership.model import Cluster, Host
from olafctl.membership.model import Member as Worker
from olaflab.training import network
from olaflab.training.admission import Admit, always_admit
from olaflab.training.cosim.medium import address_of
from olaflab.training.head import Crew, Head
from olaflab.training.journal import Memory
from olaflab.training.plan import TrainingMember, TrainingPlan, UpdateStep
from olafswitch.errors import OlafError
from olafswitch.ports.namespace import run_within

_LOG = logging.getLogger("olafctl")
_LINGER = 30.0
"""Seconds that workers have to end what they are at."""
_LONGEST = 86400.0
"""Seconds of one wait; more than some weeks are too many for the kernel."""
_LOOK = 1.0
"""Seconds between two looks whether to go on waiting for the first weights."""


@dataclass(frozen=True)
class WorkerJob:
    """What one worker is to do."""

    cluster: Cluster
    worker: Worker
    namespace: str | None
    server: Host
    plan: TrainingPlan
    done: int
    """Updates of earlier runs."""
    memory: Path | None
    """The file of its optimiser; None where it has no place of its own."""
    ring: str = ""
    """The name of a head's ring, and of the pool of learners."""
    pool: str = ""
    admit: Admit = always_admit
    """Whether more of a head's actors may be awake."""
    gate: str = ""
    """The name of the pool through which a cluster's heads go for an update, if the network limits how many
    may."""


Message = UpdateStep | WorkerCounters | str
"""A worker's message: each update, with a time of no meaning; its counters at the end; or why it failed."""


class WorkerTeam(Protocol):
    """The workers of a training; a context manager that leaves none behind."""

    counters: dict[str, WorkerCounters]
    """Counters by worker; zero until it has ended."""

    @property
    def left(self) -> bool:
        """Whether any worker is still at it."""

    def steps(self, timeout: float) -> Sequence[UpdateStep]:
        """Return the workers' steps within ``timeout`` seconds."""

    def stop(self) -> None:
        """Stop every worker after its present update."""

    def __enter__(self) -> "WorkerTeam": ...

    def __exit__(self, *failure: object) -> None: ...


class Stop(Protocol):
    """Says a worker when to end."""

    def is_set(self) -> bool: ...

    def wait(self, timeout: float) -> bool:
        """Sleep for so many seconds, or until it is set."""


def run_worker(job: WorkerJob, say: Callable[[Message], None], stop: Stop) -> None:
    """Run one worker until it has made its updates or ``stop`` is set."""
    torch.set_num_threads(1)
    host, number = address_of(job.worker)
    try:
        port = run_within(job.namespace, lambda: UdpPort((host, number)))
    except OSError as error:
        say(error.strerror or str(error))
        return
    weights = network.initial_parameters(
        np.random.default_rng((job.plan.seed, job.cluster.number)),
        network.width_of(job.cluster.values or network.count_parameters(network.HIDDEN)),
    )
    random = np.random.default_rng((job.plan.seed, job.worker.replica, job.done))
    member = TrainingMember(
        port, address_of(job.server), job.cluster, job.worker.name, weights, job.plan, random
    )
    try:
        if job.plan.crew is not None:
            member.head = _make_head(job, job.plan.crew, len(weights))
        _train_worker(member, job, say, stop)
    except (SdkError, OlafError) as error:
        say(str(error))
    finally:
        member.close()


def _train_worker(member: TrainingMember, job: WorkerJob, say: Callable[[Message], None], stop: Stop) -> None:
    kept = None if job.memory is None else Memory(job.memory, member.learner)
    while not stop.is_set() and not member.end.wait(_LOOK):
        pass
    member.adopt_weights()
    gate = SharedPool(job.gate, len(job.cluster.workers)) if job.gate else None
    for _ in range(job.done, job.plan.updates):
        if stop.is_set():
            break
        with nullcontext() if gate is None else gate.lease():
            if stop.is_set():
                break
            if gate is not None:
                member.adopt_weights()  # newer weights have come while it waited
            say(_make_update(member, job.plan, stop))
        if kept is not None:
            kept.save_state()
    if kept is not None:
        kept.save_state(now=True)
    say(replace(member.end.counters))


def _make_head(job: WorkerJob, crew: Crew, values: int) -> Head:
    lease = SharedPool(job.pool, crew.learners) if crew.learners else None
    seed = (job.plan.seed, job.worker.replica, job.done)
    return Head(crew, seed, values, job.ring, lease, job.admit)


def _make_update(member: TrainingMember, plan: TrainingPlan, stop: Stop) -> UpdateStep:
    """Make one update, offered no sooner than the plan's pace allows."""
    begin = time.monotonic()
    gradient, played = member.play_update(plan.episodes)
    least = plan.pace.update + plan.pace.step * len(played.actions)
    stop.wait(max(begin + least - time.monotonic(), 0.0))
    probability = member.end.probability
    sent = member.offer_update(gradient, played.mean_reward)
    turnout = member.turnout
    if member.head is not None and turnout is not None:
        now = time.monotonic()
        member.head.note_turn(turnout.turns, turnout.waited, now - begin - turnout.waited)
        turnout = member.head.account_held(turnout, now)
    return UpdateStep(0.0, member.cluster.number, member.name, played.mean_reward, probability, sent, turnout)


class WorkerProcesses:
    """A team on this machine."""

    def __init__(self, jobs: Sequence[WorkerJob]) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([__name__])  # what takes long to import is imported once
        stop, self._stop = context.Pipe(duplex=False)
        self._shared = {job.ring for job in jobs if job.ring}
        # A shared pool has its name from who asks for it, and a suffix.
        self._shared |= {f"{name}.pool" for job in jobs for name in (job.pool, job.gate) if name}
        self.counters = {job.worker.name: WorkerCounters() for job in jobs}
        self._pipes: dict[Connection, str] = {}
        self._processes: list[BaseProcess] = []
        for job in jobs:
            ours, theirs = context.Pipe(duplex=False)
            # A daemon of multiprocessing may have no processes, and a head has its actors.
            process = context.Process(
                target=_run_process, args=(job, theirs, stop), daemon=job.plan.crew is None
            )
            process.start()
            theirs.close()
            self._pipes[ours] = job.worker.name
            self._processes.append(process)
        stop.close()

    def __enter__(self) -> "WorkerProcesses":
        return self

    def __exit__(self, *failure: object) -> None:
        self.stop()
        for process in self._processes:
            process.join(_LINGER if failure[0] is None else 0)
            if process.is_alive():
                process.kill()  # a worker that hangs would not end for less
                process.join()
        for name in self._shared:  # of a head that was killed
            memory.unlink_memory(name)

    @property
    def left(self) -> bool:
        """Whether any worker is still at it."""
        return bool(self._pipes)

    def steps(self, timeout: float) -> Sequence[UpdateStep]:
        """Return the workers' steps within ``timeout`` seconds."""
        found = []
        for pipe in wait(list(self._pipes), timeout):
            assert isinstance(pipe, Connection)
            try:
                message = pipe.recv()
            except (EOFError, OSError):
                _LOG.warning("worker %s has died; the others go on", self._pipes.pop(pipe))
                continue
            if isinstance(message, UpdateStep):
                found.append(message)
            elif isinstance(message, WorkerCounters):
                self.counters[self._pipes.pop(pipe)] = message
            else:
                _LOG.warning("worker %s: %s; the others go on", self._pipes.pop(pipe), message)
        return found

    def stop(self) -> None:
        """Stop every worker after its present update."""
        self._stop.close()


class _UntilClosed:
    """Set once the parent has closed its end of the pipe, or has ended.

    Not an event: a killed worker would leave its lock locked, and so would a parent that Ctrl-C interrupts.
    """

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    def is_set(self) -> bool:
        return self._pipe.poll()

    def wait(self, timeout: float) -> bool:
        return self._pipe.poll(min(timeout, _LONGEST))


def _run_process(job: WorkerJob, pipe: Connection, stop: Connection) -> None:
    """Run a worker in its own process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to all; the parent decides when
    with suppress(BrokenPipeError):  # the parent was killed
        run_worker(job, pipe.send, _UntilClosed(stop))
