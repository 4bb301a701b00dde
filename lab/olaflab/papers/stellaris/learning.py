"""A training: rows are played, and learners make gradients of them in virtual time.

Times and steps repeat exactly, whatever the machine does meanwhile. Returns need not: a committed run and
the same seed made again were alike for 17 rounds of 50 and ended elsewhere, and the cause was not found.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from olaf.torch import flat
from olaf.torch.importance import SMALL, clipped, truncated
from olaf.transport.segments import Vector

from olaflab.papers.play import Games, Rows, make_games, play_steps, weights_of
from olaflab.papers.stellaris.rules import RATE, Rule, Scale
from olaflab.papers.stellaris.timeline import Timeline, step_limits

_CLIP, _IMPACT_CLIP, _MOST = 0.2, 0.4, 2.0
"""PPO's bound of the ratio; IMPACT's, and that of μ to its target (as RLlib's APPO has them)."""
_LAST = 3
"""Rounds over which the final reward is a mean."""


@dataclass(frozen=True)
class RuleRun:
    """What one training gave."""

    rule: str
    seed: int
    rewards: list[float]
    """Mean return of each round's episodes; of the round before where none ended."""
    steps: int
    staleness: float
    small: float
    """Share of rows whose importance weight was below 0.1."""
    seconds: float
    """Virtual."""
    reserved: float
    invoked: float
    whole: float
    """$: all learners reserved; invocations alone; with cold starts and keep-alive."""
    moved: list[float] = field(default_factory=list)
    """KL of each round's policy from the one before, a mean over the round's rows; empty unless requested."""

    def final_reward(self, rounds: int | None = None) -> float:
        """Return the mean reward of the last rounds, or of the last of the first so many."""
        rewards = self.rewards[:rounds]
        return float(np.mean(rewards[-_LAST:])) if rewards else float("nan")


def train_rules(
    rule: Rule, seed: int, rounds: int, environment: str, scale: Scale, moves: bool = False
) -> RuleRun:
    """Train once; ``moves`` asks for how far the policy moves."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    played = make_games(environment, scale.actors, seed)
    try:
        return _RuleTraining(rule, seed, scale, played).run_rounds(rounds, moves)
    finally:
        played.close()


class _RuleTraining:
    """An agent, its rows and what it learns of them."""

    def __init__(self, rule: Rule, seed: int, scale: Scale, games: Games) -> None:
        self._rule, self._seed, self._scale, self._games = rule, seed, scale, games
        self._agent = games.agent()
        self._parameters = list(self._agent.parameters())
        policy = rule.make(weights_of(self._agent), rate=RATE * rule.step, optimizer="adam")
        self._timeline = Timeline(rule, seed, scale, policy)
        self._small: list[float] = []
        self._played: list[Rows] = []
        self._rows: Rows
        self._target: Any

    def run_rounds(self, rounds: int, moves: bool) -> RuleRun:
        timeline = self._timeline
        rewards: list[float] = [float("nan")]
        moved: list[float] = []
        for most in step_limits(self._rule, self._seed, rounds, self._scale):
            flat.write(self._parameters, timeline.policy.weights)
            ended = self._play_round()
            timeline.play_round()
            before = self._current_policy() if moves else None
            timeline.learn_round(self._compute_gradient, most)
            rewards.append(float(np.mean(ended)) if ended else rewards[-1])
            if moves:
                flat.write(self._parameters, timeline.policy.weights)
                away = torch.distributions.kl_divergence(before, self._current_policy())
                moved.append(float(away.mean()))
        report = timeline.report()
        mean = timeline.staleness.mean or 0.0
        small = float(np.mean(self._small)) if self._small else 0.0
        return RuleRun(self._rule.name, self._seed, rewards[1:], timeline.version, mean, small,
                   timeline.now, report.reserved, report.invoked, report.whole, moved)  # fmt: skip

    def _play_round(self) -> list[float]:
        """Play a round; before its rows stand those that are learnt from again. Returns of ended episodes."""
        again = self._rule.replay
        played, ended = play_steps(self._games, self._agent, self._scale.steps)
        self._played = [*self._played, played][-again:]
        self._rows = Rows.join_rows((self._played * again)[-again:]) if again > 1 else played
        with torch.no_grad():
            self._target = self._agent.log_prob(self._rows)
        return ended

    def _current_policy(self) -> Any:
        """Return the distribution of actions at the round's rows; it stays when the parameters move."""
        with torch.no_grad():
            return self._agent.policy(self._rows.observations)

    def _compute_gradient(self, part: Any, weights: Vector, others: Sequence[Vector]) -> Vector:
        """Compute the ascending gradient of PPO's loss at these weights; ``others`` are those of other
        learners."""
        chosen, bound = torch.from_numpy(part), self._rule.rho
        rows, impact = self._rows.select_rows(chosen), self._rule.replay > 1
        logs = []
        for each in others if bound is not None else ():
            flat.write(self._parameters, each)
            with torch.no_grad():
                logs.append(self._agent.log_prob(rows))
        flat.write(self._parameters, weights)
        own = self._agent.log_prob(rows)
        ratio = truncated(own, rows.behaviour, logs, float("inf") if bound is None else bound)
        if bound is not None:
            self._small.append(float((ratio.detach() < SMALL).float().mean()))
        if impact:
            ratio = ratio * (rows.behaviour - self._target[chosen]).exp().clamp(max=_MOST)
        advantages = (rows.advantages - rows.advantages.mean()) / (rows.advantages.std() + 1e-8)
        error = (self._agent.values(rows.observations) - rows.returns).square().mean()
        self._agent.zero_grad()
        policy = clipped(ratio, advantages, _IMPACT_CLIP if impact else _CLIP)
        (policy + 0.5 * error).backward()
        torch.nn.utils.clip_grad_norm_(self._parameters, 0.5)
        return -flat.read([parameter.grad for parameter in self._parameters])
