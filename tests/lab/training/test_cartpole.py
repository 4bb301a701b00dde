"""The small learners: their gradients are right, and they learn."""

from collections.abc import Callable

import numpy as np
import pytest

from olaflab.training.cartpole import EVERY, ActorCritic, DeepQ, Learner, Network, Poles, train


def test_a_pole_that_is_pushed_one_way_falls_the_other() -> None:
    poles = Poles(3, np.random.default_rng(1))
    ended = 0
    for _ in range(100):
        after, fell, over = poles.step(np.ones(3, int))
        assert (after[fell, 2] < 0).all()
        ended += int(over.sum())
    assert ended == len(poles.returns) and 8 <= np.mean(poles.returns) <= 11


def test_the_gradient_is_that_of_finite_differences() -> None:
    random = np.random.default_rng(2)
    network = Network(3)
    weights, states, slopes = network.begin(random), random.normal(size=(5, 4)), random.normal(size=(5, 3))
    hidden, _ = network.forward(weights, states)
    found = network.backward(weights, states, hidden, slopes)
    for place in random.integers(0, network.size, 20):
        step = np.zeros(network.size)
        step[place] = 1e-6
        ends = [(network.forward(weights + sign * step, states)[1] * slopes).sum() for sign in (1, -1)]
        assert found[place] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-4, abs=1e-7)


@pytest.mark.parametrize("make", [ActorCritic, DeepQ])
def test_a_training_repeats_and_ends_at_its_goal(make: Callable[[int], Learner]) -> None:
    found = train(make, 2, lambda random: 0, 2000, 25.0, 3)
    assert found.iterations is not None and found.iterations < 2000
    assert len(found.curve) == -(-found.iterations // EVERY)
    assert found == train(make, 2, lambda random: 0, 2000, 25.0, 3)
