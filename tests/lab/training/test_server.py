import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra [train] is not installed")

from olaflab.training.server import RunningAverage

ZERO = np.zeros(2, dtype=np.float32)


def vector(*values: float) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.array(values, dtype=np.float32)


def test_updates_above_the_global_reward_move_the_weights() -> None:
    server = RunningAverage(ZERO)
    assert server.receive(vector(1000, 0), reward=-200)
    assert server.weights.tolist() == pytest.approx([1, 0])
    assert server.receive(vector(0, 2000), reward=-100)  # g_a = (500, 1000)
    assert server.weights.tolist() == pytest.approx([1.5, 1])


def test_updates_not_above_it_move_nothing() -> None:
    server = RunningAverage(ZERO)
    server.receive(vector(1000, 0), reward=10)
    assert not server.receive(vector(1000, 1000), reward=10)
    assert server.weights.tolist() == pytest.approx([1, 0])


def test_the_global_reward_follows_what_is_received() -> None:
    server = RunningAverage(ZERO)
    for reward, followed in ((100, 100), (0, 50), (-50, 0)):
        server.receive(vector(0, 0), reward)
        assert server.reward == followed
    assert server.receive(vector(0, 0), 1)


def test_the_first_weights_are_not_changed_in_place() -> None:
    RunningAverage(ZERO).receive(vector(1000, 0), 1)
    assert ZERO.tolist() == [0, 0]
