"""Learners as processes and as tasks of a Ray cluster: rows of killed ones are learnt exactly once."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, NamedTuple

import pytest

from olaf.elastic import Learners, Ledger, Processes
from olaf.errors import LearnerFailed
from tests.ray_cluster import start_ray


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    with start_ray(processors=2):
        yield


@pytest.fixture(params=["processes", "tasks"])
def kind(request: pytest.FixtureRequest) -> Any:
    """Provide a kind of runner of learners."""
    if request.param == "processes":
        return Processes
    request.getfixturevalue("cluster")
    from olaf.elastic.tasks import Tasks

    return Tasks


def square(weights: float, rows: int) -> tuple[int, float]:
    """Learn by squaring."""
    return rows, weights * rows**2


def signalled(rows: int | str, number: int) -> float:
    """Send a signal to the process itself at the first look at the name of a file."""
    if isinstance(rows, int):
        return rows
    place = Path(rows)
    if not place.exists():
        place.touch()
        os.kill(os.getpid(), number)
    return 0


def dying(weights: float, rows: int | str) -> float:
    return signalled(rows, signal.SIGKILL)


def halting(weights: float, rows: int | str) -> float:
    """Stop by itself, so that it can be killed there."""
    return signalled(rows, signal.SIGSTOP)


def broken(weights: float, rows: int) -> None:
    raise ArithmeticError(f"no rows like {rows}")


class Plant(NamedTuple):
    """Two learners of some rows, and what they learnt."""

    learners: Learners
    runner: Any
    learnt: list[Any]
    ledger: Ledger

    def finish(self, batches: int) -> None:
        """Serve until so many batches are learnt, and no learner is alive."""
        while len(self.learnt) < batches:
            assert self.runner.serve(self.learners, 120.0)
        self.learners.tick()
        while self.learners.alive:  # one that was starting when the rows were gone
            assert self.runner.serve(self.learners, 120.0)
            self.learners.tick()
        assert not (self.runner.pids() if isinstance(self.runner, Processes) else self.runner.slots)


@contextmanager
def running(kind: Callable[..., Any], function: Callable[..., Any], rows: list[Any]) -> Iterator[Plant]:
    runner, learnt, waiting = kind(function), list[Any](), deque(rows)
    ledger = Ledger(1.0, 2, time.monotonic())
    learners = Learners(
        runner,
        lambda: waiting.popleft() if waiting else None,
        lambda: 2.0,
        learnt.append,
        ledger,
        time.monotonic,
        capacity=2,
        keep_alive=0.0,
    )
    try:
        learners.wake()
        yield Plant(learners, runner, learnt, ledger)
    finally:
        runner.close()


def test_all_rows_are_learnt_and_all_learners_end(kind: Any) -> None:
    with running(kind, square, list(range(1, 40))) as plant:
        plant.finish(39)
    assert sorted(plant.learnt) == [(number, 2.0 * number**2) for number in range(1, 40)]
    assert plant.ledger.report(time.monotonic()).batches == 39


def test_rows_of_a_killed_learner_are_learnt_exactly_once(kind: Any, tmp_path: Path) -> None:
    rows = [*range(1, 7), str(tmp_path / "been"), *range(7, 13)]
    with running(kind, dying, rows) as plant:
        plant.finish(13)
    assert Counter(plant.learnt) == Counter(range(13))
    report = plant.ledger.report(time.monotonic())
    assert (report.batches, report.killed) == (13, 1)
    assert report.invoked == pytest.approx(sum(each.cost(0.0) for each in plant.ledger.invocations))


def test_a_stopped_process_can_be_killed_from_outside(tmp_path: Path) -> None:
    been = tmp_path / "been"
    with running(Processes, halting, [1, str(been), 2, 3, 4, 5, 6]) as plant:
        while len(plant.learnt) < 6 or not been.exists():
            plant.runner.serve(plant.learners, 0.1)
        (slot,) = [number for number, each in plant.learners._slots.items() if each.batch is not None]
        os.kill(plant.runner.pids()[slot], signal.SIGKILL)
        plant.finish(7)
    assert sorted(plant.learnt) == list(range(7))
    assert plant.ledger.report(time.monotonic()).killed == 1


def test_a_learner_that_raises_an_exception_is_reported(kind: Any) -> None:
    with (
        running(kind, broken, [7]) as plant,
        pytest.raises(LearnerFailed, match="ArithmeticError: no rows like 7"),
    ):
        while plant.runner.serve(plant.learners, 120.0):
            pass
