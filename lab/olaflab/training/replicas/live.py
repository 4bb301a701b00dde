"""Replicas as processes with kernel sockets, each in its host's namespace; SIGKILL ends one of them."""

import multiprocessing
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

import numpy as np
from olaf.errors import OlafError as SdkError
from olaf.transport.udp import UdpPort

from olafctl.membership.model import Member as Worker
from olafctl.testbed.model import Testbed
from olaflab.training.cosim.medium import address_of
from olaflab.training.replicas.lossy import LossyPort
from olaflab.training.replicas.plan import (
    MemberEnd,
    MemberTask,
    ReplicaOutcome,
    ReplicaPlan,
    make_replica,
    summarise_member,
)
from olafswitch.ports.namespace import run_within

_TO_BEGIN, _TO_END = 60.0, 60.0
"""Seconds until a member has joined, and for all to have the same results at the end."""
_STEPS = 10
"""A member reports its progress after so many steps."""
_SLICE = 1.0


class ReplicaTeam:
    """The processes of a run; a context manager that leaves none behind."""

    def __init__(self, bed: Testbed, plan: ReplicaPlan, namespaces: Mapping[str, str | None]) -> None:
        """``namespaces`` are the workers' by name, None this process's own."""
        self._bed, self._plan, self._namespaces = bed, plan, namespaces
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([__name__])  # what takes long to import is imported once
        self._lives = [0] * plan.members
        self._processes: dict[int, tuple[BaseProcess, Connection]] = {}
        self._ends: dict[int, MemberEnd] = {}
        self._problems: dict[int, str] = {}
        self._steps: dict[int, int] = {}

    def __enter__(self) -> "ReplicaTeam":
        return self

    def __exit__(self, *failure: object) -> None:
        for process, pipe in self._processes.values():
            pipe.close()
            process.join(0 if failure[0] is not None else _TO_END)
            if process.is_alive():
                process.kill()
                process.join()

    def run_plan(self, seconds: float, progress: Callable[[str], None]) -> ReplicaOutcome:
        """The whole plan, in at most so many seconds."""
        end = time.monotonic() + seconds
        for member in self._plan.first_members:
            self._begin_member(member)
        events = self._plan.events
        started: float | None = None
        while len(self._ends) + len(self._problems) < self._plan.members and time.monotonic() < end:
            self._listen_for(_SLICE)
            furthest = max(self._steps.values(), default=0)
            started = time.monotonic() if started is None and furthest else started
            while events and furthest >= events[0][0]:
                steps, what, member = events.pop(0)
                progress(f"{what} {self._member_name(member)} after {steps} steps")
                self._kill_member(member) if what == "kill" else self._begin_member(member)
            if self._problems and not events:
                break
        outcome = ReplicaOutcome(time.monotonic() - (started or end))
        outcome.ends = [end for _, end in sorted(self._ends.items())]
        outcome.problems = [
            f"{self._member_name(member)}: {message}" for member, message in sorted(self._problems.items())
        ]
        missing = [self._member_name(member) for member in self._processes if member not in self._ends]
        outcome.problems += [f"{name} did not end in {seconds:g} s" for name in missing]
        return outcome

    def _member_name(self, member: int) -> str:
        return self._bed.clusters[0].workers[member].name

    def _begin_member(self, member: int) -> None:
        self._lives[member] += 1
        worker = self._bed.clusters[0].workers[member]
        ours, theirs = self._context.Pipe()
        namespace, life = self._namespaces[worker.name], self._lives[member]
        process = self._context.Process(
            target=_run_member,
            args=(self._bed, self._plan, worker, member, life, namespace, theirs),
            daemon=True,
        )
        process.start()
        theirs.close()
        self._processes[member] = process, ours

    def _kill_member(self, member: int) -> None:
        process, pipe = self._processes.pop(member)
        process.kill()
        process.join()
        pipe.close()
        self._steps.pop(member, None)

    def _listen_for(self, seconds: float) -> None:
        pipes = {
            pipe: member for member, (_, pipe) in self._processes.items() if member not in self._problems
        }
        for pipe in wait(list(pipes), seconds):
            assert isinstance(pipe, Connection)
            member = pipes[pipe]
            try:
                message = pipe.recv()
            except (EOFError, OSError):
                self._problems[member] = "it has died"
                continue
            if isinstance(message, MemberEnd):
                self._ends[member] = message
            elif isinstance(message, int):
                self._steps[member] = message
            else:
                self._problems[member] = str(message)


def _run_member(
    bed: Testbed,
    plan: ReplicaPlan,
    worker: Worker,
    member: int,
    life: int,
    namespace: str | None,
    pipe: Connection,
) -> None:
    """A member's process; it stays until the parent closes the pipe, since others may lack what it has."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(BrokenPipeError):
        try:
            _train_member(bed, plan, worker, member, life, namespace, pipe)
        except (SdkError, OSError, ValueError) as error:
            pipe.send(str(error))


def _train_member(
    bed: Testbed,
    plan: ReplicaPlan,
    worker: Worker,
    member: int,
    life: int,
    namespace: str | None,
    pipe: Connection,
) -> None:
    socket = run_within(namespace, lambda: UdpPort(address_of(worker)))
    port = LossyPort(socket, plan.loss, 1000 * life + member)
    task = MemberTask(plan, member, life)
    random = np.random.default_rng((plan.seed, 3, member, life))
    one = make_replica(bed, plan, worker, task, port=port)
    try:
        one.begin(_TO_BEGIN)
        reported = 0
        while not one.done:
            version, weights = one.weights()
            gradient = task.gradient(weights)
            one.wait(lambda: one.done, plan.pace * random.uniform(0.7, 1.3))
            one.commit(gradient, version)
            while not one.wait(lambda: one.ready or one.done, _SLICE):
                pass
            if one.version >= reported + _STEPS:
                reported = one.version
                pipe.send(reported)
        one.linger(_TO_END)
        pipe.send(summarise_member(worker.name, one, port))
        with suppress(EOFError, OSError):
            pipe.recv()  # until the parent closes it
    finally:
        one.close()
