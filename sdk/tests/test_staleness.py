"""How stale updates are, and what the policies make of it: Stellaris, SoftSync, SSP, pure asynchrony."""

from __future__ import annotations

import math
from functools import partial
from random import Random
from typing import Any

import numpy as np
import pytest

from olaf import ParameterServer, Worker
from olaf.policies import Asynchronous, Outcome, Plain, Policy, SoftSync, StaleSynchronous, Stellaris, Update
from olaf.server.model import BOUNDS, RESERVED, Model, Staleness
from olaf.transport import wire
from olaf.transport.port import Run
from olaf.transport.segments import Segments, Vector
from olaf.transport.virtual import VirtualNetwork, Wire
from tests.testnet import SERVER, Tap, vector, weights_of, worker_address

AT = f"{SERVER[0]}:{SERVER[1]}"
ZERO = np.zeros(2, np.float32)
APPLIED = [(Outcome.APPLIED, range(1))]
COLLECTED = [(Outcome.COLLECTED, range(1))]


def update(value: float, lag: int = 0, count: int = 1, member: int = 0) -> Update:
    """Make ``count`` merged updates whose mean is ``value``."""
    gradient = np.full(2, value * count, np.float32)
    return Update(gradient, count, 0.0, (f"10.0.0.{member + 1}", 1), range(1), [lag])


class Learner:
    """Always busy: takes the newest weights, computes for a random time, offers, and waits for the answer."""

    def __init__(self, network: VirtualNetwork, number: int) -> None:
        self._network, self._random = network, Random(number)
        self.worker = Worker(AT, 2, port=network.port(worker_address(number)), seed=number, control=False)
        self.worker.begin(ZERO)
        assert self.worker.wait(5.0)
        self.weights = ZERO.copy()
        self._next()

    def _done(self) -> None:
        self.worker.offer(gradient_at(self.weights), 0.0)
        self._network.at(self._network.time + 1e-6, self._next)

    def _next(self) -> None:
        for block in self.worker.poll():
            self.weights[block.place] = block.values
        self._network.at(self._network.time + self._random.lognormvariate(0, 0.3), self._done)


def gradient_at(weights: Vector) -> Vector:
    return (np.float32(1) - weights) * np.array([0.5, 0.25], np.float32)


def trained(learners: int, updates: int, policy: Any) -> ParameterServer:
    """Train until there were so many updates of all learners together."""
    network = VirtualNetwork(Wire(delay=1e-7))
    server = ParameterServer(policy=policy, port=network.port(SERVER))
    for number in range(learners):
        Learner(network, number)
    assert network.run(stop=lambda: server.counters().updates == updates)
    return server


@pytest.mark.parametrize("learners", [1, 2, 3, 8, 16])
def test_busy_learners_are_as_stale_as_there_are_others(learners: int) -> None:
    updates = 400 * learners
    staleness = trained(learners, updates, partial(Asynchronous, rate=0.01)).counters().staleness
    assert staleness.updates == updates
    assert staleness.mean == pytest.approx(learners - 1, rel=0.01)
    assert staleness.largest >= learners - 1
    assert sum(staleness.bins) == updates


def test_one_learner_trains_as_if_there_were_no_server() -> None:
    server = trained(1, 50, partial(Asynchronous, rate=0.01))
    weights = ZERO.copy()
    for _ in range(50):
        weights += np.float32(0.01) * gradient_at(weights)
    assert weights_of(server).tolist() == weights.tolist()
    assert server.counters().staleness.figures() == {
        "mean": 0,
        "max": 0,
        "merged": 0,
        "oldest": 0,
        "histogram": {"0": 50},
    }


def thresholds(policy: Stellaris, largest: int, updates: int) -> list[float]:
    """Return β after each update; the first is ``largest`` versions stale, all others are fresh."""
    found = []
    for number in range(updates):
        policy.take(update(0.0, lag=0 if number else largest), 0)
        found.append(policy.threshold())
    return found


def test_the_threshold_falls_from_the_maximum_of_round_1() -> None:
    found = thresholds(Stellaris(ZERO, decay=0.96, round=1), 10, 51)
    assert found[0] == math.inf
    assert [round(found[k], 2) for k in (1, 10, 50)] == [9.6, 6.65, 1.3]


def test_the_published_threshold_is_a_whole_number_from_1() -> None:
    found = thresholds(Stellaris(ZERO, decay=0.5, round=4, published=True), 10, 24)
    # The mean of round 1 is 2.5, so the largest is taken to be 3.
    assert found[3::4] == [math.inf, 3, 2, 1, 1, 1]


def bounded(beta: int, scale: float = 1.0) -> Stellaris:
    """Make a policy in its second round, with β = ``beta`` × ``scale``."""
    policy = Stellaris(ZERO, rate=1.0, round=1, decay=scale)
    policy.take(update(0.0, lag=beta), 0)
    return policy


def test_a_group_waits_until_it_is_fresh_enough() -> None:
    policy = bounded(2)
    assert policy.take(update(1.0, lag=4), 0) == COLLECTED
    assert policy.take(update(1.0, lag=0), 0) == APPLIED
    policy = bounded(2, scale=0.95 ** (1 / 2))  # rounds 2 and 3: β = 1.95, 1.9
    assert policy.take(update(1.0, lag=4), 0) == COLLECTED
    assert policy.take(update(1.0, lag=0), 0) == COLLECTED
    assert policy.threshold() == pytest.approx(1.9)
    assert policy.take(update(1.0, lag=0), 0) == APPLIED


def test_stale_updates_weigh_less_and_the_mean_is_over_all() -> None:
    policy = Stellaris(ZERO, rate=1.0, root=3)
    assert [policy.weigh(lag) for lag in (0, 1, 8)] == [1, 1, 0.5]
    policy = bounded(3)
    assert policy.take(update(6.0, lag=8), 0) == COLLECTED
    assert policy.take(update(3.0, lag=1), 0) == COLLECTED
    assert policy.take(update(3.0, lag=0), 0) == APPLIED
    assert policy.weights == pytest.approx([3.0, 3.0])  # (6·½ + 3 + 3)/3


def test_a_group_never_waits_for_ever() -> None:
    policy = Stellaris(ZERO, rate=1.0, round=1, workers=3, deadline=0.5)
    policy.take(update(0.0), 0)
    assert policy.threshold() == math.inf
    assert policy.take(update(2.0, lag=1), 1.0) == COLLECTED  # β is 0
    assert policy.due() == 1.5
    assert list(policy.tick(1.4)) == []
    assert list(policy.tick(1.5)) == [0]
    assert policy.weights.tolist() == [2, 2]
    assert policy.due() is None
    assert [policy.take(update(1.0, lag=1), 2.0) for _ in range(3)] == [COLLECTED, COLLECTED, APPLIED]


def test_a_round_counts_every_update_of_a_merged_frame() -> None:
    policy = Stellaris(ZERO, rate=1.0, round=4, decay=0.5)
    policy.take(update(1.0, lag=8, count=4), 0)
    assert policy.weights.tolist() == [0.5, 0.5]
    assert policy.take(update(1.0, lag=5, count=2), 0) == COLLECTED
    assert policy.threshold() == 4


def test_softsync_moves_by_the_mean_of_each_group() -> None:
    policy = SoftSync(ZERO, rate=1.0, updates=3, deadline=2.0)
    assert policy.take(update(1.0, lag=9), 0) == COLLECTED
    assert policy.take(update(2.5, count=2), 0) == APPLIED
    assert policy.weights.tolist() == [2, 2]
    policy.take(update(4.0), 5.0)
    assert policy.due() == 7.0
    assert list(policy.tick(7.0)) == [0]
    assert policy.weights.tolist() == [6, 6]


def test_ssp_holds_updates_of_a_worker_too_far_ahead() -> None:
    policy = StaleSynchronous(ZERO, rate=1.0, slack=1)
    assert policy.take(update(0.0, member=0), 0) == APPLIED
    assert policy.take(update(0.0, member=1), 0) == APPLIED  # begins where the slowest is
    assert policy.take(update(0.0, member=1), 0) == APPLIED
    assert policy.take(update(1.0, member=1), 0) == COLLECTED
    assert policy.take(update(2.0, member=1), 0) == COLLECTED
    assert policy.weights.tolist() == [0, 0]
    assert policy.take(update(4.0, member=0), 0) == APPLIED
    assert policy.weights.tolist() == [4, 4]
    assert policy.take(update(8.0, member=0), 0) == APPLIED
    assert policy.weights.tolist() == [4 + 8 + 3, 4 + 8 + 3]


def test_ssp_does_not_wait_for_silent_workers() -> None:
    policy = StaleSynchronous(ZERO, rate=1.0, slack=0, deadline=1.0)
    policy.take(update(0.0, member=0), 0.0)
    policy.take(update(0.0, member=1), 0.0)
    assert policy.take(update(1.0, member=1), 0.5) == COLLECTED
    assert policy.due() == 1.5
    assert list(policy.tick(1.5)) == [0]
    assert policy.weights.tolist() == [1, 1]
    assert policy.take(update(1.0, member=1), 1.6) == APPLIED  # the other is gone


WRONG: list[tuple[type[Policy], dict[str, Any], str]] = [
    (Stellaris, {"decay": 0.0}, "decay of 0.0"),
    (Stellaris, {"decay": 1.1}, "decay of 1.1"),
    (Stellaris, {"decay": math.nan}, "decay of nan"),
    (Stellaris, {"root": 0.5}, "root of 0.5"),
    (Stellaris, {"root": math.nan}, "root of nan"),
    (Stellaris, {"round": 0}, "round of 0"),
    (Stellaris, {"workers": 0}, "0 workers"),
    (Stellaris, {"deadline": 0.0}, "deadline above 0"),
    (SoftSync, {"updates": 0}, "group of 0"),
    (StaleSynchronous, {"slack": -1}, "slack of -1"),
]


@pytest.mark.parametrize(("kind", "options", "message"), WRONG)
def test_a_policy_with_wrong_options_is_refused(
    kind: type[Policy], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        kind(ZERO, **options)


@pytest.mark.parametrize(
    "make",
    [
        partial(SoftSync, updates=3),
        partial(StaleSynchronous, slack=1),
        partial(Stellaris, round=4, decay=0.7),
    ],
)
def test_segments_together_do_what_they_would_one_by_one(make: Any) -> None:
    check_one_by_one(make)


def check_one_by_one(make: Any) -> None:
    """Check that a policy does with segments that arrive together what it would do one by one."""
    segments, random = Segments(11, 4), Random(7)
    together, single = (make(np.zeros(11, np.float32), segments) for _ in range(2))
    for number in range(40):
        stop = random.randint(1, 4)
        part = range(random.randrange(stop), stop)
        lags = [random.choice((0, 0, 1, 2, 9)) for _ in part]
        place, member = segments.span(part), (f"10.0.0.{random.randint(1, 3)}", 1)
        gradient, count = vector(11, number)[place], random.choice((1, 1, 3))
        outcome = together.take(Update(gradient, count, 0.0, member, part, lags), number / 10)
        apart = []
        for segment, lag in zip(part, lags):
            own = gradient[segments.slice(segment).start - place.start :][: segments.length(segment)]
            alone = range(segment, segment + 1)
            [(what, _)] = single.take(Update(own, count, 0.0, member, alone, [lag]), number / 10)
            apart.append(what)
        assert [what for what, piece in outcome for _ in piece] == apart
        assert together.weights.tolist() == single.weights.tolist()
        assert together.due() == single.due()


def test_versions_wrap() -> None:
    model = Model(Segments(4, 2), np.zeros(4, np.float32), Plain)
    model.versions = [3, 0]
    assert model.lags(range(2), [65535, 65530]) == [4, 6]
    assert model.lags(range(1, 2), [1]) == [0]  # of a server before this one


def test_a_merged_frame_tells_the_sum_of_its_updates_staleness() -> None:
    model = Model(Segments(4, 2), np.zeros(4, np.float32), Plain)
    model.versions = [40_000, 3]
    summed = [(39_990 + 39_998 + 40_000) % 65536, (1 + 65_530 + 3) % 65536]
    assert model.staleness(range(2), summed, 3, True) == [12, 2 + 9]
    assert model.staleness(range(2), [39_990, 1], 3, False) == [30, 6]
    assert model.staleness(range(1, 2), [1], 1, True) == [2]


def test_updates_from_before_the_server_count_as_old_as_it() -> None:
    model = Model(Segments(2, 1), ZERO, Plain)
    model.versions = [5]
    assert model.staleness(range(1), [(3 + 5) % 65536], 2, True) == [2]
    assert model.staleness(range(1), [(500 + 700) % 65536], 2, True) == [10]
    model.resume([65000])  # 65010 was given out since, and is lost
    model.versions = [(65000 + RESERVED + 5) % 65536]
    now = model.versions[0]
    assert model.staleness(range(1), [(2 * now - 6) % 65536], 2, True) == [6]
    assert model.staleness(range(1), [(now - 1 + 65010) % 65536], 2, True) == [10]


class Seen(Plain):
    """Remembers what it was given."""

    def take(self, update: Update, now: float) -> list[tuple[Outcome, range]]:
        self.lags = list(update.lags)
        return super().take(update, now)


def test_a_policy_is_given_the_mean_of_a_merged_frame() -> None:
    policy = Seen(ZERO)
    server = ParameterServer(
        policy=lambda weights, segments: policy,
        port=VirtualNetwork().port(SERVER),
        initial={"default": (Segments(2, 1), ZERO)},
    )
    model = server._clusters["default"].model
    assert model is not None
    model.versions = [100]
    total = 91 + 100 + 100
    header = wire.Olaf(wire.VERSION, wire.FrameType.UPDATE, 0, wire.Flag.SUMMED, 3, 0, 0.0, 1, 0, total)
    server.receive(Run(memoryview(header.pack() + ZERO.tobytes())), ("10.0.0.1", 1))
    assert policy.lags == [3]
    found = server.counters().staleness
    assert (found.total, found.largest, found.merged, found.oldest, found.bins[3]) == (9, 3, 3, 0, 3)


def test_workers_send_the_sum_of_versions_or_the_server_warns() -> None:
    seen: list[int] = []

    def without(source: Any, to: Any, frame: bytes) -> list[bytes]:
        header = wire.Olaf.unpack(frame)
        if header.frame_type != wire.FrameType.UPDATE:
            return [frame]
        seen.append(header.flags)
        header.flags, header.count = 0, 2
        return [header.pack() + frame[wire.OLAF_BYTES :]]

    network = VirtualNetwork(Tap(without))
    server = ParameterServer(policy="plain", port=network.port(SERVER))
    worker = Worker(AT, 2, port=network.port(worker_address(0)), seed=1, control=False)
    worker.begin(ZERO)
    assert worker.wait(5.0)
    worker.offer(np.ones(2, np.float32), 0.0)
    assert network.run(stop=lambda: server.counters().received == 1)
    assert seen == [wire.Flag.SUMMED]
    assert (server.counters().staleness.merged, server.counters().staleness.oldest) == (2, 2)


def test_a_restart_makes_no_update_staler() -> None:
    model = Model(Segments(2, 1), ZERO, Plain)
    model.resume([65000])  # 65010 was given out since, and is lost
    model.versions = [(65000 + RESERVED + 5) % 65536]
    assert model.lags(range(1), [65000]) == [5]
    assert model.lags(range(1), [64998]) == [7]
    assert model.lags(range(1), [65010]) == [5]
    assert model.lags(range(1), [(65000 + RESERVED + 2) % 65536]) == [3]


def test_a_histogram_has_every_update_in_one_bin() -> None:
    staleness = Staleness()
    staleness.add([0, 1, 2, 3, 4, 5], 1)
    staleness.add([2 * 32767], 2, exact=False)
    assert staleness.figures()["histogram"] == {
        **{str(bound): 0 for bound in BOUNDS},
        **{"0": 1, "1": 1, "2": 1, "4": 2, "8": 1, "32768": 2},
    }
    assert (staleness.updates, staleness.largest, staleness.merged, staleness.oldest) == (8, 32767, 2, 2)
