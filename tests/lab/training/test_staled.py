"""The small learners: their gradients are right, and they learn."""

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from olaflab.training import cartpole
from olaflab.training.cartpole import ActorCritic, DeepQ
from olaflab.training.staled.layers import LayeredNetwork
from olaflab.training.staled.train import DelayedLearner, DelayedTask, train_with_delay


def test_a_pole_that_is_pushed_one_way_falls_the_other() -> None:
    poles = cartpole.Poles(3, np.random.default_rng(1))
    ended = 0
    for _ in range(100):
        after, fell, over = poles.step(np.ones(3, int))
        assert (after[fell, 2] < 0).all()
        ended += int(over.sum())
    assert ended == len(poles.returns) and 8 <= np.mean(poles.returns) <= 11


@pytest.mark.parametrize("rectified", [False, True])
def test_the_gradient_is_that_of_finite_differences(rectified: bool) -> None:
    random = np.random.default_rng(2)
    network = LayeredNetwork(4, 16, 8, 3, rectified=rectified)
    weights, states, slopes = network.begin(random, 1), random.normal(size=(5, 4)), random.normal(size=(5, 3))
    gradient = np.zeros(network.size)
    of_states = network.backward(weights, network.forward(weights, states), slopes, gradient)

    def loss(weights: np.ndarray, states: np.ndarray) -> float:
        return float((network.forward(weights, states)[-1] * slopes).sum())

    for place in random.integers(0, network.size, 20):
        step = np.zeros(network.size)
        step[place] = 1e-6
        difference = (loss(weights + step, states) - loss(weights - step, states)) / 2e-6
        assert gradient[place] == pytest.approx(difference, rel=1e-4, abs=1e-7)
    step = np.zeros_like(states)
    step[1, 2] = 1e-6
    difference = (loss(weights, states + step) - loss(weights, states - step)) / 2e-6
    assert of_states[1, 2] == pytest.approx(difference, rel=1e-4, abs=1e-7)


@pytest.mark.parametrize("make", [ActorCritic, DeepQ])
def test_a_training_repeats_and_ends_at_its_goal(make: Callable[[int], DelayedLearner]) -> None:
    task = DelayedTask(make, goal=25.0, episodes=40, gradients=4000, every=50)
    found = train_with_delay(task, 2, lambda random: 0, 3)
    assert found.iterations is not None and found.iterations < 2000
    assert len(found.curve) == -(-found.iterations // 50)
    assert found == train_with_delay(task, 2, lambda random: 0, 3)
    assert found != train_with_delay(task, 2, lambda random: 3, 3), "old weights change what is learnt"


@pytest.mark.parametrize(
    "module, name, goal, gradients",
    [("hopper", "HopperPolicy", 40.0, 1200), ("cheetah", "Deterministic", -1000.0, 200)],
)
def test_mujocos_trainings_repeat_and_end_at_their_goals(
    module: str,
    name: str,
    goal: float,
    gradients: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Hopper's returns begin at 20."""
    pytest.importorskip("mujoco", reason="the extra [train] is not installed")
    monkeypatch.chdir(tmp_path)  # where MuJoCo leaves its log
    learners = import_module(f"olaflab.training.staled.{module}")
    task = DelayedTask(getattr(learners, name), goal=goal, episodes=4, gradients=gradients, every=10)
    found = train_with_delay(task, 4, lambda random: 1, 3)
    assert found.iterations is not None and found.iterations < gradients // 4
    assert found == train_with_delay(task, 4, lambda random: 1, 3)
    assert train_with_delay(replace(task, goal=1e6, gradients=80), 4, lambda random: 0, 3).iterations is None
