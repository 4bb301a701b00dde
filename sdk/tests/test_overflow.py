"""What a policy keeps stays finite whatever comes: plain numbers of binary64 say what each has to do."""

from __future__ import annotations

import logging
import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olaf import ParameterServer
from olaf.policies import POLICIES, Outcome, Policy, SoftSync, Update
from olaf.transport import wire
from olaf.transport.segments import Segments, payload
from olaf.transport.virtual import VirtualNetwork
from tests.testnet import SERVER, of, worker_address

LARGEST = float(np.finfo(np.float32).max)
RATE = 0.5
LAG = 8
NUMBERS = st.sampled_from([1.0, -2.0, 0.25, 1e12, 1e20, 3e38, -3e38, 2.1e38, -1.3e38])
UPDATES = st.lists(st.tuples(NUMBERS, st.sampled_from([1, 1, 2, 3]), st.integers(0, 1)), max_size=12)
"""The sum in a segment, the updates in it, and their member."""
OPTIONS: dict[str, dict[str, Any]] = {
    "olaf": {},
    "plain": {},
    "synchronous": {"workers": 2},
    "periodic": {"updates": 3},
    "softsync": {"updates": 2},
    "async": {},
    "ssp": {"slack": 0, "deadline": 1e9},
    "stellaris": {"root": 3.0},
}
WITH_OPTIMIZER = ("softsync", "async", "ssp", "stellaris")
CASES = [(name, None) for name in OPTIONS] + [
    (name, optimizer) for name in WITH_OPTIMIZER for optimizer in ("adam", "sgd", "rmsprop")
]


class Overflow(ArithmeticError):
    pass


def held(number: float) -> float:
    """Return the number, if binary32 holds it."""
    if not abs(number) <= LARGEST:
        raise Overflow
    return number


class Oracle:
    """One segment of one value."""

    def __init__(self, name: str, optimizer: str | None) -> None:
        self.weight, self.dropped = 0.0, 0
        self._by, self._optimizer = getattr(self, f"_take_{name}"), optimizer
        self._steps, self._first, self._second = 0, 0.0, 0.0
        self._average: float | None = None
        self._sum, self._count = 0.0, 0
        self._single: dict[int, float] = {}
        self._ticks: dict[int, int] = {}
        self._waiting: dict[int, tuple[float, int]] = {}

    def take(self, total: float, count: int, member: int) -> Outcome:
        try:
            return Outcome.APPLIED if self._by(total, count, member) else Outcome.COLLECTED
        except Overflow:
            self.dropped += 1
            return Outcome.REFUSED

    def _step(self, mean: float, scale: float) -> bool:
        held(mean)
        steps, first, second, move = self._steps + 1, self._first, self._second, mean
        if self._optimizer == "adam":
            first = 0.9 * first + 0.1 * mean
            second = held(0.999 * second + 0.001 * mean * mean)
            root = math.sqrt(second / (1 - 0.999**steps))
            move = first / (1 - 0.9**steps) / (root + 1e-8)
        elif self._optimizer == "rmsprop":
            second = held(0.99 * second + 0.01 * mean * mean)
            move = mean / (math.sqrt(second) + 1e-8)
        elif self._optimizer == "sgd":
            first = move = held((0.9 * first if self._steps else 0.0) + mean)
        self.weight = held(self.weight + RATE * scale * move)
        self._steps, self._first, self._second = steps, first, second
        return True

    def _take_plain(self, total: float, count: int, member: int) -> bool:
        self.weight = held(self.weight + RATE * total)
        return True

    def _take_async(self, total: float, count: int, member: int) -> bool:
        return self._step(total / count, count)

    def _take_olaf(self, total: float, count: int, member: int) -> bool:
        mean, left = total / count, 0.5**count
        away = held((mean if self._average is None else self._average) - mean)
        average = held(mean + left * away)
        self.weight = held(self.weight + RATE * held(total + (1 - left) * away))
        self._average = average
        return True

    def _take_group(self, total: float, count: int, enough: int, weight: float = 1.0) -> bool:
        self._sum = held(self._sum + weight * total)
        self._count += count
        if self._count < enough:
            return False
        mean, self._sum, self._count = self._sum / weight / self._count, 0.0, 0
        return self._step(mean, weight)

    def _take_softsync(self, total: float, count: int, member: int) -> bool:
        return self._take_group(total, count, 2)

    def _take_periodic(self, total: float, count: int, member: int) -> bool:
        return self._take_group(total, count, 3)

    def _take_stellaris(self, total: float, count: int, member: int) -> bool:
        return self._take_group(total, count, 1, LAG ** (-1 / 3))  # round 1 lasts for 40 updates

    def _take_synchronous(self, total: float, count: int, member: int) -> bool:
        if count == 1:
            self._single[member] = total
        else:
            self._sum, self._count = held(self._sum + total), self._count + count
        count = self._count + len(self._single)
        if count < 2:
            return False
        numbers = [self._sum, *self._single.values()]
        self._sum, self._count = 0.0, 0
        self._single.clear()
        return self._step(_add(numbers) / count, 1)

    def _take_ssp(self, total: float, count: int, member: int) -> bool:
        ticks = self._ticks.setdefault(member, min(self._ticks.values(), default=1) - 1)
        self._ticks[member] = ticks + 1
        failed = False
        held_sum, holds = self._waiting.get(member, (0.0, 0))
        try:
            self._waiting[member] = held(held_sum + total), holds + count
        except Overflow:
            failed = True
        slowest = min(self._ticks.values())
        free = [m for m in self._ticks if m in self._waiting and self._ticks[m] == slowest]
        taken = [self._waiting.pop(m) for m in free]
        if taken:
            count = sum(number for _, number in taken)
            try:
                self._step(_add([number for number, _ in taken]) / count, count)
            except Overflow:
                self.dropped += failed
                raise
        elif failed:
            raise Overflow
        else:
            return False
        self.dropped += failed
        return True


def _add(numbers: list[float]) -> float:
    total = 0.0
    for number in numbers:
        total = held(total + number)
    return total


def made(name: str, optimizer: str | None, segments: Segments) -> Policy:
    options = dict(OPTIONS[name], rate=RATE)
    if optimizer is not None:
        torch = pytest.importorskip("torch")
        options["optimizer"] = partial(torch.optim.SGD, momentum=0.9) if optimizer == "sgd" else optimizer
    policy: Policy = POLICIES[name](np.zeros(segments.values, np.float32), segments, **options)
    return policy


@pytest.mark.parametrize(("name", "optimizer"), CASES)
@settings(max_examples=60, deadline=None)
@given(sent=st.data())
def test_an_update_that_overflows_leaves_what_was_kept(name: str, optimizer: str | None, sent: Any) -> None:
    """Two segments side by side: what overflows in one is taken in the other."""
    segments = Segments(5, 2)
    policy = made(name, optimizer, segments)
    oracles = [Oracle(name, optimizer) for _ in range(2)]
    largest = 1.0
    for number, (total, count, member) in enumerate([*sent.draw(UPDATES), (1.0, 3, 0), (1.0, 3, 1)]):
        totals = [total, 1.0] if number % 2 else [1.0, total]
        gradient = np.repeat(np.array(totals, np.float32), [3, 2])
        update = Update(gradient, count, -math.inf, worker_address(member), range(2), [LAG, LAG])
        outcomes = [outcome for outcome, part in policy.take(update, 0.0) for _ in part]
        assert outcomes == [oracle.take(each, count, member) for oracle, each in zip(oracles, totals)]
        kept = [policy.weights, *(array for key, array in policy.state().items() if key != "reward")]
        assert all(np.isfinite(array).all() for array in kept)
        largest = max(largest, abs(total))
        for segment, oracle in enumerate(oracles):
            weights = policy.weights[segments.slice(segment)]
            near = max(abs(oracle.weight), largest if optimizer in (None, "sgd") else 1.0)
            assert weights == pytest.approx(oracle.weight, rel=1e-3, abs=1e-5 * near)
    assert policy.overflows.count == sum(oracle.dropped for oracle in oracles)


def test_a_server_counts_what_overflows_warns_once_and_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    network = VirtualNetwork()
    policy = partial(SoftSync, rate=1.0, updates=10, deadline=1.0)
    initial = {"default": (Segments(2, 1), np.full(2, 3e38, np.float32))}
    server = ParameterServer(policy=policy, port=network.port(SERVER), initial=initial)
    with caplog.at_level(logging.WARNING, "olaf"):
        for number, value in enumerate([3e38, 3e38, 3e38]):
            header = wire.Olaf(wire.VERSION, wire.FrameType.UPDATE, 0, 0, 1, number, 0.0, 0, 0, 0)
            body = bytes(payload(np.full(2, value, np.float32)))
            server.receive(of(header.pack() + body), worker_address(0))
        counted = server.counters()
        assert (counted.collected, counted.refused, counted.overflowed) == (1, 2, 2)
        network.run(2.0)  # the deadline: 3e38 + 3e38
    assert (counted.applied, counted.overflowed, server.versions()) == (0, 3, [0])
    assert [record.message for record in caplog.records] == [
        "sums of updates and kept values have numbers that are not finite in binary32; "
        "they are dropped, and so are later ones"
    ]
