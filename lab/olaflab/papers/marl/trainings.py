"""MARL's figure 9 and table 1: what trainings cost from end to end, by layout and way to draw."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from olaf.experience import Draw, Prioritised

from olaflab.papers.marl.examples import load_example
from olaflab.papers.marl.figure8 import ROWS
from olaflab.papers.marl.profiles import time_method
from olaflab.papers.marl.relayed import fill_ring, keep_rows
from olaflab.papers.marl.rewards import BATCH
from olaflab.papers.marl.rewards import WAYS as _WAYS
from olaflab.papers.marl.stacks import Game, Lists

WAYS = {way: sampler for way, (sampler, rows) in _WAYS.items() if rows == BATCH}
STACKS = ("lists", "joint rows")
ROUNDS = 14_744
"""Rounds of 60,000 episodes of 25 steps: one after every 100 steps but the first 25,600."""
_WORLDS = 4


@dataclass(frozen=True)
class Workload:
    """A game, its algorithm, and its predators or navigators."""

    predators: int
    navigation: bool = False
    matd3: bool = False

    @property
    def name(self) -> str:
        """The paper's name of the workload."""
        return f"{'CN' if self.navigation else 'PP'}, {'MATD3' if self.matd3 else 'MADDPG'}"


@dataclass
class MeasuredTraining:
    """CPU seconds of ``rounds`` rounds, each with the 100 steps that are played before it."""

    workload: str
    predators: int
    agents: int
    stack: str
    way: str
    rounds: int = 0
    seconds: float = 0.0
    playing: float = 0.0
    """CPU seconds of the environment's steps, choosing actions, keeping what was seen."""
    sampling: float = 0.0


def measure_trainings(
    workloads: Sequence[Workload], rounds: int, rows: int, progress: Callable[[str], None]
) -> Iterator[MeasuredTraining]:
    """Measure ``rounds`` of each layout and way in turn for each workload: ratios are of one run.

    Trainings begin with ``rows`` rows of noise, or as many as figure 8 has, as if they had gone on for long.
    The ways of a layout improve the same networks, which cost the same whatever they have learnt. At first
    priorities are those of normally distributed errors.
    """
    maddpg, particles = load_example("maddpg"), load_example("particles")
    maddpg.torch.set_num_threads(1)
    for load in workloads:
        count, made, teams, kept = load.predators, [], {}, min(rows, ROWS[load.predators])
        for stack in STACKS:
            progress(f"{load.name}, {count}: filling {stack} with {kept} rows")
            kind = particles.Spread if load.navigation else particles.Tag
            game = kind(count, _WORLDS, np.random.default_rng(1))
            most = 2 * kept + 400 * len(WAYS) * (rounds + 1)
            settings = maddpg.Settings(rows=most, matd3=load.matd3)
            team = teams[stack] = maddpg.Team(game, settings, 1)
            if stack == "lists":
                keep_rows(team, Lists(Game(count, load.navigation), kept))
            fill_ring(team, kept)
            made += [MeasuredTraining(load.name, count, game.agents, stack, way) for way in WAYS]
        parts = {stack: _time_parts(team) for stack, team in teams.items()}
        samplers = {
            (stack, way): [_make_sampler(maddpg, kind, team.ring, agent) for agent in range(len(team.agents))]
            for stack, team in teams.items()
            for way, kind in WAYS.items()
        }
        for turn in range(rounds + 1):
            progress(f"{load.name}, {count}: round {turn} of {rounds}")
            for each in made:
                team, spent = teams[each.stack], parts[each.stack]
                team.samplers = samplers[each.stack, each.way]
                spent.update(dict.fromkeys(spent, 0.0))
                start = time.thread_time()
                team.play()
                team.learn()
                seconds = time.thread_time() - start
                if turn:  # the first one touches memory that was not used yet
                    each.rounds += 1
                    each.seconds += seconds
                    each.playing += spent["playing"]
                    each.sampling += spent["sampling"]
        yield from made


def _make_sampler(maddpg: Any, kind: str, ring: Any, seed: int) -> Any:
    random = np.random.default_rng(seed)
    sampler = maddpg.sampler(kind, ring, random)
    if isinstance(sampler, Prioritised):
        there = ring.count()
        actors = np.repeat(np.arange(len(there)), there)
        positions = np.concatenate([np.arange(count) for count in there])
        steps = ~ring.closing(actors, positions)
        every = Draw(
            actors[steps], positions[steps], np.ones(steps.sum()), np.arange(steps.sum()), steps.sum()
        )
        sampler.update(every, random.normal(size=len(every)))
    return sampler


def _time_parts(team: Any) -> dict[str, float]:
    """Return CPU seconds that add up as the team goes on."""
    spent = {"playing": 0.0, "sampling": 0.0}
    time_method(team, "play", spent, "playing")
    time_method(team, "_sampled", spent, "sampling")
    return spent
