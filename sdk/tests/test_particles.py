"""The examples' games follow the formulas of OpenAI's particle environments, in scalars."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from particles import Particles, Spread, Tag

STATES = 1000
Point = tuple[float, float]


@dataclass
class Body:
    """A disc, in scalars."""

    at: Point
    size: float
    speed: Point = (0.0, 0.0)
    collides: bool = True
    push: float = 5.0
    fastest: float | None = None
    predator: bool = False
    force: list[float] = field(default_factory=lambda: [0.0, 0.0])


def distance(one: Body, other: Body) -> float:
    return math.hypot(one.at[0] - other.at[0], one.at[1] - other.at[1])


def softplus(x: float) -> float:
    return x + math.log1p(math.exp(-x)) if x > 0 else math.log1p(math.exp(x))


def moved(agents: list[Body], landmarks: list[Body], actions: Any) -> None:
    """Step as the original does: controls and pairs of contacts make forces; speed changes, then place."""
    for agent, action in zip(agents, actions):
        agent.force = [agent.push * (action[1] - action[2]), agent.push * (action[3] - action[4])]
    bodies = [*agents, *landmarks]
    for number, one in enumerate(bodies):
        for other in bodies[number + 1 :]:
            if one.collides and other.collides:
                apart = distance(one, other)
                depth = softplus(-(apart - one.size - other.size) / 0.001) * 0.001
                for axis in (0, 1):
                    push = 100.0 * (one.at[axis] - other.at[axis]) / apart * depth
                    one.force[axis] += push
                    other.force[axis] -= push
    for agent in agents:
        speed = [0.75 * v + 0.1 * f for v, f in zip(agent.speed, agent.force)]
        fast = math.hypot(*speed)
        if agent.fastest is not None and fast > agent.fastest:
            speed = [v / fast * agent.fastest for v in speed]
        agent.speed = speed[0], speed[1]
        agent.at = agent.at[0] + 0.1 * speed[0], agent.at[1] + 0.1 * speed[1]


def touch(one: Body, other: Body) -> bool:
    return distance(one, other) < one.size + other.size


def fine(x: float) -> float:
    if x < 0.9:
        return 0.0
    return (x - 0.9) * 10 if x < 1.0 else min(math.exp(2 * x - 2), 10.0)


def tag_reward(agent: Body, agents: list[Body]) -> float:
    hunters = [other for other in agents if other.predator]
    if agent.predator:
        return sum(10.0 for prey in agents if not prey.predator for hunter in hunters if touch(prey, hunter))
    return -sum(10.0 for hunter in hunters if touch(agent, hunter)) - sum(fine(abs(x)) for x in agent.at)


def spread_reward(agents: list[Body], landmarks: list[Body]) -> float:
    total = 0.0
    for agent in agents:
        total -= sum(min(distance(other, landmark) for other in agents) for landmark in landmarks)
        total -= sum(touch(agent, other) for other in agents)
    return total


def seen(agent: Body, agents: list[Body], landmarks: list[Body], tag: bool) -> list[float]:
    others = [other for other in agents if other is not agent]
    values = [*agent.speed, *agent.at]
    for body in (*landmarks, *others):
        values += [body.at[0] - agent.at[0], body.at[1] - agent.at[1]]
    for other in others:
        values += ([] if other.predator else other.speed) if tag else [0.0, 0.0]
    return values


def scattered(world: Particles, random: np.random.Generator) -> None:
    """Scatter agents fast and close together, some off the field, so that every rule applies."""
    world.at = random.normal(0, 0.6, world.at.shape)
    world.speed = random.normal(0, 0.8, world.speed.shape)
    world.landmarks = random.uniform(-0.9, 0.9, world.landmarks.shape)
    near = random.integers(0, world.agents, world.worlds)
    rows = np.arange(world.worlds)
    world.at[rows, near] = world.at[rows, near - 1] + random.normal(0, 0.05, (world.worlds, 2))


@pytest.mark.parametrize("number", [3, 6, 12, 24])
@pytest.mark.parametrize("game", [Tag, Spread])
def test_a_step_equals_the_originals_step(game: Any, number: int) -> None:
    states = STATES if number < 12 or "OLAF_TEST_ALL" in os.environ else STATES // 10
    random = np.random.default_rng(number)
    world = game(number, states, random)
    scattered(world, random)
    actions = random.dirichlet(np.ones(5), (states, world.agents))
    tag = game is Tag
    before = world.at.copy(), world.speed.copy()
    observed, rewards = world.step(actions.reshape(states, -1))
    hits = 0
    for state in range(states):
        agents = [
            Body(tuple(at), 0.15, tuple(speed))
            if not tag
            else Body(tuple(at), 0.075, tuple(speed), push=3.0, fastest=1.0, predator=True)
            if index < number
            else Body(tuple(at), 0.05, tuple(speed), push=4.0, fastest=1.3)
            for index, (at, speed) in enumerate(zip(before[0][state], before[1][state]))
        ]
        landmarks = [Body(tuple(at), 0.2 if tag else 0.05, collides=tag) for at in world.landmarks[state]]
        moved(agents, landmarks, actions[state])
        assert np.allclose(world.at[state], [agent.at for agent in agents], rtol=0, atol=1e-9)
        assert np.allclose(world.speed[state], [agent.speed for agent in agents], rtol=0, atol=1e-8)
        expected = [value for agent in agents for value in seen(agent, agents, landmarks, tag)]
        assert np.allclose(observed[state], expected, rtol=0, atol=1e-8)
        wanted = (
            [tag_reward(agent, agents) for agent in agents] if tag else [spread_reward(agents, landmarks)]
        )
        assert np.allclose(rewards[state], wanted, rtol=0, atol=1e-8)
        hits += any(touch(a, b) for a in agents for b in agents if a is not b)
    assert hits > states / 20


def test_observations_have_the_papers_sizes() -> None:
    random = np.random.default_rng(1)
    assert Tag(3, 1, random).observations == [16] * 3 + [14]
    assert Tag(24, 1, random).observations == [98] * 24 + [96] * 8
    assert [Tag(n, 1, random).observations[0] for n in (6, 12)] == [26, 50]
    assert Spread(6, 1, random).observations == [36] * 6


def test_a_world_is_the_same_alone_and_among_others() -> None:
    random = np.random.default_rng(3)
    many, one = Tag(3, 7, random), Tag(3, 1, random)
    scattered(many, random)
    one.at, one.speed, one.landmarks = many.at[4:5], many.speed[4:5], many.landmarks[4:5]
    actions = random.dirichlet(np.ones(5), (7, 4)).reshape(7, -1)
    seen_by_many, rewards = many.step(actions)
    seen_alone, reward = one.step(actions[4:5])
    assert np.array_equal(seen_alone[0], seen_by_many[4]) and np.array_equal(reward[0], rewards[4])
