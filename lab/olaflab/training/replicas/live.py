"""Replicas as processes with kernel sockets, each in its host's namespace; SIGKILL ends one of them."""

import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from multiprocessing.connection import Connection

import numpy as np
from olaf.elastic.children import Children, Gone
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
        self._children = Children([__name__])
        self._lives = [0] * plan.members
        self._ends: dict[int, MemberEnd] = {}
        self._problems: dict[int, str] = {}
        self._steps: dict[int, int] = {}

    def __enter__(self) -> "ReplicaTeam":
        return self

    def __exit__(self, *failure: object) -> None:
        for member in self._children.pids():
            self._children.stop(member, kill=failure[0] is not None)

    def run_plan(self, seconds: float, progress: Callable[[str], None]) -> ReplicaOutcome:
        """Run the whole plan, in at most so many seconds."""
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
        missing = {*self._children.pids(), *self._problems} - self._ends.keys()
        outcome.problems += [
            f"{self._member_name(each)} did not end in {seconds:g} s" for each in sorted(missing)
        ]
        return outcome

    def _member_name(self, member: int) -> str:
        return self._bed.clusters[0].workers[member].name

    def _begin_member(self, member: int) -> None:
        self._lives[member] += 1
        worker = self._bed.clusters[0].workers[member]
        given = self._bed, self._plan, worker, member, self._lives[member], self._namespaces[worker.name]
        self._children.start(member, _run_member, *given)

    def _kill_member(self, member: int) -> None:
        self._children.stop(member, kill=True)
        self._steps.pop(member, None)

    def _listen_for(self, seconds: float) -> None:
        for member, message in self._children.heard(seconds):
            if isinstance(message, MemberEnd):
                self._ends[member] = message
            elif isinstance(message, int):
                self._steps[member] = message
            elif isinstance(message, Gone):
                self._problems.setdefault(member, "it has died")
            else:
                self._problems[member] = str(message)


def _run_member(
    pipe: Connection,
    bed: Testbed,
    plan: ReplicaPlan,
    worker: Worker,
    member: int,
    life: int,
    namespace: str | None,
) -> None:
    """Run a member's process until the parent closes the pipe: others may lack what it has."""
    try:
        socket = run_within(namespace, lambda: UdpPort(address_of(worker)))
        port = LossyPort(socket, plan.loss, 1000 * life + member)
        task = MemberTask(plan, member, life)
        random = np.random.default_rng((plan.seed, 3, member, life))
        with closing(make_replica(bed, plan, worker, task, port=port)) as one:
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
    except (SdkError, OSError, ValueError) as error:
        pipe.send(str(error))
