"""Rounds over links that lose frames: exactly once, and none hangs."""

from pathlib import Path

import pytest

from olafctl.queue.verilate import build_queue
from olaflab.queue import loss


@pytest.fixture(scope="module")
def library() -> Path:
    return build_queue(loss.GEOMETRY)


def test_without_loss_every_contribution_is_sent_once(library: Path) -> None:
    done = loss.run(library, 4, 2, 50, 0.0, seed=1)
    assert (done.contributions, done.repeated, done.helps, done.lost) == (400, 0, 0, 0)
    assert done.counters == {"appended": 100, "merged": 300, "out_updates": 100}


@pytest.mark.parametrize("chance", [0.001, 0.01, 0.05, 0.3])
def test_every_round_ends_with_one_contribution_of_each(library: Path, chance: float) -> None:
    """The run itself holds every result against the exact sum."""
    done = loss.run(library, 4, 2, 100, chance, seed=7)
    assert done.rounds == 100
    assert done.counters["out_updates"] >= 200
    assert done.contributions == 800 + done.repeated


def test_a_round_of_which_no_member_has_the_result_is_repeated(library: Path) -> None:
    done = loss.run(library, 2, 1, 200, 0.3, seed=3)
    assert done.resets > 0
    assert done.counters["dropped_late"] > 0
    assert done.counters["dropped_duplicate"] > 0


def test_the_same_seed_loses_the_same_frames(library: Path) -> None:
    assert loss.run(library, 3, 1, 30, 0.1, seed=5) == loss.run(library, 3, 1, 30, 0.1, seed=5)
