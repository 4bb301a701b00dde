"""Training in virtual time, with actors that sleep."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import cycle
from types import MappingProxyType

import numpy as np
import torch
from olaf import ParameterServer
from olaf.elastic import CPU, GPU, Held, Invocation, Monitor, Pool
from olaf.transport.virtual import Medium, VirtualNetwork

from olafctl.control.serving import parameter_server, served_clusters
from olafctl.membership.model import Cluster, Host
from olafctl.testbed.model import Testbed
from olaflab.training import network
from olaflab.training.admission import Admit, always_admit
from olaflab.training.cosim.medium import address_of
from olaflab.training.head import Head, Turnout
from olaflab.training.learning import Learning
from olaflab.training.plan import (
    ClusterFigures,
    Pace,
    Tell,
    TrainingMember,
    TrainingPlan,
    UpdateStep,
    summarise_cluster,
    values_of,
)
from olafswitch.errors import OlafError, Problem


class Shifts:
    """One update after the other: actors wake, play side by side and sleep; then the learner learns.

    Where iterations are stable, the next one's actors are woken before the learner is done (ARTOS §4.3).
    """

    def __init__(
        self,
        head: Head,
        pace: Pace,
        network: VirtualNetwork,
        pool: Pool | None,
        random: np.random.Generator,
        learning: Learning | None = None,
        slot: int = 0,
    ) -> None:
        """Without a ``pool`` the learner need not wait, and is that of ``slot``. ``random`` draws the jitter
        of ``pace``; ``learning`` receives what learns."""
        self.slot, self._learning = slot, learning
        self._head, self._pace, self._network, self._pool, self._random = head, pace, network, pool, random
        self._monitor = Monitor()
        self._woken: dict[int, float] = {}
        """Time since which an actor is awake that does not play yet, by actor."""
        self._updates = 0

    def run_turnout(self, turnout: Turnout, slower: float, done: Callable[[Turnout], object]) -> None:
        """Run a turnout on a machine that is ``slower`` times as slow; call ``done`` at its end."""
        self._updates += 1
        begin, number = self._network.time, self._updates
        early = self._monitor.prewarm()
        if early is not None:
            self._network.at(begin + early, partial(self._wake_early, number, turnout.actors))
        ready = [self._wake_actor(actor) for actor in range(min(turnout.actors, turnout.blocks))]
        self.close()  # of those that are not needed
        self._play_turn(
            turnout,
            turnout.blocks,
            ready,
            slower,
            partial(self._learn_blocks, turnout, begin, slower, done),
        )

    def close(self) -> None:
        """Let actors sleep that were woken for an update that does not come."""
        while self._woken:
            actor, _ = self._woken.popitem()
            self._head.held.free(CPU, ("actor", actor), self._network.time)

    def _play_turn(
        self, turnout: Turnout, left: int, ready: list[float], slower: float, learn: Callable[[], None]
    ) -> None:
        """Play a block of each actor; ``left`` are the blocks that the update lacks."""
        playing = set(range(min(turnout.actors, left)))

        def finished(actor: int) -> None:
            self._head.held.free(CPU, ("actor", actor), self._network.time)
            playing.discard(actor)
            if playing:
                return
            more = left - min(turnout.actors, left)
            if not more:
                learn()
                return
            following = range(min(turnout.actors, more))
            for each in following:
                self._head.held.hold(CPU, ("actor", each), self._network.time)
            self._play_turn(turnout, more, [self._network.time] * len(following), slower, learn)

        for actor in list(playing):
            seconds = self._head.crew.block * self._pace.step * slower * self._draw_time()
            self._network.at(ready[actor] + seconds, partial(finished, actor))

    def _learn_blocks(
        self, turnout: Turnout, begin: float, slower: float, done: Callable[[Turnout], object]
    ) -> None:
        played = self._network.time
        seconds = (
            (self._pace.update + turnout.blocks * self._head.crew.block * self._pace.learn)
            * slower
            * self._draw_time()
        )

        def granted(unit: int) -> None:
            now = self._network.time
            self._head.held.hold(GPU, "learner", now)
            slot = unit if self._pool is not None else self.slot
            invocation = self._learning.begin_invocation(slot, now) if self._learning is not None else None
            began = invocation.start if invocation is not None else now
            self._network.at(began + seconds, partial(learnt, unit, invocation, began))

        def learnt(unit: int, invocation: Invocation | None, began: float) -> None:
            now = self._network.time
            self._head.note_rows(began, now)
            if self._learning is not None and invocation is not None:
                self._learning.end_invocation(invocation, now)
            self._head.held.free(GPU, "learner", now)
            if self._pool is not None:
                self._pool.give_back(self, unit)
            self._updates += 1  # then no early waking of this update acts: what follows wakes the actors
            self._monitor.add(self._pace.start, now - begin)
            self._head.note_turn(turnout.turns, played - begin, now - played)
            done(self._head.account_held(replace(turnout, waited=played - begin), now))

        if self._pool is None:
            granted(0)
        else:
            self._pool.ask(self, granted)

    def _wake_actor(self, actor: int) -> float:
        """Wake an actor, which holds its core from now on; return when it is there."""
        now = self._network.time
        since = self._woken.pop(actor, None)
        if since is None:
            self._head.held.hold(CPU, ("actor", actor), now)
            since = now
        return max(now, since + self._pace.start)

    def _wake_early(self, number: int, actors: int) -> None:
        """Wake actors for the next update, if this one still runs and no actor plays; else what follows wakes
        them."""
        if number != self._updates or self._head.held.holding(CPU):
            return
        for actor in range(actors):
            self._head.held.hold(CPU, ("actor", actor), self._network.time)
            self._woken[actor] = self._network.time

    def _draw_time(self) -> float:
        return 1 + self._pace.jitter * float(self._random.uniform(-1, 1))


_BEGIN_SECONDS = 30.0
"""Within which every worker must have the first weights; one asks again four times a second."""
_DRAIN_SECONDS = 1.0
"""After the last update, for what is still on its way."""
_LOOK_AGAIN = 0.001
"""Between two looks of a worker that waits for weights."""


def train_virtual(
    medium: Medium,
    testbed: Testbed,
    server: Host,
    plan: TrainingPlan,
    tell: Tell,
    admits: Mapping[str, Admit] = MappingProxyType({}),
    learning: Learning | None = None,
) -> list[ClusterFigures]:
    """Train every cluster of ``testbed`` that is not of an iswitch mode, to the end of ``plan``.

    ``medium`` lies between workers and server, such as the testbed's engine, or a wire. ``admits`` and
    ``learning`` are for heads, the former by cluster.

    Raises BadInput for a cluster whose values or segments do not fit a network, OlafError when a
    worker does not get its first weights.
    """
    torch.set_num_threads(1)  # sums in one order
    clusters = served_clusters(testbed)
    values = {cluster.number: values_of(cluster, testbed) for cluster in clusters}
    simulated = VirtualNetwork(medium)
    listen = address_of(server)
    serving = parameter_server(testbed, f"{listen[0]}:{listen[1]}", plan.policy, port=simulated.port(listen))
    random = np.random.default_rng(plan.seed)
    training = _VirtualTraining(simulated, plan, tell, serving, learning)
    slowdowns = cycle(plan.pace.slowdowns)
    for cluster in clusters:
        weights = network.initial_parameters(random, network.width_of(values[cluster.number]))
        for worker in cluster.workers:
            port = simulated.port(address_of(worker))
            head = None
            if plan.crew is not None:
                seed = (plan.seed, cluster.number, worker.replica)
                head = Head(plan.crew, seed, len(weights), admit=admits.get(cluster.name, always_admit))
            member = TrainingMember(port, listen, cluster, worker.name, weights, plan, random, head)
            training.add_worker(member, next(slowdowns))
    training.run_until_done()
    return [
        summarise_cluster(
            cluster, training.steps, [member.end.counters for member in training.results_of(cluster)], serving
        )
        for cluster in clusters
    ]


@dataclass
class _VirtualTraining:
    """The members' turns, as events of the network."""

    simulated: VirtualNetwork
    plan: TrainingPlan
    tell: Tell
    server: ParameterServer
    learning: Learning | None
    members: list[TrainingMember] = field(default_factory=list)
    slowdowns: dict[str, float] = field(default_factory=dict)
    """Slow-downs by worker."""
    steps: list[UpdateStep] = field(default_factory=list)
    shifts: dict[str, Shifts] = field(default_factory=dict)
    """Shifts of heads."""
    gates: dict[int, Pool] = field(default_factory=dict)
    """Pools by cluster that limit how many heads go for an update where the network does."""
    ended: int = 0
    """Members that begin no further update."""
    begin: float = 0.0

    def __post_init__(self) -> None:
        self._random = np.random.default_rng((self.plan.seed, 1))
        crew = self.plan.crew
        self._pool = (
            Pool(crew.learners, Held(), self._time_now) if crew is not None and crew.learners else None
        )

    def _time_now(self) -> float:
        return self.simulated.time

    def add_worker(self, member: TrainingMember, slowdown: float) -> None:
        self.members.append(member)
        self.slowdowns[member.name] = slowdown
        if member.head is not None:
            pace = self.plan.pace
            slot = self.learning.slot_of(member.name) if self.learning is not None else 0
            self.shifts[member.name] = Shifts(
                member.head, pace, self.simulated, self._pool, self._random, self.learning, slot
            )
            if self.learning is not None and self.learning.follows_network:
                units = len(member.cluster.workers)
                self.gates.setdefault(member.cluster.number, Pool(units, Held(), self._time_now))

    def run_until_done(self) -> None:
        if not self.simulated.run(_BEGIN_SECONDS, lambda: all(member.end.begun for member in self.members)):
            raise OlafError(
                Problem(
                    "a worker was given no weights by the parameter server", "train", "see olafctl status"
                )
            )
        self.begin = self.simulated.time
        for member in self.members:
            member.adopt_weights()
            self._next_update(member, 0)
        self.simulated.run(stop=lambda: self.ended == len(self.members))
        self.simulated.run(self.simulated.time + _DRAIN_SECONDS)
        for shifts in self.shifts.values():
            shifts.close()
        for member in self.members:
            member.close()

    def results_of(self, cluster: Cluster) -> Iterator[TrainingMember]:
        return (member for member in self.members if member.cluster == cluster)

    def _next_update(self, member: TrainingMember, done: int) -> None:
        """Begin an update, or wait for the turn to."""
        gate = self.gates.get(member.cluster.number)
        if self._is_over(done):
            self.ended += 1
        elif gate is None:
            self._make_update(member, done)
        else:
            gate.ask(member, partial(self._begin_granted, member, done, gate))
            self.shifts[member.name].close()  # while it waits, no actor is awake

    def _is_over(self, done: int) -> bool:
        longest = self.plan.seconds
        return done == self.plan.updates or (
            longest is not None and self.simulated.time >= self.begin + longest
        )

    def _begin_granted(self, member: TrainingMember, done: int, gate: Pool, unit: int) -> None:
        if self._is_over(done):
            self.ended += 1
            self.simulated.at(self.simulated.time, partial(gate.give_back, member, unit))
            return
        assert self.learning is not None
        self.shifts[member.name].slot = self.learning.unit_slot(member.cluster.number, unit)
        member.adopt_weights()  # newer weights have come while it waited
        self._make_update(member, done, partial(gate.give_back, member, unit))

    def _make_update(
        self, member: TrainingMember, done: int, leave: Callable[[], None] | None = None
    ) -> None:
        gradient, played = member.play_update(self.plan.episodes)
        if member.head is not None and member.turnout is not None:
            self.shifts[member.name].run_turnout(
                member.turnout,
                self.slowdowns[member.name],
                lambda turnout: self._offer_update(
                    member, done, gradient, played.mean_reward, turnout, leave
                ),
            )
            return
        self.simulated.at(
            self.simulated.time + self._busy_for(member, len(played.actions)),
            lambda: self._offer_update(member, done, gradient, played.mean_reward),
        )

    def _busy_for(self, member: TrainingMember, steps: int) -> float:
        pace = self.plan.pace
        drawn = 1 + pace.jitter * self._random.uniform(-1, 1)
        return (pace.update + pace.step * steps) * self.slowdowns[member.name] * drawn

    def _offer_update(
        self,
        member: TrainingMember,
        done: int,
        gradient: network.Vector,
        reward: float,
        turnout: Turnout | None = None,
        leave: Callable[[], None] | None = None,
    ) -> None:
        probability = member.end.probability
        sent = member.offer_update(gradient, reward)
        now, number = self.simulated.time, member.cluster.number
        step = UpdateStep(now, number, member.name, reward, probability, sent, turnout)
        self.steps.append(step)
        self.tell(step, len(self.steps), len(self.members) * self.plan.updates)
        if leave is not None and self.learning is not None:
            admitted = self.learning.look(member.cluster, step, self.server)
            if admitted is not None:
                self.gates[member.cluster.number].limit(admitted)
            leave()
        if self.plan.waits:
            self._wait_for_weights(member, done + 1, member.end.counters.newer + member.end.segments.count)
        else:
            self._next_update(member, done + 1)

    def _wait_for_weights(self, member: TrainingMember, done: int, newer: int) -> None:
        """Go on when every segment has newer weights than before."""
        if member.end.counters.newer >= newer or done == self.plan.updates:
            member.adopt_weights()
            self._next_update(member, done)
        else:
            self.simulated.at(
                self.simulated.time + _LOOK_AGAIN, lambda: self._wait_for_weights(member, done, newer)
            )
