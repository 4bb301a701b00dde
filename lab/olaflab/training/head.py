"""A head: a worker whose experience comes from actors through a ring, and whose learner has leases (ARTOS).

In wall time actors are processes that are stopped while nothing is played; in virtual time they play here,
one after the other, and the time that they need side by side is stated.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt
from olaf.elastic import (
    CPU,
    GPU,
    Actors,
    GradientNoise,
    Held,
    NetworkLimit,
    NoiseScale,
    ScalePolicy,
    Schedule,
    Seen,
    SharedPool,
    Staff,
)
from olaf.experience import DataKey, Firing, Ring
from olaf.transport.wire import OlafStatus

from olaflab.training import network, players
from olaflab.training.experience import Experience
from olafswitch.errors import OlafError, Problem

_FRUITLESS = 3
"""Turns in a row from which no block came: then something is wrong with all actors."""
Rows = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Crew:
    """The actors of a head."""

    low: int
    """Blocks of an update at first, each an actor's."""
    high: int
    """At most."""
    block: int = 128
    """Steps of a block."""
    every: int = 0
    """Updates after which there is one block more; 0: as many blocks as the gradient's noise asks for."""
    learners: int = 0
    """Learners of all heads that may learn at a time; 0 for one a head."""
    ray: str | None = None
    """The address of the Ray cluster where they play; None for this machine."""
    auto: bool = False
    """Whether as many heads work at a time as the network carries updates of."""
    price: float = 0.0
    """$ of a learner's second."""
    cold: float = 0.0
    """Seconds of a learner's start, in virtual time."""
    keep_alive: float = math.inf
    """Seconds without rows after which a learner ends, in virtual time."""

    @property
    def policy(self) -> ScalePolicy:
        """How large updates are."""
        if self.every:
            return Schedule(self.low, self.high, 1, self.every)
        return NoiseScale(self.low, self.high, self.block)


@dataclass(frozen=True)
class Turnout:
    """How one update's experience came to be."""

    actors: int
    """Actors that were awake at a time."""
    blocks: int
    turns: int
    """In which those actors played: more than one where there are more blocks than actors."""
    fill: float
    """Share of the ring that was filled when learning began."""
    lag: int
    """Policy versions by which the oldest row was behind."""
    waited: float = 0.0
    """Seconds that the learner waited for rows."""
    cpu: float = 0.0
    """Seconds for which actors have held cores, in all."""
    gpu: float = 0.0
    """Seconds for which the learner has held its lease, in all."""
    began: float = 0.0
    """When the learner began with this update's rows, in seconds since the training began."""
    learnt: float = 0.0
    """Time at which learning was done."""


class Stage(Protocol):
    """The place where actors play."""

    def perform(self, actors: Sequence[int]) -> None:
        """Let each of these actors play a block into the ring; one that dies in it has written nothing."""

    def pids(self) -> dict[int, int]:
        """Return the process ids of the actors."""

    def close(self) -> None:
        """End the actors."""


class ActorProcesses:
    """Actors in wall time, on this machine or others."""

    def __init__(self, actors: Staff, high: int) -> None:
        """All that there may be are started now, and sleep: to wake one takes less than a millisecond."""
        self._actors = actors
        self._actors.prepare(range(high))
        while self._actors.awake:
            self._actors.serve(1.0)

    def perform(self, actors: Sequence[int]) -> None:
        self._actors.serve(0.0)  # one that died asleep is replaced
        self._actors.invoke(actors)
        while self._actors.playing:
            self._actors.serve(1.0)

    def pids(self) -> dict[int, int]:
        return self._actors.pids()

    def close(self) -> None:
        self._actors.close()


class Simulated:
    """Actors that play at once, when their time is stated elsewhere."""

    def __init__(self, ring: Ring, crew: Crew, seed: tuple[int, ...]) -> None:
        self._turns: dict[int, Callable[[], None]] = {}
        self._ring, self._crew, self._seed = ring, crew, seed

    def perform(self, actors: Sequence[int]) -> None:
        for number in actors:
            if number not in self._turns:
                self._turns[number] = players.make_turn(number, self._ring, self._seed, self._crew.block)
            self._turns[number]()

    def pids(self) -> dict[int, int]:
        return {}

    def close(self) -> None:
        self._turns.clear()


class Head:
    """Actors, ring and trigger of one worker."""

    def __init__(
        self,
        crew: Crew,
        seed: tuple[int, ...],
        values: int,
        name: str | None = None,
        lease: SharedPool | None = None,
        admit: Callable[[float], bool] = lambda seconds: True,
    ) -> None:
        """With a ``name`` in wall time: the ring's, and the actors are processes.

        ``lease`` is what its learner shares with others; ``admit`` decides whether updates may come every so
        many seconds. Raises RingError where the ring cannot be made.
        """
        self.crew, self.held = crew, Held()
        self._seen = Seen(0, crew.low)
        self._blocks, self._turn, self._rest = crew.low, 0.0, 0.0
        self._policy = crew.policy
        self.limit = NetworkLimit(lambda actors: admit(self._seconds_between(actors)))
        self._awake = crew.low
        self._lease = lease
        self._version = 0
        self._reward = 0.0
        """Mean of the episodes that ended last."""
        self._began = self._learnt = 0.0
        self._noise = GradientNoise()
        self.noisy = not crew.every and crew.high > crew.low
        """Whether the learner reports the noise of its gradient."""
        self._ring = Ring(
            players.STEP, crew.high * crew.block, crew.high, name=name, full="refuse",
            objects={players.WEIGHTS: values},
        )  # fmt: skip
        self._trigger = DataKey(self._ring, "learn", 1, crew.block, max_lag=0)
        self._taken: Firing | None = None
        """The last, done when its update is learnt: the ring then tells learning from waiting."""
        self._stage: Stage
        if name is None:
            self._stage = Simulated(self._ring, crew, seed)
        else:
            self._stage = ActorProcesses(self._hire_actors(name, seed), crew.high)

    def _hire_actors(self, name: str, seed: tuple[int, ...]) -> Staff:
        crew = self.crew
        if crew.ray is None:
            return Actors(players.begin_player, (name, seed, crew.block), held=self.held, now=time.monotonic)
        from olaflab.training.away import place_actors  # with Ray, which only these need

        return place_actors(crew.ray, self._ring, seed, crew.block, self.held)

    def play(
        self, weights: network.Vector, status: OlafStatus | None, probability: float
    ) -> tuple[Experience, Turnout]:
        """Play an update's blocks with these weights, by as many actors as the network leaves awake.

        Half of them are enough when actors die. Raises OlafError where all do.
        """
        begin = time.monotonic()
        self._finish_learning()
        blocks = self._policy.blocks(self._seen)
        active, slots = (status.active_clusters, status.slots) if status is not None else (0, 0)
        self._blocks = blocks
        self._awake = self.limit.awake(self._awake, blocks, active, slots, probability)
        self._version += 1
        self._ring.version = self._version
        self._ring.objects.publish(players.WEIGHTS, weights, self._version)
        parts: list[dict[str, Rows]] = []
        turns = fruitless = lag = 0
        filled = 0.0
        while len(parts) < blocks and (not fruitless or len(parts) < -(-blocks // 2)):
            self._stage.perform(range(min(self._awake, blocks - len(parts))))
            turns += 1
            before = len(parts)
            while self._trigger.check():
                firing = self._trigger.take()
                assert firing is not None
                filled += firing.rows
                found = self._trigger.learnable(firing).batch
                lag = max(lag, self._version - int(found["version"].min()))
                parts.append({key: found[key] for key in (*players.STEP.keys, "end")})
                self._finish_learning()
                self._taken = firing
            fruitless = 0 if len(parts) - before == min(self._awake, blocks - before) else fruitless + 1
            if fruitless > _FRUITLESS and not parts:
                raise OlafError(Problem("none of its actors plays", "train --actors", "see what killed them"))
        self._seen = Seen(self._seen.updates, len(parts))
        fill = filled / (self._ring.rows * self._ring.actors)
        awake = min(self._awake, len(parts))
        turnout = Turnout(awake, len(parts), turns, fill, lag, time.monotonic() - begin)
        played = players.join_blocks(parts)
        if not np.isnan(played.mean_reward):
            self._reward = played.mean_reward
        return replace(played, mean_reward=self._reward), turnout

    def note_turn(self, turns: int, play: float, rest: float) -> None:
        """Note the last update: seconds of playing in so many turns, and of all else."""
        self._turn, self._rest = play / turns, rest

    def _seconds_between(self, actors: int) -> float:
        """Return the seconds between two updates with so many actors awake."""
        return -(-self._blocks // actors) * self._turn + self._rest

    def account_held(self, turnout: Turnout, now: float) -> Turnout:
        """Add what was held until now, on the clock of ``held``, to a turnout."""
        cpu, gpu = self.held.seconds(CPU, now), self.held.seconds(GPU, now)
        return replace(turnout, cpu=cpu, gpu=gpu, began=self._began, learnt=self._learnt)

    def note_rows(self, began: float, learnt: float) -> None:
        """Note when the learner had the rows, on the clock of ``held``."""
        self._began, self._learnt = began, learnt

    @contextmanager
    def hold_learner(self) -> Iterator[None]:
        """Wait for a unit to learn with, and hold it. In virtual time both are stated elsewhere."""
        if self._ring.path is None:
            yield
            return
        lease: AbstractContextManager[object] = nullcontext() if self._lease is None else self._lease.lease()
        with lease:
            began = time.monotonic()
            self.held.hold(GPU, "learner", began)
            try:
                yield
            finally:
                learnt = time.monotonic()
                self.held.free(GPU, "learner", learnt)
                self.note_rows(began, learnt)
                self._finish_learning()

    def _finish_learning(self) -> None:
        if self._taken is not None:
            self._trigger.done(self._taken)
            self._taken = None

    def note_update(self, parts: Sequence[Rows]) -> None:
        """Note that an update was made; ``parts`` are the mean gradients of its blocks, if requested."""
        noise = self._noise.add(parts, self.crew.block) if parts else None
        self._seen = Seen(self._seen.updates + 1, self._seen.blocks, noise)

    def pids(self) -> dict[int, int]:
        """Return the process ids of its actors; none in virtual time."""
        return self._stage.pids()

    def close(self) -> None:
        """End the actors, and give the memory back."""
        self._stage.close()
        self._ring.unlink()
