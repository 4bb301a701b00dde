"""A head's updates in virtual time: how long actors are awake, and how long the learner learns."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from olaf.elastic import CPU, GPU, Invocation, Monitor, Pool
from olaf.transport.virtual import VirtualNetwork

from olaflab.training.head import Head, Turnout
from olaflab.training.learning import Learning
from olaflab.training.plan import Pace


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

    def run(self, turnout: Turnout, slower: float, done: Callable[[Turnout], object]) -> None:
        """The result of ``turnout`` on a machine that is ``slower`` times as slow; ``done`` at its end."""
        self._updates += 1
        begin, number = self._network.time, self._updates
        early = self._monitor.prewarm()
        if early is not None:
            self._network.at(begin + early, partial(self._wake_early, number, turnout.actors))
        ready = [self._wake(actor) for actor in range(min(turnout.actors, turnout.blocks))]
        self.close()  # of those that are not needed
        self._turn(
            turnout,
            turnout.blocks,
            ready,
            slower,
            partial(self._learn, turnout, begin, slower, done),
        )

    def close(self) -> None:
        """Let actors sleep that were woken for an update that does not come."""
        while self._woken:
            actor, _ = self._woken.popitem()
            self._head.held.free(CPU, ("actor", actor), self._network.time)

    def _turn(
        self, turnout: Turnout, left: int, ready: list[float], slower: float, learn: Callable[[], None]
    ) -> None:
        """A block of each actor; ``left`` are the blocks that the update lacks."""
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
            self._turn(turnout, more, [self._network.time] * len(following), slower, learn)

        for actor in list(playing):
            seconds = self._head.crew.block * self._pace.step * slower * self._drawn()
            self._network.at(ready[actor] + seconds, partial(finished, actor))

    def _learn(
        self, turnout: Turnout, begin: float, slower: float, done: Callable[[Turnout], object]
    ) -> None:
        played = self._network.time
        seconds = (
            (self._pace.update + turnout.blocks * self._head.crew.block * self._pace.learn)
            * slower
            * self._drawn()
        )

        def granted(unit: int) -> None:
            now = self._network.time
            self._head.held.hold(GPU, "learner", now)
            slot = unit if self._pool is not None else self.slot
            invocation = self._learning.begin(slot, now) if self._learning is not None else None
            began = invocation.start if invocation is not None else now
            self._network.at(began + seconds, partial(learnt, unit, invocation, began))

        def learnt(unit: int, invocation: Invocation | None, began: float) -> None:
            now = self._network.time
            self._head.learned(began, now)
            if self._learning is not None and invocation is not None:
                self._learning.end(invocation, now)
            self._head.held.free(GPU, "learner", now)
            if self._pool is not None:
                self._pool.give_back(self, unit)
            self._updates += 1  # then no early waking of this update acts: what follows wakes the actors
            self._monitor.add(self._pace.start, now - begin)
            self._head.took(turnout.turns, played - begin, now - played)
            done(self._head.account(replace(turnout, waited=played - begin), now))

        if self._pool is None:
            granted(0)
        else:
            self._pool.ask(self, granted)

    def _wake(self, actor: int) -> float:
        """When an actor is there; it holds its core from now on."""
        now = self._network.time
        since = self._woken.pop(actor, None)
        if since is None:
            self._head.held.hold(CPU, ("actor", actor), now)
            since = now
        return max(now, since + self._pace.start)

    def _wake_early(self, number: int, actors: int) -> None:
        """For the next update, if this one still runs and no actor plays: else what follows wakes them."""
        if number != self._updates or self._head.held.holding(CPU):
            return
        for actor in range(actors):
            self._head.held.hold(CPU, ("actor", actor), self._network.time)
            self._woken[actor] = self._network.time

    def _drawn(self) -> float:
        return 1 + self._pace.jitter * float(self._random.uniform(-1, 1))
