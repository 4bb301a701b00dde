"""The reward rule (OLAF §3): low-reward updates are filtered where updates of a cluster meet."""

import pytest

from olafctl.wire.frames import float_bits
from tests.packets.frames import at, gradient, update
from tests.packets.live import Live

THRESHOLD = 10.0


def meet(live: Live, waiting: float, arriving: float, enable: int = 1) -> tuple[str, float]:
    """Return the fate of an update that meets a waiting one of another worker, by its values, and its
    reward."""
    first, second = live.cluster(2).workers[:2]
    old, new = gradient(1), gradient(2)
    with live.configured(reward_enable=enable, reward_threshold=float_bits(THRESHOLD)):
        with live.held():
            live.exchange(
                (first, update(live, first, old, reward=waiting)),
                (second, update(live, second, new, reward=arriving)),
            )
        [got] = at(live.arrivals(), live.server)
    fates = {(old + new).tobytes(): "aggregated", new.tobytes(): "replaced", old.tobytes(): "dropped"}
    return fates[got.values.tobytes()], got.olaf.reward


@pytest.mark.parametrize(
    ("arriving", "fate", "reward"),
    [
        (100.0, "aggregated", 100.0),
        (110.0, "aggregated", 110.0),
        (90.0, "aggregated", 100.0),
        (110.5, "replaced", 110.5),
        (500.0, "replaced", 500.0),
        (89.5, "dropped", 100.0),
        (-500.0, "dropped", 100.0),
    ],
)
def test_comparable_rewards_aggregate_and_others_do_not(
    live: Live, arriving: float, fate: str, reward: float
) -> None:
    """If the difference is within a predefined threshold, the gradients are aggregated. If the incoming
    update has a higher reward surpassing the threshold, it replaces the existing one. Conversely, if the
    reward is significantly lower, Olaf drops the update."""
    with live.counting() as counted:
        assert meet(live, 100.0, arriving) == (fate, reward)
    name = {"aggregated": "merged", "replaced": "replaced_reward", "dropped": "dropped_reward"}[fate]
    assert counted[name] == 1


@pytest.mark.parametrize(("waiting", "arriving"), [(100.0, 500.0), (100.0, -500.0)])
def test_without_the_rule_every_reward_aggregates(live: Live, waiting: float, arriving: float) -> None:
    assert meet(live, waiting, arriving, enable=0) == ("aggregated", max(waiting, arriving))


def test_the_same_worker_replaces_whatever_the_rewards_are(live: Live) -> None:
    """The more recent update from the same worker subsumes the older one as it has more experience."""
    worker = live.cluster(1).workers[0]
    newer = update(live, worker, gradient(2), reward=-1000.0)
    with live.configured(reward_enable=1, reward_threshold=float_bits(THRESHOLD)):
        with live.held():
            live.exchange((worker, update(live, worker, gradient(1), reward=1000.0)), (worker, newer))
        assert live.arrivals() == {live.server.port: [bytes(newer)]}
