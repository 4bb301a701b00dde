"""Triggers: each row in one firing after any death; time without drift; table 3 of ARTOS as configuration."""

from __future__ import annotations

import queue as queues
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from olaf.experience.layout import TERMINATED, layout
from olaf.experience.passers import Bell, Bound, Passer, bind, direct, queue
from olaf.experience.ring import REFUSE, Ring
from olaf.experience.samplers import SampleToInsertRatio
from olaf.experience.triggers import DataKey, Firing, ObjectKey, Time, Transfer
from olaf.experience.writer import Writer
from olaf.transport.virtual import VirtualNetwork
from tests.experience.parts import WIDE, kill, rows, shared, start, whole
from tests.testnet import Lossy

SMALL = layout({"x": (), "reward": ()})


def fill(writer: Writer, count: int, version: int = 0) -> bool:
    at = writer.position()
    return writer.write({"x": np.arange(at, at + count), "reward": np.zeros(count)}, version=version)


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(1, 6)), max_size=60), st.booleans())
def test_firings_are_those_of_the_definition(writes: list[tuple[int, int]], late: bool) -> None:
    """n = 3 actors, size = 4 rows, in any interleaving; looked at after each write, or only at the end."""
    ring = Ring(SMALL, 400, 8)
    trigger = DataKey(ring, "learn", 3, 4)
    writers = [Writer(ring, actor) for actor in range(8)]
    unused, expected, used = [0] * 8, [], [0] * 8

    def fire() -> None:
        while len(ready := sorted((a for a in range(8) if unused[a] >= 4), key=lambda a: (used[a], a))) >= 3:
            expected.append({(a, used[a], used[a] + 4) for a in ready[:3]})
            for actor in ready[:3]:
                unused[actor] -= 4
                used[actor] += 4

    for actor, rows_written in writes:
        fill(writers[actor], rows_written)
        unused[actor] += rows_written
        if not late:
            fire()
            while trigger.check():
                pass
    fire()
    while trigger.check():
        pass
    found = []
    while (firing := trigger.take()) is not None:
        found.append(set(firing.ranges))
        trigger.done(firing)
    assert found == expected


def _play(name: str, actor: int, total: int) -> None:
    ring = Ring.open(name)
    writer, bell = Writer(ring, actor), Bell(ring, "learner")
    bound = Bound({DataKey(ring, "learn", 3, 4): bell})
    random = np.random.default_rng()
    while (at := writer.position("obs")) < total:
        chunk = min(int(random.integers(1, 6)), total - at)
        if not writer.write(rows(actor, at, chunk)):
            bell.wait(0.001)
        bound.check()


def test_each_row_is_in_one_firing_while_writers_are_killed() -> None:
    """Eight processes write and look at the trigger; all of them are killed with -9 and started again."""
    total = 480
    random = np.random.default_rng(3)
    with shared(WIDE, 64, 8, full=REFUSE) as (ring, name):
        trigger, bell = DataKey(ring, "learn", 3, 4), Bell(ring, "learner")
        processes = [start(_play, name, actor, total) for actor in range(8)]
        seen = np.zeros((8, total), int)
        fired = kills = 0
        while np.count_nonzero(total - seen.sum(axis=1) >= 4) >= 3:
            trigger.check()
            firing = trigger.take()
            if firing is None:
                bell.wait(0.01)
                continue
            fired += 1
            assert [stop - begin for _, begin, stop in firing.ranges] == [4, 4, 4]
            found = trigger.learnable(firing)
            assert (found.stale, found.lost) == (0, 0)
            actors, positions = firing.places()
            assert whole(found.batch, actors, positions)
            np.add.at(seen, (actors, positions), 1)
            trigger.done(firing)
            if fired % 8 == 0:
                kills += 1
                victim = int(random.integers(8))
                kill(processes[victim])
                processes[victim] = start(_play, name, victim, total)
        for process in processes:
            kill(process)
        bell.close()
        assert kills >= 30 and seen.max() == 1
        for actor in range(8):  # what is used is used without gaps
            used = seen[actor].sum()
            assert used % 4 == 0 and seen[actor, :used].all()
        assert trigger.cursor.count("missed") == 0


def test_a_firing_that_a_killed_learner_had_taken_comes_again() -> None:
    ring = Ring(SMALL, 20)
    trigger = DataKey(ring, "learn", 1, 4)
    fill(Writer(ring, 0), 8)
    assert trigger.check() and trigger.check()
    first = trigger.take()
    assert first is not None
    trigger.done(first)
    second = trigger.take()
    again = DataKey(ring, "learn", 1, 4)  # the learner that goes on
    assert again.take() is None
    again.cursor.again()
    assert again.take() == second and again.take() is None


def test_several_triggers_use_the_same_rows_each_by_itself() -> None:
    ring = Ring(SMALL, 20)
    fill(Writer(ring, 0), 6)
    one, other = DataKey(ring, "one", 1, 6), DataKey(ring, "other", 1, 3)
    assert one.check() and other.check() and other.check() and not one.check()


@pytest.mark.parametrize("newest", [5, 65538, 2])  # 32 bits wrap: 2 comes after 2**32 - 1
def test_rows_beyond_the_lag_bound_are_never_learnt_from(newest: int) -> None:
    ring = Ring(SMALL, 40)
    writer, trigger = Writer(ring, 0), DataKey(ring, "learn", 1, 4, max_lag=1)
    for version in range(newest - 4, newest + 1):
        fill(writer, 3, version % 2**32)
    ring.version = newest
    assert trigger.check() and not trigger.check()
    assert trigger.cursor.count("missed") == 9
    firing = trigger.take()
    assert firing is not None and firing.ranges == ((0, 9, 13),)
    ring.version = newest + 1  # the policy goes on between firing and learning
    found = trigger.learnable(firing)
    assert found.stale == 3 and found.batch["version"].tolist() == [newest]


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_a_row_is_stale_by_its_lag_however_large(max_lag: int, lag: int) -> None:
    ring = Ring(SMALL, 8)
    trigger = DataKey(ring, "learn", 1, 1, max_lag=max_lag)
    fill(Writer(ring, 0), 1, 7)
    ring.version = 7 + lag
    assert trigger.check() is (lag <= max_lag)


@pytest.mark.parametrize("max_lag", [-1, 2**31])
def test_a_lag_that_versions_cannot_tell_is_refused(max_lag: int) -> None:
    with pytest.raises(ValueError, match="max_lag"):
        DataKey(Ring(SMALL, 8), "learn", 1, 1, max_lag=max_lag)


def test_a_trigger_on_keys_does_not_wait_for_the_others() -> None:
    ring = Ring(SMALL, 8)
    trigger = DataKey(ring, "advantages", 1, 3, ("reward",))
    Writer(ring, 0).write({"reward": np.zeros(3)})
    assert trigger.check() and ring.count().tolist() == [0]


def test_a_step_is_used_when_what_follows_it_is_there() -> None:
    ring = Ring(layout({"x": ()}, following="x"), 16)
    writer, trigger = Writer(ring, 0), DataKey(ring, "learn", 1, 4)
    writer.write({"x": np.arange(4.0)})
    assert not trigger.check()
    writer.write({"x": [4.0]}, end=TERMINATED)
    assert trigger.check() and not trigger.check()
    writer.finish(x=5.0)
    writer.write({"x": np.zeros(3)})
    assert trigger.check()
    batches = [trigger.learnable(firing).batch for _ in range(2) if (firing := trigger.take()) is not None]
    assert [batch["next"].tolist() for batch in batches] == [[1, 2, 3, 4], [5, 0, 0]]


def test_time_fires_without_any_arrival_and_does_not_drift() -> None:
    """Ten thousand periods on a virtual clock, by a port's timer, of a length that binary cannot hold."""
    network = VirtualNetwork(Lossy())
    port = network.port(("10.0.0.1", 1))
    fired: list[float] = []
    bound = bind(
        Ring(SMALL, 2), {"sync": {"on": "time", "seconds": 0.1, "to": "me"}},
        {"me": direct(lambda firing: fired.extend([port.now()] * firing.periods))}, start=port.now(),
    )  # fmt: skip

    class Ticks:
        def receive(self, run: object, source: object) -> None:
            """Receive nothing: nothing comes."""

        def tick(self) -> float | None:
            bound.check(port.now())
            return bound.due()

    port.serve(Ticks())
    network.run(1000.05)
    assert len(fired) == 10_000
    assert np.abs(np.array(fired) - 0.1 * np.arange(1, 10_001)).max() < 1e-9


def test_time_fires_by_the_wall_clock_and_does_not_drift() -> None:
    """Ten thousand periods of 50 µs; a look that comes late finds all that are over."""
    seconds, start = 5e-5, time.monotonic()
    periods, late = 0, 0

    def fired(firing: Firing) -> None:
        nonlocal periods, late
        periods += firing.periods
        late += int(abs(periods - (now - start) / seconds) > 1)

    bound = bind(
        Ring(SMALL, 2), {"sync": {"on": "time", "seconds": seconds, "to": "me"}}, {"me": direct(fired)}, start
    )
    while periods < 10_000:
        now = time.monotonic()
        bound.check(now)
    assert late == 0 and periods == int((now - start) / seconds + 1e-6)
    assert bound.due() == pytest.approx(start + (periods + 1) * seconds, abs=1e-9)


def test_periods_without_a_check_are_not_lost() -> None:
    trigger = Time("sync", 0.5, 10.0)
    assert not trigger.check(10.4) and trigger.due() == 10.5
    assert trigger.check(12.3)
    firing = trigger.take()
    assert firing is not None and firing.periods == 4 and trigger.due() == 12.5


def test_a_new_object_fires_once() -> None:
    ring = Ring(SMALL, 4, objects={"weights": 3})
    trigger = ObjectKey(ring, "act", "weights")
    assert not trigger.check()
    ring.objects.publish("weights", [1, 2, 3], 1)
    ring.objects.publish("weights", [1, 2, 3], 2)
    assert trigger.check() and not trigger.check()
    firing = trigger.take()
    assert firing is not None and firing.version == 2 and trigger.take() is None


def test_a_transfer_sends_all_first_stages_before_a_second() -> None:
    ring = Ring(SMALL, 8, 2)
    trigger = Transfer(ring, "send", (("reward",), ("x",)), 3)
    for actor in range(2):
        fill(Writer(ring, actor), 3)
    sent: list[Firing] = []
    Bound({trigger: queue(Sent(sent))}).check()
    assert [(firing.stage, firing.keys, firing.ranges) for firing in sent] == [
        (0, ("reward",), ((0, 0, 3),)), (0, ("reward",), ((1, 0, 3),)),
        (1, ("x",), ((0, 0, 3),)), (1, ("x",), ((1, 0, 3),)),
    ]  # fmt: skip


class Sent:
    def __init__(self, items: list[Firing]) -> None:
        self.items = items

    def put(self, item: Firing) -> None:
        self.items.append(item)


TABLE_3: dict[str, dict[str, Any]] = {
    "temporal training": {"on": "time", "seconds": 2.0, "to": "learner"},
    "full batch update": {"on": "data", "n": 2, "size": 4, "max_lag": 0, "to": "learner"},
    "FIFO training": {"on": "data", "n": 1, "size": 4, "to": "learner"},
    "pipeline training": {"on": "data", "n": 1, "size": 4, "keys": ["reward"], "to": "learner"},
    "actor invocation": {"on": "object", "key": "weights", "to": "actors"},
    "on-policy sync": {"on": "object", "key": "weights", "to": "actors"},
    "off-policy sync": {"on": "time", "seconds": 1.0, "to": "actors"},
    "data transfer": {"on": "transfer", "stages": [["reward"], ["x"]], "size": 4, "to": "learner"},
}
"""All of ARTOS' table 3, in its order."""


def test_table_3_is_configuration_alone() -> None:
    """Two actors play four steps in each of four seconds; the weights are published after each full batch."""
    ring = Ring(SMALL, 64, 2, objects={"weights": 1})
    passed: queues.SimpleQueue[Firing] = queues.SimpleQueue()
    to: dict[str, Passer] = {"learner": queue(passed), "actors": queue(passed)}
    bound = bind(ring, TABLE_3, to)
    writers = [Writer(ring, actor) for actor in range(2)]
    fired: dict[str, int] = dict.fromkeys(TABLE_3, 0)
    for second in range(1, 5):
        for writer in writers:
            fill(writer, 4, version=second)
            ring.version = second
            bound.check(second)
        while not passed.empty():
            firing = passed.get()
            fired[firing.trigger] += 1
            bound.triggers[firing.trigger].done(firing)
            if firing.trigger == "full batch update":
                assert firing.rows == 8
                ring.objects.publish("weights", [second], second)
                bound.check(second)
    assert fired == {
        "temporal training": 2, "full batch update": 4, "FIFO training": 8, "pipeline training": 8,
        "actor invocation": 4, "on-policy sync": 4, "off-policy sync": 4, "data transfer": 16,
    }  # fmt: skip


def test_a_configuration_that_says_something_else_is_refused() -> None:
    ring = Ring(SMALL, 8)
    to = {"learner": direct(print)}
    for entry, what in (
        ({"on": "rows", "to": "learner"}, "one of data"),
        ({"on": "time", "seconds": 1.0, "to": "unknown"}, "one of learner"),
        ({"on": "data", "n": 1, "sise": 4, "to": "learner"}, "sise"),
        ({"on": "data", "n": 1, "to": "learner"}, "size"),
        ({"on": "data", "n": 3, "size": 4, "to": "learner"}, "4 rows of 3 actors"),
    ):
        with pytest.raises(ValueError, match=what):
            bind(ring, {"learn": entry}, to)


def test_neither_side_runs_away_from_the_other() -> None:
    """Four samples a row: an eager actor and an eager learner, each as often as it may, end at the ratio."""
    ring = Ring(SMALL, 4000)
    writer, ratio = Writer(ring, 0), SampleToInsertRatio(ring, 4.0, 64.0, minimum=100)
    assert not ratio.may_sample()
    for _ in range(1000):
        while ratio.may_insert() and writer.position() < 3000:
            fill(writer, 1)
        while ratio.may_sample(16):
            ratio.drew(16)
    assert ratio.inserted == 3000
    assert abs(ratio.sampled - 4 * (ratio.inserted - 100)) <= 64
    with pytest.raises(ValueError, match="tolerance"):
        SampleToInsertRatio(ring, 4.0, 2.0)
