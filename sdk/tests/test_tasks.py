"""Learners as tasks of a Ray cluster: those of killed ones are learnt exactly once."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable

import pytest

pytest.importorskip("ray")

import ray

from olaf.elastic import Learners, Ledger
from olaf.elastic.tasks import Tasks
from olaf.errors import LearnerFailed


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    environment = {"env_vars": {"PYTHONPATH": str(Path(__file__).parents[1])}}
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env=environment)
    yield
    ray.shutdown()


def dying(weights: float, rows: int | str) -> float:
    """A learner that is killed at its first look at the name of a file."""
    if isinstance(rows, int):
        return weights * rows
    place = Path(rows)
    if not place.exists():
        place.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return -1.0


def broken(weights: float, rows: int) -> None:
    raise ArithmeticError(f"no rows like {rows}")


@contextmanager
def running(
    function: Callable[..., Any], rows: list[Any]
) -> Iterator[tuple[Learners, Tasks, list[Any], Ledger]]:
    tasks, learnt, waiting = Tasks(function), list[Any](), deque(rows)
    ledger = Ledger(1.0, 2, time.monotonic())
    learners = Learners(
        tasks,
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
        yield learners, tasks, learnt, ledger
    finally:
        tasks.close()


def test_rows_of_a_killed_task_are_learnt_exactly_once_and_all_learners_end(tmp_path: Path) -> None:
    rows = [*range(6), str(tmp_path / "been"), *range(6, 12)]
    with running(dying, rows) as (learners, tasks, learnt, ledger):
        while len(learnt) < len(rows):
            assert tasks.serve(learners, 120.0)
        learners.tick()
        while learners.alive:  # one that was starting when the rows were gone
            assert tasks.serve(learners, 120.0)
            learners.tick()
        assert tasks.slots == []
    assert Counter(learnt) == Counter([-1.0, *(2.0 * number for number in range(12))])
    report = ledger.report(time.monotonic())
    assert (report.batches, report.killed) == (13, 1)
    assert report.invoked == pytest.approx(sum(each.cost(0.0) for each in ledger.invocations))


def test_a_task_that_raises_an_exception_is_told() -> None:
    with (
        running(broken, [7]) as (learners, tasks, _, _),
        pytest.raises(LearnerFailed, match="ArithmeticError: no rows like 7"),
    ):
        while tasks.serve(learners, 120.0):
            pass
