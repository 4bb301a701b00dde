"""Actors that sleep: invoked for a turn, stopped in between; killed at any time; leases; what is held."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Callable

import numpy as np
import pytest

from olaf.elastic import (
    CPU,
    GPU,
    Actors,
    GradientNoise,
    Held,
    Monitor,
    NetworkLimit,
    NoiseScale,
    Pool,
    Schedule,
    Seen,
    SharedPool,
    State,
    stopped,
)
from olaf.errors import ActorFailed
from olaf.experience import DataKey, Ring, Writer, layout

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked at in /proc")
BLOCK = 8


def playing(number: int, ring: str, dies_at: int) -> Callable[[], object]:
    """Play an actor whose rows tell their number; one is killed in the middle of a turn."""
    there = Ring.open(ring)
    mine = Writer(there, number)

    def turn() -> None:
        start = mine.position()
        rows = np.arange(start, start + BLOCK, dtype=np.float32)
        mine.write({"obs": np.stack([rows, rows], axis=1)}, version=there.version)
        if number == dies_at and there.version == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        mine.write({"reward": rows})

    return turn


def failing(number: int) -> Callable[[], object]:
    raise ArithmeticError(f"no environment {number}")


def dying(number: int) -> Callable[[], object]:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


@contextmanager
def cast(count: int, name: str, dies_at: int = -1) -> Iterator[tuple[Ring, Actors, Held]]:
    ring = Ring(layout({"obs": 2, "reward": ()}), 4 * BLOCK, count, name=f"{name}-{os.getpid()}")
    held = Held()
    actors = Actors(playing, (f"{name}-{os.getpid()}", dies_at), held=held, now=time.monotonic)
    try:
        yield ring, actors, held
    finally:
        actors.close()
        ring.unlink()


def until(holds: Callable[[], bool]) -> None:
    """Wait until the kernel has stopped or ended processes, which it does when it next looks at them."""
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def play(actors: Actors, count: int) -> list[int]:
    actors.invoke(range(count))
    finished: list[int] = []
    while actors.playing:
        finished += actors.serve(60.0)
    return sorted(finished)


@LINUX
def test_an_idle_actor_is_stopped_and_holds_nothing() -> None:
    with cast(3, "still") as (ring, actors, held):
        assert play(actors, 3) == [0, 1, 2]
        pids = actors.pids()
        assert (actors.awake, held.holding(CPU)) == (0, 0)
        assert set(actors.states.values()) == {State.ASLEEP}
        until(lambda: all(stopped(pid) for pid in pids.values()))
        assert play(actors, 2) == [0, 1]
        assert actors.pids() == pids  # woken, not started
        assert ring.count().tolist() == [2 * BLOCK, 2 * BLOCK, BLOCK]


@LINUX
def test_an_actor_that_dies_in_a_turn_leaves_no_torn_row() -> None:
    with cast(3, "killed", dies_at=1) as (ring, actors, _):
        learn = DataKey(ring, "learn", 1, BLOCK, max_lag=0)
        seen: Counter[tuple[int, float]] = Counter()
        for version, expected in enumerate([[0, 1, 2], [0, 2], [0, 1, 2]]):
            ring.version = version
            assert play(actors, 3) == expected
            while learn.check():
                firing = learn.take()
                assert firing is not None
                batch = learn.learnable(firing).batch
                assert np.array_equal(batch["obs"][:, 0], batch["reward"])  # whole rows alone
                assert (batch["version"] == version).all()
                seen.update(zip(batch["actor"].tolist(), batch["reward"].tolist()))
                learn.done(firing)
        assert actors.deaths == 1
        assert set(seen.values()) == {1}
        assert Counter(actor for actor, _ in seen) == {0: 3 * BLOCK, 1: 2 * BLOCK, 2: 3 * BLOCK}


@LINUX
def test_an_actor_killed_while_asleep_is_replaced() -> None:
    with cast(2, "asleep") as (_, actors, _held):
        play(actors, 2)
        pid = actors.pids()[0]
        os.kill(pid, signal.SIGKILL)
        while actors.deaths == 0:
            actors.serve(60.0)
        assert play(actors, 2) == [0, 1]
        assert actors.pids()[0] != pid


def test_an_actor_that_cannot_begin_is_reported_and_not_retried() -> None:
    for begin, what in ((failing, "ArithmeticError: no environment 0"), (dying, "died 3 times in a row")):
        actors = Actors(begin, held=Held(), now=time.monotonic)
        try:
            with pytest.raises(ActorFailed, match=what):
                while True:
                    actors.invoke([0])
                    actors.serve(60.0)
        finally:
            actors.close()


@LINUX
def test_stopped_actors_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(
        textwrap.dedent("""\
        import os, signal, sys, time
        import tests.test_actors as these

        if __name__ == "__main__":
            with these.cast(2, "orphan") as (ring, actors, _):
                these.play(actors, 2)
                ring.unlink()
                print(*actors.pids().values(), flush=True)
                os.kill(os.getpid(), signal.SIGKILL)
    """)
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent.parent)])}
    run = subprocess.run(
        [sys.executable, script], env=environment, capture_output=True, text=True, timeout=120
    )
    pids = [int(pid) for pid in run.stdout.split()]
    assert len(pids) == 2, run.stderr
    until(lambda: all(_gone(pid) for pid in pids))


def test_a_script_without_a_main_guard_is_named_once(tmp_path: Path) -> None:
    script = tmp_path / "unguarded.py"
    script.write_text("""if True:
        import time
        import tests.test_actors as these
        actors = these.Actors(these.failing, held=these.Held(), now=time.monotonic)
        actors.invoke([0])
        while True:
            actors.serve(60.0)
    """)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    run = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True)
    assert run.stderr.splitlines()[-1].startswith(f"olaf.errors.OlafError: {script} starts processes")
    assert run.stderr.count("Traceback") == 1 and '__name__ == "__main__"' in run.stderr


@LINUX
def test_a_process_that_is_to_stop_counts_as_stopped_before_its_turn_comes() -> None:
    """SIGSTOP waits while a process cannot be scheduled, as on a busy machine: here, in an idle class."""
    child = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        for _ in range(200):
            os.kill(child.pid, signal.SIGSTOP)
            assert stopped(child.pid)
            os.kill(child.pid, signal.SIGCONT)
    finally:
        child.kill()
        child.wait()


def _gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state in ("Z", "X")


def test_seconds_are_held_once_and_all_of_them() -> None:
    held, random = Held(), np.random.default_rng(3)
    spans: dict[int, list[float]] = {}
    expected, now = 0.0, 0.0
    for _ in range(2000):
        now += float(random.random())
        holder = int(random.integers(6))
        if holder in spans:
            expected += now - spans.pop(holder)[0]
            held.free(CPU, holder, now)
        else:
            spans[holder] = [now]
            held.hold(CPU, holder, now)
            with pytest.raises(ValueError, match="already holds a cpu"):
                held.hold(CPU, holder, now)
            held.hold(GPU, holder, now)
            held.free(GPU, holder, now)
    assert held.holding(CPU) == len(spans)
    assert held.seconds(CPU, now) == pytest.approx(expected + sum(now - begun for (begun,) in spans.values()))
    assert held.seconds(GPU, now) == 0
    with pytest.raises(ValueError, match="holds no gpu"):
        held.free(GPU, 0, now)


def test_units_go_to_the_first_request_and_count_while_held() -> None:
    now, held = [0.0], Held()
    pool, granted = Pool(2, held, lambda: now[0]), list[tuple[str, int]]()

    def grant(learner: str, unit: int) -> None:
        granted.append((learner, unit))

    for learner in "abcd":
        pool.ask(learner, partial(grant, learner))
    assert granted == [("a", 0), ("b", 1)]
    now[0] = 3.0
    pool.give_back("b", 1)
    assert granted[2:] == [("c", 1)]
    now[0] = 5.0
    pool.give_back("a", 0)
    assert granted[3:] == [("d", 0)]
    assert held.seconds(GPU, 5.0) == 5 + 3 + 2
    with pytest.raises(ValueError, match="holds no gpu"):
        pool.give_back("a", 0)


def test_a_smaller_pool_lets_holders_finish() -> None:
    pool, granted = Pool(3, Held(), float), list[int]()
    for learner in range(6):
        pool.ask(learner, granted.append)
    assert granted == [0, 1, 2]
    pool.limit(1)
    pool.give_back(1, 1)
    pool.give_back(2, 2)
    assert granted == [0, 1, 2]
    pool.give_back(0, 0)
    assert granted[3:] == [0]
    pool.limit(9)
    assert granted[4:] == [1, 2]


def test_a_shared_pool_grants_no_more_than_its_limit() -> None:
    name = f"limit-{os.getpid()}"
    pool, other = SharedPool(name, 2), SharedPool(name, 2)
    try:
        pool.limit(1)
        with other.lease() as first:
            waits = threading.Thread(target=lambda: other.lease().__enter__())
            waits.start()
            until(lambda: pool.waiting == 1)
            waits.join(0.02)
            assert (first, waits.is_alive()) == (0, True)
            pool.limit(2)
            waits.join(60.0)
            assert not waits.is_alive()
    finally:
        pool.unlink()


def test_a_shared_unit_has_one_holder_and_outlives_it() -> None:
    name = f"pool-{os.getpid()}"
    pool = SharedPool(name, 1)
    script = (
        "import sys, os, signal\nfrom olaf.elastic import SharedPool\n"
        f"with SharedPool({name!r}, 1).lease():\n    print('has it', flush=True)\n    sys.stdin.readline()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    order: list[int] = []

    def learn(number: int) -> None:
        with pool.lease() as unit:
            assert unit == 0
            order.append(number)

    try:
        with subprocess.Popen([sys.executable, "-c", script], stdin=-1, stdout=-1, text=True) as other:
            assert other.stdout is not None and other.stdin is not None
            assert other.stdout.readline() == "has it\n"
            threads = []
            for number in range(3):
                threads.append(threading.Thread(target=learn, args=(number,)))
                threads[-1].start()
                while pool.waiting < number + 1:
                    time.sleep(0.001)
            assert order == []
            other.stdin.write("\n")
            other.stdin.flush()
            for thread in threads:
                thread.join(60.0)
        assert order == [0, 1, 2]
    finally:
        pool.unlink()


def test_actors_are_woken_as_the_window_says() -> None:
    monitor = Monitor()
    for end in (5.0, 5.2, 4.9, 5.1):
        monitor.add(0.4, end)
    assert monitor.prewarm() is None  # four of five
    monitor.add(0.5, 5.0)
    # min(ends) - max(starts) - (max - min of 4.6, 4.8, 4.5, 4.7, 4.5)
    assert monitor.prewarm() == pytest.approx(4.9 - 0.5 - 0.3)
    exactly = Monitor(window=2, share=0.2)
    exactly.add(0.0, 9.0)
    exactly.add(0.0, 11.0)
    assert not exactly.stable  # 2 is not below 0.2 * 10
    exactly.add(0.0, 9.1)
    assert exactly.stable


def test_updates_grow_by_schedule_and_by_noise() -> None:
    schedule = Schedule(4, 32, 4, 25)
    assert [schedule.blocks(Seen(updates, 4)) for updates in (0, 24, 25, 174, 175, 500)] == [
        4,
        4,
        8,
        28,
        32,
        32,
    ]
    random, size, rows = np.random.default_rng(1), 200, 16
    direction = random.standard_normal(size) / size**0.5
    scale, noise = None, GradientNoise()
    for _ in range(400):
        parts = direction + random.standard_normal((4, size)) * (640 / size / rows) ** 0.5
        scale = noise.add(list(parts.astype(np.float32)), rows)
    assert scale == pytest.approx(640 / float(direction @ direction), rel=0.2)
    policy = NoiseScale(2, 32, rows)
    assert policy.blocks(Seen(1, 4, None)) == 4
    assert policy.blocks(Seen(1, 4, 1e6)) == 8  # at most twice
    assert policy.blocks(Seen(1, 32, 1.0)) == 16
    assert policy.blocks(Seen(1, 32, 20.0 * rows)) == 20


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e25])
def test_gradients_that_are_not_finite_leave_the_noise_scale_as_it_was(bad: float) -> None:
    random, hit, spared = np.random.default_rng(2), GradientNoise(), GradientNoise()
    dropped = 0
    for _ in range(200):
        parts = list((0.5 + random.standard_normal((4, 10))).astype(np.float32))
        expected = spared.add(parts, 64)
        if random.random() < 0.3:
            broken = [part.copy() for part in parts]
            broken[random.integers(4)][random.integers(10)] = bad
            hit.add(broken, 64)
            dropped += 1
        assert hit.add(parts, 64) == expected
    assert hit.broken == dropped > 0


def test_a_congested_network_puts_actors_to_sleep() -> None:
    wanted: list[int] = []

    def admit(actors: int) -> bool:
        wanted.append(actors)
        return actors <= 6

    limit = NetworkLimit(admit)
    assert limit.awake(8, 8, active=16, slots=8, probability=1.0) == 4
    assert limit.awake(4, 8, active=4, slots=8, probability=0.25) == 1
    assert limit.awake(1, 8, active=64, slots=8, probability=0.0) == 1
    assert wanted == []
    assert [limit.awake(now, 8, 8, 8, 1.0) for now in (1, 5, 6, 8)] == [2, 6, 6, 8]
    assert (wanted, limit.refused) == ([2, 6, 7], 1)
    assert limit.awake(8, 3, 0, 0, 1.0) == 3
