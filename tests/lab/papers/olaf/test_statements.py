"""What figures 2 and 7 say of their runs: by intervals, and at rates that no seed chose for itself."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("olaf", reason="needs the SDK: pip install ./sdk")
pytest.importorskip("torch", reason="the extra [train] is not installed")
pytest.importorskip("gymnasium", reason="the extra [train] is not installed")

from olaf.policies import RATE, Synchronous
from olaf.transport.segments import Segments

from olaflab.papers.olaf import speedup, strategies
from olaflab.papers.olaf.lab import TwinRun
from olaflab.papers.olaf.strategies import GRID, PERIODIC, PLAIN, SYNCHRONOUS
from olaflab.papers.summary import Summary
from tests.targets.conftest import quietly

UPDATES, SEEDS = 20, 4


def test_figure_7_is_judged_by_the_interval_and_not_by_the_mean() -> None:
    seeds = np.array([-0.02, 0.0, 0.02, 0.04])
    levels = {40: 1.0, 20: 1.1, 5: 1.11}
    found = {(rate, case.name): level + seeds for rate, level in levels.items() for case in speedup.CASES}
    found[5, speedup.CASES[1].name] = 1.13 + seeds[::-1]
    holds = dict(speedup._judge_statements(found))
    olaf = {text.removeprefix("Olaf").lstrip(", :"): met for text, met in holds.items() if text[4] in ",:"}
    assert olaf["40 Gb/s: faster than FIFO, by 0.01 ± 0.04"] == "not shown", "its mean is above 1"
    assert olaf["20 Gb/s: faster than FIFO, by 0.11 ± 0.04"] == "holds"
    assert olaf["the speed-up grows from 40 to 20 Gb/s, by 0.10 ± 0.00"] == "holds"
    assert olaf["the speed-up grows from 20 to 5 Gb/s, by 0.03 ± 0.08"] == "not shown"


class StatementTwin:
    """Ends where the rate says: synchronous training is best with 16 times γ, but seed 4 with 4 times."""

    def __init__(self) -> None:
        self.trained = 0

    def train_queue(self, queue: Any, plan: Any) -> TwinRun:
        self.trained += 1
        policy = plan.policy(np.zeros(4, np.float32), Segments(4, 1))
        factor = float(policy.rate) / RATE
        end = 10 * factor if not (plan.seed == 4 and factor > 4) else -10.0
        if not isinstance(policy, Synchronous):
            end = 60.0 + 10 * (plan.seed % 2)
        speed = 2.0 if isinstance(policy, Synchronous) else 1.0
        rewards = [-200.0] * (UPDATES // 2) + [end] * (UPDATES - UPDATES // 2)
        blocks = [[speed * (number + 1), reward] for number, reward in enumerate(rewards)]
        return TwinRun(rewards, [1.0] * UPDATES, 1, 1, 1, 0, 0, 0, 0.1, blocks)


def make_summaries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Summary, Summary, StatementTwin]:
    twin = StatementTwin()
    monkeypatch.setattr(strategies, "run_lab_twin", lambda *_: nullcontext(twin))
    equal = strategies.compare_equal_steps(UPDATES, SEEDS, tmp_path, quietly)
    return equal, strategies.compare_rates(UPDATES, SEEDS, tmp_path, quietly), twin


def test_with_as_large_a_step_in_all_the_averaging_strategies_have_eight_times_the_rate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    equal, grid, twin = make_summaries(tmp_path, monkeypatch)
    assert [row[:2] for row in equal.rows] == [(PLAIN, "1"), (SYNCHRONOUS, "8"), (PERIODIC, "8")]
    assert twin.trained == SEEDS * sum(map(len, GRID.values())), "the grid shares the others' runs"
    assert [row[1] for row in grid.rows if row[0] == SYNCHRONOUS] == ["4", "8", "16"]


def test_a_seed_does_not_choose_its_own_rate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, grid, _ = make_summaries(tmp_path, monkeypatch)
    (table,) = grid.tables
    (synchronous,) = (row for row in table.rows if row[0] == SYNCHRONOUS)
    assert synchronous[1] == "16", "the best of the other seeds, also for the one that is best with 4"
    assert synchronous[3].startswith("117.5 ± "), "three seeds end at 160, the fourth at -10"


def test_the_time_to_a_reward_is_that_of_seeds_in_which_both_get_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    equal, _, _ = make_summaries(tmp_path, monkeypatch)
    sooner = {text: met for text, met in equal.verdicts.items() if "sooner than synchronous" in text}
    ((text, met),) = sooner.items()
    assert met == "holds" and text.endswith("s, in 3 of 4 seeds")


def test_a_reward_that_is_never_reached_takes_for_ever() -> None:
    run = TwinRun([], [], 0, 0, 0, 0, 0, 0, 0.0, [[1.0, -9.0], [2.0, 3.0], [3.0, 3.0], [4.0, 3.0]])
    assert strategies.seconds_to(run, 3.0) == 4.0
    assert strategies.seconds_to(run, -1.0) == 3.0
    assert strategies.seconds_to(run, 4.0) == float("inf")
    assert strategies.seconds_to(TwinRun([], [], 0, 0, 0, 0, 0, 0, 0.0), 0.0) == float("inf")
