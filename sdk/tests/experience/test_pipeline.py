"""Learning in parts and in stages gives what learning at once gives, in the time that can be had."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from olaf.experience.layout import CUT, GOES_ON, TERMINATED, layout
from olaf.experience.passers import Bound, direct
from olaf.experience.pipeline import Accumulated, Moments, Pace, advantages
from olaf.experience.ring import Ring
from olaf.experience.triggers import DataKey, Firing, Transfer
from olaf.experience.writer import Writer
from olaf.transport.virtual import VirtualNetwork
from tests.testnet import Lossy

Floats = npt.NDArray[np.float64]
ROWS, FEATURES, ACTIONS = 512, 6, 4


def policy_gradient(weights: Floats, obs: Floats, act: Any, advantage: Floats) -> Floats:
    """Return the gradient of Σ −advantage·log π(act | obs), for a linear softmax policy."""
    preference = obs @ weights
    chance = np.exp(preference - preference.max(axis=1, keepdims=True))
    chance /= chance.sum(axis=1, keepdims=True)
    chance[np.arange(len(act)), act] -= 1
    gradient: Floats = obs.T @ (chance * advantage[:, None])
    return gradient


@given(st.permutations(range(8)), st.integers(0, 100))
def test_accumulated_parts_are_the_full_batch_in_any_order(order: list[int], seed: int) -> None:
    random = np.random.default_rng(seed)
    weights = random.normal(size=(FEATURES, ACTIONS))
    obs, act = random.normal(size=(ROWS, FEATURES)), random.integers(0, ACTIONS, ROWS)
    raw = random.normal(size=ROWS) * 3 + np.repeat(np.arange(8), ROWS // 8)  # actors differ
    moments, parts = Moments(), np.split(np.arange(ROWS), 8)
    for part in order:
        moments.add(raw[parts[part]])
    full = policy_gradient(weights, obs, act, (raw - raw.mean()) / raw.std()) / ROWS
    whole, apart = Accumulated(ROWS), np.zeros_like(full)
    for number, part in enumerate(order):
        rows = parts[part]
        found = whole.add(
            policy_gradient(weights, obs[rows], act[rows], moments.normalise(raw[rows])), len(rows)
        )
        assert (found is None) is (number < 7)
        alone = (raw[rows] - raw[rows].mean()) / raw[rows].std()
        apart += policy_gradient(weights, obs[rows], act[rows], alone) / ROWS
    assert found is not None
    assert np.linalg.norm(found - full) <= 1e-5 * np.linalg.norm(full)
    assert np.linalg.norm(apart - full) > 0.01 * np.linalg.norm(full)  # normalised by part: another gradient


def test_a_batch_is_not_overfilled() -> None:
    whole = Accumulated(4)
    assert whole.add(np.ones(2), 3) is None
    with pytest.raises(ValueError, match="2 rows do not fit into a batch of 4 that has 3"):
        whole.add(np.ones(2), 2)
    mean = whole.add(np.ones(2), 1)
    assert mean is not None and mean.tolist() == [0.5, 0.5]


def test_advantages_by_definition() -> None:
    """Each by its own sum; an end stops it, and only a cut has a value after it."""
    random = np.random.default_rng(4)
    rewards, values, after = random.normal(size=(3, 9))
    ends = np.array([GOES_ON, GOES_ON, TERMINATED, GOES_ON, CUT, GOES_ON, TERMINATED, GOES_ON, GOES_ON])
    found = advantages(rewards, values, ends, after, 0.9, 0.8)
    for step in range(9):
        total, factor = 0.0, 1.0
        for later in range(step, 9):
            last = ends[later] != GOES_ON or later == 8
            following = after[later] if last else values[later + 1]
            following = 0.0 if ends[later] == TERMINATED else following
            total += factor * (rewards[later] + 0.9 * following - values[later])
            factor *= 0.9 * 0.8
            if last:
                break
        assert found[step] == pytest.approx(total)


STEP = layout({"reward": (), "value": (), "obs": 7000})
STEPS, ACTORS, RATE = 64, 2, 130e6


@pytest.mark.parametrize("share", [0.05, 0.25, 0.5, 1.0])
def test_two_stages_take_the_time_of_the_longer(share: float) -> None:
    """A worker's ring, a link of 130 MB/s, the head's ring: triggers alone; all in simulated seconds."""
    network = VirtualNetwork(Lossy())
    cache, head = Ring(STEP, STEPS, ACTORS), Ring(STEP, STEPS, ACTORS)
    pace = Pace(RATE, reserve=0.0)
    small, rest = (ACTORS * STEPS * size / RATE for size in (8, 28_000))
    before, learn = share * rest, 0.5 * rest
    writers = [Writer(head, actor) for actor in range(ACTORS)]
    happened: dict[str, float] = {}

    def send(firing: Firing) -> None:
        ((actor, first, last),) = firing.ranges
        rows = {key: cache.column(key, actor)[first:last] for key in firing.keys}
        size = sum(values.nbytes for values in rows.values())
        network.at(pace.send(size, network.time) + size / RATE, lambda: arrive(actor, rows))

    def arrive(actor: int, rows: dict[str, npt.NDArray[Any]]) -> None:
        assert writers[actor].write(rows)
        bound.check()

    def preprocess(firing: Firing) -> None:
        happened["preprocessing"] = network.time
        assert head.count("obs").sum() == 0
        network.at(network.time + before, lambda: ready("advantages"))

    def ready(what: str) -> None:
        happened[what] = network.time
        if {"advantages", "observations"} <= set(happened):
            network.at(network.time + learn, lambda: happened.setdefault("learnt", network.time))

    bound = Bound({
        DataKey(head, "advantages", ACTORS, STEPS, ("reward", "value")): direct(preprocess),
        DataKey(head, "learn", ACTORS, STEPS): direct(lambda firing: ready("observations")),
    })  # fmt: skip
    for actor in range(ACTORS):
        steps = {"reward": np.ones(STEPS), "value": np.ones(STEPS), "obs": np.ones((STEPS, 7000))}
        Writer(cache, actor).write(steps)
    Bound({Transfer(cache, "send", (("reward", "value"), ("obs",)), STEPS): direct(send)}).check()
    network.run(10.0)
    assert happened["preprocessing"] < happened["observations"]
    assert happened["learnt"] == pytest.approx(small + max(rest, before) + learn, rel=0.05)


def test_experience_leaves_the_link_to_updates() -> None:
    pace = Pace(100.0, reserve=0.2)
    assert [pace.send(40, 0.0), pace.send(40, 0.0), pace.send(8, 9.0)] == [0.0, 0.5, 9.0]
    pace.status(3, 4)
    assert pace.share == pytest.approx(0.2)
    pace.status(4, 4)
    assert pace.share == 0.01
    with pytest.raises(ValueError, match="shares"):
        Pace(1.0, reserve=1.0)
