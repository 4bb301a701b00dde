"""Sums over links that lose, double and reorder datagrams: exact, none twice, and none hangs.

The functions check every result; the long run is ``olaflab bench conform --lossy 100000``.
"""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("olaf", reason="needs the SDK: pip install ./sdk")

from olaflab.training.replicas.sums import Numbered, _make_plan, sum_numbered, sum_rounds
from olafswitch.errors import OlafError
from tests.targets.conftest import why_not


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if reason := why_not("twin"):
        pytest.skip(reason)
    monkeypatch.setenv("OLAF_STATE", str(tmp_path))


def test_without_loss_every_contribution_is_sent_once() -> None:
    done = sum_rounds(50, 0.0, 1, print)
    assert (done.contributions, done.repeated, done.helps, done.lost) == (400, 0, 0, 0)
    assert done.counters == {"appended": 100, "merged": 300, "out_updates": 100}


@pytest.mark.parametrize("chance", [0.01, 0.2])
def test_every_round_ends_with_one_contribution_of_each(chance: float) -> None:
    done = sum_rounds(60, chance, 7, print)
    assert done.lost > 0
    assert done.counters["out_updates"] >= 120
    if chance > 0.1:
        assert done.resent > 0
        assert done.counters["dropped_duplicate"] > 0


@pytest.mark.parametrize("levels", [1, 2])
def test_every_numbered_result_is_the_exact_sum_of_its_contributions(levels: int) -> None:
    done = sum_numbered(300, levels, 0.05, 2, print)
    assert min(done.lost, done.doubled, done.helped) > 0
    assert done.taken > 0.9 * 4 * 2 * (300 - done.void)


def test_a_contribution_in_two_results_is_found() -> None:
    task = Numbered(_make_plan(10, 0.0, 1), 0, 2)
    all_members = [Numbered(_make_plan(10, 0.0, 1), member, 2) for member in range(4)]
    once = np.zeros_like(task.first)
    for each in all_members:
        once += each.gradient(task.first) / np.float32(4)
    task.step(once)
    with pytest.raises(OlafError, match="contribution 0 of member 0 again"):
        task.step(once)
