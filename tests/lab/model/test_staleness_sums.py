"""What a server makes of merged frames: the sum of their constituents' staleness, exactly."""

import os
import random
from contextlib import closing
from functools import partial

import numpy as np
from olaf import ParameterServer
from olaf.policies import Asynchronous
from olaf.transport import wire
from olaf.transport.port import Run
from olaf.transport.segments import Segments
from olaf.transport.virtual import VirtualNetwork

from olafctl.wire.layouts import GRADIENT_OFFSET
from olafctl.wire.modes import Mode
from olaflab.model.rules import Rules, Update

MERGES = 100_000 if "OLAF_TEST_ALL" in os.environ else 10_000
SEGMENTS, SLOTS, WORKERS = 3, 2, 40
SERVER = ("10.0.0.100", 5000)
PERIOD = 1 << 16
SHORT_OF_A_WRAP = PERIOD - 200


class Queue:
    """The engine's rules, and beside them which versions are in each update that waits."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._line: list[tuple[int, list[int]]] = []
        self.merged = 0

    def offer(self, update: Update) -> None:
        what = self._rules.offer(update)
        if what == "appended":
            self._line.append((update.index, [update.weights_version]))
        waiting = next((held for index, held in self._line if index == update.index), None)
        if what.startswith("replaced"):
            assert waiting is not None
            waiting[:] = [update.weights_version]
        elif what == "merged":
            assert waiting is not None
            waiting.append(update.weights_version)
            self.merged += 1

    def take(self) -> tuple[Update, list[int]] | None:
        """What leaves next, and the versions in it."""
        update = self._rules.begin()
        if update is None:
            return None
        assert self._rules.leave()
        _, versions = self._line.pop(0)
        return update, versions


def test_the_sum_is_that_of_the_constituents_in_all_merges() -> None:
    pick = random.Random(11)
    weights = np.zeros(SEGMENTS, np.float32)
    server = ParameterServer(
        policy=partial(Asynchronous, rate=0.01),
        port=VirtualNetwork().port(SERVER),
        initial={"default": (Segments(SEGMENTS, SEGMENTS), weights)},
        divisions={"default": SEGMENTS},
    )
    model = server._clusters["default"].model
    assert model is not None
    model.versions = [SHORT_OF_A_WRAP] * SEGMENTS
    staleness = server.counters().staleness
    known = [[SHORT_OF_A_WRAP] * SEGMENTS for _ in range(WORKERS)]
    total = frames = merged_frames = 0
    with closing(Rules(SLOTS, SEGMENTS)) as rules:
        rules.set(Mode.OLAF, reward_rule=True, threshold=2.0)
        queue, seq = Queue(rules), 0
        while queue.merged < MERGES:
            seq += 1
            worker, segment = pick.randrange(WORKERS), pick.randrange(SEGMENTS)
            reward = int(np.float32(pick.choice((0.0, 0.0, 0.0, 1.0, 3.0))).view(np.uint32))
            # Held by its worker for a while, it is as old as its oldest part.
            if pick.random() < 0.9:
                known[worker][segment] = model.versions[segment]
            queue.offer(
                Update(
                    segment,
                    worker,
                    seq,
                    seq,
                    GRADIENT_OFFSET + 4,
                    reward,
                    1,
                    known[worker][segment],
                    summed=True,
                )
            )
            if pick.random() > 0.15 or (left := queue.take()) is None:
                continue
            update, versions = left
            now = model.versions[update.index]
            frame = _frame(update)
            source = (f"10.0.1.{update.worker}", 5001)
            for _ in range(pick.choice((1, 1, 1, 2, 3))):
                server.receive(Run(memoryview(frame)), source)
            total += sum((now - version) % PERIOD for version in versions)
            frames += 1
            merged_frames += len(versions) > 1
            assert update.count == len(versions)
            assert staleness.total == total
    counters = server.counters()
    assert merged_frames > MERGES / 100
    assert max(model.versions) < SHORT_OF_A_WRAP  # they did
    assert staleness.oldest == 0
    assert counters.duplicates == counters.received - frames


def _frame(update: Update) -> bytes:
    flags = (wire.Flag.AGGREGATED if update.aggregated else 0) | (wire.Flag.SUMMED if update.summed else 0)
    return (
        wire.Olaf(
            *(wire.VERSION, wire.FrameType.UPDATE, 0, flags, update.count, update.seq, 0.0, update.gen_time),
            *(update.index, update.weights_version),
        ).pack()
        + np.ones(1, "<f4").tobytes()
    )
