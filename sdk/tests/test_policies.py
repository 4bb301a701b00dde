"""Each policy applies updates as the papers say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from olaf.policies import Outcome, Periodic, Plain, Policy, RewardGated, Synchronous, Update

HOSTS = [("10.0.0.1", 1), ("10.0.0.2", 1), ("10.0.0.3", 1)]
ZERO = np.zeros(2, np.float32)
APPLIED = [(Outcome.APPLIED, range(1))]
COLLECTED = [(Outcome.COLLECTED, range(1))]
REFUSED = [(Outcome.REFUSED, range(1))]


def update(value: float, reward: float = 0.0, count: int = 1, member: int = 0) -> Update:
    """Make ``count`` merged updates whose mean is ``value``."""
    return Update(np.full(2, value * count, np.float32), count, reward, HOSTS[member])


def test_olaf_moves_by_the_average_when_the_reward_is_higher() -> None:
    policy = RewardGated(ZERO, rate=1.0)
    assert policy.take(update(4.0, reward=10), 0) == APPLIED
    assert policy.weights.tolist() == [4, 4]
    assert policy.take(update(2.0, reward=20), 0) == APPLIED
    assert policy.weights.tolist() == [4 + 3, 4 + 3]
    assert policy.reward == [15]


def test_olaf_refuses_a_lower_reward_and_lowers_the_global_one() -> None:
    policy = RewardGated(ZERO, rate=1.0)
    policy.take(update(1.0, reward=100), 0)
    assert policy.take(update(1.0, reward=-100), 0) == REFUSED
    assert policy.weights.tolist() == [1, 1]
    assert policy.reward == [0]
    assert policy.take(update(1.0, reward=1), 0) == APPLIED


def test_olaf_takes_everything_until_a_reward_is_known() -> None:
    policy = RewardGated(ZERO)
    assert all(policy.take(update(1.0, reward=float("-inf")), 0) == APPLIED for _ in range(3))


@given(count=st.integers(1, 12), first=st.floats(-2, 2), mean=st.floats(-2, 2))
def test_a_merged_frame_moves_olaf_as_far_as_its_parts(count: int, first: float, mean: float) -> None:
    merged, single = RewardGated(ZERO, rate=0.5), RewardGated(ZERO, rate=0.5)
    for policy in (merged, single):
        policy.take(update(first, reward=float("-inf")), 0)
    merged.take(update(mean, reward=float("-inf"), count=count), 0)
    for _ in range(count):
        single.take(update(mean, reward=float("-inf")), 0)
    assert merged.weights == pytest.approx(single.weights, abs=1e-4)
    assert merged.state()["average"] == pytest.approx(single.state()["average"], abs=1e-5)


def test_olaf_counts_a_merged_frame_once_on_request() -> None:
    policy = RewardGated(ZERO, rate=1.0, weigh=False)
    policy.take(update(4.0, reward=1, count=5), 0)
    assert policy.weights.tolist() == [4, 4]


def test_plain_adds_the_sum() -> None:
    policy = Plain(ZERO, rate=0.5)
    assert policy.take(update(1.0, reward=-1e9, count=4), 0) == APPLIED
    assert policy.weights.tolist() == [2, 2]


def test_periodic_moves_every_n_updates_by_their_mean() -> None:
    policy = Periodic(ZERO, rate=1.0, updates=4)
    assert policy.take(update(1.0, count=3), 0) == COLLECTED
    assert policy.weights.tolist() == [0, 0]
    assert policy.take(update(5.0), 0) == APPLIED
    assert policy.weights.tolist() == [2, 2]


def test_periodic_moves_every_n_seconds_from_the_first_update() -> None:
    policy = Periodic(ZERO, rate=1.0, seconds=2.0)
    assert policy.due() is None
    policy.take(update(1.0), 10.0)
    assert policy.due() == 12.0
    assert not policy.tick(11.9)
    assert policy.tick(12.0)
    assert policy.weights.tolist() == [1, 1]
    assert policy.due() is None


def test_synchronous_waits_for_all_and_counts_each_member_once() -> None:
    policy = Synchronous(ZERO, rate=1.0, workers=3)
    assert policy.take(update(9.0, member=0), 0) == COLLECTED
    assert policy.take(update(3.0, member=0), 0) == COLLECTED
    assert policy.take(update(6.0, count=2, member=1), 0) == APPLIED
    assert policy.weights.tolist() == [5, 5]


def test_synchronous_ends_a_round_at_its_deadline() -> None:
    policy = Synchronous(ZERO, rate=1.0, workers=3, deadline=1.0)
    policy.take(update(3.0, member=0), 5.0)
    assert not policy.tick(5.9)
    assert policy.tick(6.0)
    assert policy.weights.tolist() == [3, 3]


@pytest.mark.parametrize("wrong", [{}, {"updates": 0}, {"seconds": -1.0}])
def test_a_period_without_end_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="never ends"):
        Periodic(ZERO, **wrong)  # type: ignore[arg-type]


def test_a_round_of_no_one_is_refused() -> None:
    with pytest.raises(ValueError, match="impossible"):
        Synchronous(ZERO, workers=0)


@pytest.mark.parametrize("policy", [RewardGated(ZERO), Plain(ZERO)])
def test_a_policy_continues_from_its_state(policy: Policy) -> None:
    again = type(policy)(policy.weights)
    policy.take(update(1.0, reward=3), 0)
    again.weights[:] = policy.weights
    again.restore(policy.state())
    for one in (policy, again):
        one.take(update(2.0, reward=5), 0)
    assert np.array_equal(again.weights, policy.weights)


def test_plain_takes_the_mean_of_n_workers_or_every_step() -> None:
    whole, mean = Plain(ZERO, rate=1.0), Plain(ZERO, rate=1.0, workers=3)
    for policy in (whole, mean):
        policy.take(update(3.0, count=2), 0)
        policy.take(update(3.0, member=2), 0)
    assert whole.weights.tolist() == [9, 9]
    assert mean.weights.tolist() == [3, 3]
    with pytest.raises(ValueError, match="0 workers"):
        Plain(ZERO, workers=0)
