"""Replicas through an engine in virtual time: what happens depends on the seed and on nothing else."""

from collections.abc import Callable
from functools import partial

import numpy as np
from olaf.transport.segments import Vector
from olaf.transport.virtual import VirtualNetwork

from olafctl.membership.model import Member as Worker
from olafctl.targets.interface import VirtualTime
from olafctl.testbed.model import Testbed
from olaflab.training.cosim.medium import EngineMedium, address
from olaflab.training.replicas.lossy import LossyPort
from olaflab.training.replicas.plan import Outcome, Plan, Task, ended, replica

_BEGINNING = 1_790_000_000_000_000_000
"""Wall time at virtual time 0, ns."""
_LONGEST, _AFTER = 3600.0, 60.0
"""Virtual seconds for the training, and until all that ended know of one another that they did."""


def run(
    engine: VirtualTime, bed: Testbed, plan: Plan, task: Callable[[Plan, int, int], Task] = Task
) -> Outcome:
    """Run the whole plan; ``task`` makes what a member computes, of its number and its life's."""
    network = VirtualNetwork(EngineMedium(engine, bed), epoch=_BEGINNING)
    (cluster,) = bed.clusters
    scripts: dict[int, _Script] = {}
    lives = [0] * plan.members

    def begin(member: int) -> None:
        lives[member] += 1
        scripts[member] = _Script(
            network,
            bed,
            plan,
            cluster.workers[member],
            task(plan, member, lives[member]),
            member,
            lives[member],
        )

    for member in plan.first:
        begin(member)
    network.run(_LONGEST, lambda: all(script.replica.version for script in scripts.values()))
    started = network.time
    for steps, what, member in plan.events:
        network.run(started + _LONGEST, partial(_reached, scripts, steps))
        if what == "kill":
            scripts.pop(member).kill()
        else:
            begin(member)
    network.run(started + _LONGEST, lambda: all(script.over for script in scripts.values()))
    outcome = Outcome(network.time - started)
    network.run(network.time + _AFTER, lambda: all(script.replica.level for script in scripts.values()))
    for _, script in sorted(scripts.items()):
        if script.replica.failure is not None:
            outcome.problems.append(f"{script.name}: {script.replica.failure}")
        outcome.ends.append(ended(script.name, script.replica, script.port))
        script.replica.close()
    return outcome


def _reached(scripts: "dict[int, _Script]", steps: int) -> bool:
    return max(script.replica.version for script in scripts.values()) >= steps


class _Script:
    """A member's computing, as events of the network."""

    def __init__(
        self,
        network: VirtualNetwork,
        bed: Testbed,
        plan: Plan,
        worker: Worker,
        task: Task,
        member: int,
        life: int,
    ) -> None:
        self.name = worker.name
        self._network, self._plan = network, plan
        self._task = task
        self._random = np.random.default_rng((plan.seed, 3, member, life))
        self._computing, self._alive = False, True
        self.port = LossyPort(
            network.port(address(worker)),
            plan.loss,
            1000 * life + member,
            double=plan.double,
            delay=plan.double,
        )
        self.replica = replica(bed, plan, worker, self._task, port=self.port, stepped=self._soon)

    @property
    def over(self) -> bool:
        """Whether it has ended, one way or the other."""
        return self.replica.done or self.replica.failure is not None

    def kill(self) -> None:
        """End the member without a message to any other."""
        self._alive = False
        self.port.close()

    def _soon(self) -> None:
        self._network.at(self._network.time, self._compute)

    def _compute(self) -> None:
        if self._computing or not self._alive or not self.replica.ready:
            return
        self._computing = True
        version, weights = self.replica.weights()
        gradient = self._task.gradient(weights)
        busy = self._plan.pace * self._random.uniform(0.7, 1.3)
        self._network.at(self._network.time + busy, partial(self._commit, gradient, version))

    def _commit(self, gradient: Vector, version: int) -> None:
        self._computing = False
        if self._alive and self.replica.failure is None:
            self.replica.commit(gradient, version)
            self._compute()
