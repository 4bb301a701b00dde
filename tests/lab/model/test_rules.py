"""The event-level rules and the golden model of OlafQueue decide alike, whatever arrives and leaves when."""

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from olafctl.queue.registers import Command, IndexSettings
from olafctl.wire.geometry import Geometry
from olafctl.wire.layouts import GRADIENT_OFFSET, Flag, FrameType
from olafctl.wire.modes import Mode
from olaflab.model.library import DISPOSITIONS
from olaflab.model.rules import Rules, Update
from olaflab.queue.golden import GoldenQueue
from olaflab.queue.golden.frames import field
from olaflab.queue.model import Instant
from olaflab.queue.traffic import update as frame_of

SLOTS, CLUSTERS = 3, 5
REWARDS = [0.0, -0.0, 1.0, 1.5, -1.0, 2.5, float("inf"), float("-inf"), float("nan")]

_READ = ("seq", "gen_time", "reward", "count", "weights_version", "flags")

UNSEEN = {"dropped_halted"}
"""The event-level model has no halted index."""
STALE = {"dropped_stale"}
OF_ROUNDS = {f"dropped_{why}" for why in ("member", "duplicate", "late", "superseded", "quota")}


class Golden:
    """The golden model, given whole updates instead of cycles."""

    def __init__(self) -> None:
        self._queue = GoldenQueue(Geometry(indices=CLUSTERS, slots=SLOTS, beats=4))
        self._cycle = 0

    def set(
        self,
        mode: Mode,
        *,
        reward_rule: bool = False,
        threshold: float = 0.0,
        wanted: int = 1,
        stale_bound: int | None = None,
    ) -> None:
        settings = IndexSettings(
            mode,
            threshold=wanted,
            reward_enable=int(reward_rule),
            reward_threshold=int(np.float32(threshold).view(np.uint32)),
            stale_enable=int(stale_bound is not None),
            stale_bound=stale_bound or 0,
        )
        self._queue.command(Command.SET, 0, CLUSTERS - 1, settings)
        for _ in range(CLUSTERS):
            self._at(commanded=True)

    def acknowledged(self, index: int, version: int) -> None:
        sidecar, ack = frame_of(index, 0, b"", weights_version=version, kind=FrameType.ACK)
        self._queue.acknowledge(sidecar, ack)

    def offer(self, update: Update) -> str:
        before = dict(self._queue.counters)
        flags = (Flag.AGGREGATED if update.aggregated else 0) | (Flag.SUMMED if update.summed else 0)
        self._queue.offer(
            *frame_of(
                update.index,
                update.worker,
                bytes(update.size - GRADIENT_OFFSET),
                seq=update.seq,
                reward=update.reward,
                gen_time=update.gen_time,
                count=update.count,
                flags=flags,
                weights_version=update.weights_version,
                member=update.worker,
            )
        )
        self._at(decided=True, settled=True)
        counters = self._queue.counters
        (what,) = [name for name in DISPOSITIONS if counters[name] != before[name]]
        return what

    def begin(self) -> Update:
        self._at(begun=True)
        gone = self._queue._begun[-1]
        read = {name: field(gone.frame, name) for name in _READ}
        return Update(
            index=gone.sidecar.index,
            worker=gone.sidecar.worker,
            seq=read["seq"],
            gen_time=read["gen_time"],
            size=len(gone.frame),
            reward=read["reward"],
            count=read["count"],
            weights_version=read["weights_version"],
            aggregated=bool(read["flags"] & Flag.AGGREGATED),
            summed=bool(read["flags"] & Flag.SUMMED),
        )

    def leave(self) -> None:
        self._at(left=True)

    @property
    def occupancy(self) -> int:
        return self._queue.occupancy

    def _at(self, **what: bool) -> None:
        self._cycle += 1
        names = ("begun", "left", "decided", "settled", "status", "admitted", "refused", "commanded")
        self._queue.at(Instant(self._cycle, *(what.get(name, False) for name in names)))


@pytest.fixture
def rules() -> Iterator[Rules]:
    with closing(Rules(SLOTS, CLUSTERS)) as queue:
        yield queue


def arriving(pick: random.Random, seq: int) -> Update:
    """An update that often meets another of its cluster, its worker, its reward or its instant."""
    reward = pick.choice(REWARDS) if pick.random() < 0.5 else pick.gauss(0, 2)
    return Update(
        index=pick.randrange(CLUSTERS),
        worker=pick.randrange(3),
        seq=seq,
        gen_time=max(0, 10 + seq // 2 - pick.randrange(4)),
        size=GRADIENT_OFFSET + 4 * pick.choice((16, 16, 16, 16, 17)),
        reward=int(np.float32(reward).view(np.uint32)),
        count=pick.choice((1, 1, 1, 1, 7, 40_000)),
        aggregated=pick.random() < 0.1,
        weights_version=(pick.choice((5, 65530)) + pick.randrange(10)) % (1 << 16),
        summed=pick.random() < 0.7,
    )


@pytest.mark.parametrize("seed", range(8))
def test_the_same_updates_meet_the_same_end(rules: Rules, seed: int) -> None:
    pick, golden, met = random.Random(seed), Golden(), Counter[str]()
    leaving = False
    for seq in range(3000):
        if seq % 100 == 0:
            mode = Mode.FIFO if pick.random() < 0.2 else Mode.OLAF
            reward_rule, threshold = pick.random() < 0.5, pick.choice((0.0, 0.5, 2.0, float("inf")))
            for queue in (rules, golden):
                queue.set(mode, reward_rule=reward_rule, threshold=threshold)
        update = arriving(pick, seq)
        met[what := rules.offer(update)] += 1
        assert what == golden.offer(update)
        if leaving and pick.random() < 0.6:
            assert rules.leave()
            golden.leave()
            leaving = False
        if not leaving and rules.occupancy and pick.random() < 0.5:
            assert rules.begin() == golden.begin()
            leaving = True
        assert rules.occupancy == golden.occupancy
    assert set(met) == set(DISPOSITIONS) - OF_ROUNDS - UNSEEN - STALE


@pytest.mark.parametrize("seed", range(8))
def test_the_same_contributions_make_the_same_sums(rules: Rules, seed: int) -> None:
    pick, golden, met = random.Random(seed), Golden(), Counter[str]()
    leaving = False
    for number in range(3000):
        if number % 50 == 0:
            mode = pick.choices((Mode.OLAF, Mode.ISWITCH, Mode.ISWITCH_ASYNC), (0.1, 0.6, 0.3))[0]
            wanted = pick.choice((1, 2, 3, 5))
            for queue in (rules, golden):
                queue.set(mode, wanted=wanted)
        if mode is Mode.ISWITCH_ASYNC:
            seq = number // 3 + pick.choice((0, 0, 0, 1, 2, -1, -5, -15, -16, -17, -40, 16, 40))
        else:
            seq = number // 20 + pick.choice((-1, 0, 0, 0, 0, 1))
        update = replace(
            arriving(pick, (seq - 5) % (1 << 32)), worker=pick.choice((0, 1, 2, 3, 31, 32)), gen_time=number
        )
        met[what := rules.offer(update)] += 1
        assert what == golden.offer(update)
        if leaving and pick.random() < 0.6:
            assert rules.leave()
            golden.leave()
            leaving = False
        if not leaving and pick.random() < 0.5 and (begun := rules.begin()) is not None:
            assert begun == golden.begin()
            leaving = True
        assert rules.occupancy == golden.occupancy
    assert set(met) >= OF_ROUNDS


@pytest.mark.parametrize("seed", range(4))
def test_the_same_updates_are_stale(rules: Rules, seed: int) -> None:
    pick, golden, met = random.Random(seed), Golden(), Counter[str]()
    version = pick.choice((0, 65500, 32700))
    for seq in range(3000):
        if seq % 300 == 0:
            mode, bound = (
                pick.choice((Mode.OLAF, Mode.FIFO, Mode.ISWITCH)),
                pick.choice((None, 0, 2, 40, 65535)),
            )
            for queue in (rules, golden):
                queue.set(mode, wanted=3, stale_bound=bound)
        if pick.random() < 0.2:
            version += pick.choice((0, 1, 1, 3, -1, -30 if pick.random() < 0.2 else 1))
            index = pick.randrange(CLUSTERS)
            for queue in (rules, golden):
                queue.acknowledged(index, version % 65536)
        behind = pick.choice((0, 0, 1, 2, 3, 50, 1 << 15, -2))
        update = replace(arriving(pick, seq // 3), weights_version=(version - behind) % 65536)
        met[what := rules.offer(update)] += 1
        assert what == golden.offer(update)
        if pick.random() < 0.7 and (begun := rules.begin()) is not None:
            assert begun == golden.begin()
            assert rules.leave()
            golden.leave()
    assert set(met) >= STALE


def test_nothing_leaves_an_empty_queue_and_one_leaves_at_a_time(rules: Rules) -> None:
    assert rules.begin() is None
    assert not rules.leave()
    for index in (0, 1):
        rules.offer(Update(index, 1, 0, 0, 128))
    assert rules.begin() is not None
    assert rules.begin() is None
    assert rules.leave()


def test_a_merged_frame_has_its_newest_across_gen_time_wrap(rules: Rules) -> None:
    rules.offer(Update(0, 1, 1, (1 << 48) - 5, 128))
    assert rules.offer(Update(0, 2, 2, 5, 128)) == "merged"
    merged = rules.begin()
    assert merged is not None
    assert (merged.seq, merged.gen_time, merged.count, merged.aggregated) == (2, 5, 2, True)
