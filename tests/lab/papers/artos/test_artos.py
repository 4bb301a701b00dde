"""ARTOS' experiments: the cost model against the paper, sleeping actors, learning beside playing."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("olaf", reason="needs the SDK: pip install ./sdk")

from olaf.elastic import Schedule

from olafctl import paths, plotting
from olaflab.papers import shelf
from olaflab.papers.artos import atari, figure12, sleeping
from olaflab.papers.artos.model import ModelCosts, model_artos, model_ray
from olaflab.papers.artos.overlap import run_training, saving_bound
from olaflab.papers.artos.readings import READINGS
from olaflab.papers.artos.readings import evaluate_readings as readings
from olaflab.papers.artos.tables import INPUT, NOISE, SEEDS, T6, ModelLine, model_lines
from olaflab.papers.figure import Effort
from olaflab.papers.store import Committed
from olaflab.papers.summary import pack_summary

LINES = {(line.where, line.what): line for line in model_lines()}


def find_line(where: str, what: str) -> ModelLine:
    (line,) = [line for (place, name), line in LINES.items() if (place, name[: len(what)]) == (where, what)]
    return line


@pytest.mark.parametrize("updates", ["200 updates", "40 updates"])
@pytest.mark.parametrize("whose", ["Ray, latency", "ARTOS, latency", "Ray, core-seconds held"])
def test_table_6_is_within_a_twentieth(updates: str, whose: str) -> None:
    line = find_line(f"table 6, {updates}", whose)
    assert line.here == pytest.approx(line.paper, rel=0.05)


@pytest.mark.parametrize(
    ("updates", "what"),
    [("200 updates", "core-seconds"), ("200 updates", "GPU-seconds"), ("40 updates", "GPU-seconds")],
)
def test_what_is_held_in_table_6_is_within_five_points(updates: str, what: str) -> None:
    line = find_line(f"table 6, {updates}", what)
    assert line.here == pytest.approx(line.paper, abs=5)


@pytest.mark.parametrize("noise", [0.02, 0.03, 0.04])
def test_nine_of_ten_invocations_find_their_actors_awake(noise: float) -> None:
    (line,) = [line for line in model_lines(noise=noise) if line.where == "figure 15b"]
    assert 90 <= line.here <= 97


def test_what_is_held_is_each_second_once() -> None:
    costs, schedule = ModelCosts(), Schedule(3, 3, 1, 1)
    one = model_artos(costs, schedule, 4, 0.0, 1, prewarm=False)
    assert one.cpu == pytest.approx(4 * 3 * (costs.restore + costs.play))
    assert one.gpu == pytest.approx(4 * costs.gpu_seconds(3))
    assert one.seconds == pytest.approx(4 * (costs.restore + costs.artos_iteration(3)))
    assert model_ray(costs, schedule, 4).cpu == pytest.approx(3 * model_ray(costs, schedule, 4).seconds)


class Notes:
    """An algorithm that notes with what it learns."""

    def __init__(self) -> None:
        self.version = 0
        self.played: list[int] = []
        self.learnt: list[list[int]] = []

    def weights(self) -> int:
        return self.version

    def play(self, weights: Any, version: int) -> None:
        assert weights == version
        self.played.append(version)

    def learn(self) -> None:
        self.learnt.append(list(self.played))

    def publish(self) -> None:
        self.version += 1

    def score(self) -> float:
        return float(self.version)


@pytest.mark.parametrize("ratio", [0.25, 0.5, 1.0, 2.0, 4.0])
def test_side_by_side_saves_what_the_longer_of_both_leaves(ratio: float) -> None:
    apart, beside = Notes(), Notes()
    first = run_training(apart, 200, ratio, 1.0, 0.1, 1, beside=False)
    second = run_training(beside, 200, ratio, 1.0, 0.1, 1, beside=True)
    assert 1 - second.seconds / first.seconds == pytest.approx(saving_bound(ratio, 1.0), abs=0.03)
    assert saving_bound(ratio, 1.0) <= 0.5
    assert (first.score, second.score) == (200, 200)  # as many updates
    assert (first.lag, second.lag) == (0, 1)
    assert apart.played == list(range(200))
    assert beside.played == [0, *range(199)]
    assert beside.learnt[0] == [0]  # not what is still being played


def test_actors_are_stopped_while_the_learner_learns() -> None:
    share = sleeping.measure_sleep(2, 0.01, repeats=1)
    assert share.states == ("stopped", "stopped")
    assert min(share.alone, share.asleep, share.awake) > 0


def test_what_the_model_was_taken_from_is_no_prediction() -> None:
    inputs = {line.where for line in LINES.values() if line.basis == INPUT}
    assert inputs == {
        "figure 4", "figure 4b", "table 5", "table 6, 200 updates", "table 6, 40 updates", "figure 14",
    }  # fmt: skip
    assert find_line("table 5", "change").basis == INPUT
    assert find_line("figure 14", "SAC").here == pytest.approx(54.02, abs=0.01)


def test_the_figures_of_the_model_are_shown_beside_the_paper() -> None:
    line = [sys.executable, "-m", "olaflab", "reproduce", "artos", "model", "readings", "--check", "--json"]
    shown = subprocess.run(line, capture_output=True, text=True)
    assert shown.returncode == 0, shown.stderr
    found = {name: section["tables"]["rows"]["rows"] for name, section in json.loads(shown.stdout).items()}
    assert {row[0] for row in found["model"]} >= {"table 5", "table 6, 40 updates", "figure 15b"}
    assert [row[0] for row in found["readings"]] == [each.name for each in READINGS]


def test_every_figure_is_within_five_points_with_a_deviation() -> None:
    read = {each.reading: each for each in readings(T6, NOISE, SEEDS)}
    printed = read["as printed"]
    assert printed.long == pytest.approx(find_line("table 6, 200 updates", "core-seconds").here)
    assert printed.short == pytest.approx(find_line("table 6, 40 updates", "core-seconds").here)
    assert printed.fixed == pytest.approx(find_line("figure 14", "PPO, core-seconds").here)
    assert abs(printed.short - -54.75) > 5
    other = read["Δ(interval) as the standard deviation"]
    assert (other.long, other.short, other.fixed) == pytest.approx((-47.05, -54.75, 55.12), abs=5)
    assert (other.long_seconds, other.short_seconds) == pytest.approx((1053.15, 208.25), rel=0.05)
    assert 90 <= other.on_time <= 96
    again = read["the window begins again when the number of actors changes"]
    assert again.fixed == printed.fixed
    assert again.on_time < 80


def test_a_finished_training_is_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("torch", "gymnasium", "Box2D"):
        pytest.importorskip(module, reason="the extra [train] is not installed")
    from olaflab.papers.artos import compare

    made: list[Notes] = []

    def make(seed: int) -> Notes:
        made.append(Notes())
        return made[-1]

    monkeypatch.setattr(compare, "ALGORITHMS", {"notes": (make, 6, 9)})
    messages: list[str] = []
    first = list(compare.compare_orders("notes", 2, tmp_path, messages.append))
    assert len(made) == len(messages) == 4  # in two orders, whatever the ratio
    assert {
        each.apart for each in (*first, *compare.compare_orders("notes", 3, tmp_path, messages.append))
    } == {6}
    assert len(made) == 6
    assert [(each.ratio, each.lag) for each in first] == [(ratio, 1) for ratio in compare.RATIOS]


def test_sac_and_ppo_learn_by_their_settings() -> None:
    for module in ("torch", "gymnasium", "Box2D"):
        pytest.importorskip(module, reason="the extra [train] is not installed")
    import torch

    from olaflab.papers.artos.ppo import LanderPolicy
    from olaflab.papers.artos.sac import SoftActorCritic

    torch.set_num_threads(1)
    for make in (LanderPolicy, SoftActorCritic):
        first, again = (run_training(make(3, block=16), 2, 1.0, 1.0, 0.1, 3, beside=True) for _ in range(2))
        assert repr(first) == repr(again)  # nan where no episode has ended


def test_an_actor_of_pong_takes_longer_where_a_network_plays() -> None:
    pytest.importorskip("torch", reason="the extra [train] is not installed")
    pytest.importorskip("ale_py", reason="the extra [atari] is not installed")
    found = atari.measure_game("pong", 1)
    assert 0 < found.emulated < found.played
    assert found.learnt > 0


def test_breakout_is_learnt_in_both_orders_and_becomes_a_figure(tmp_path: Path) -> None:
    for module in ("torch", "gymnasium", "ale_py"):
        pytest.importorskip(module, reason="the extras [train] and [atari] are not installed")
    messages: list[str] = []
    effort = Effort(messages.append, seeds=2, length=0.02, folder=tmp_path)
    first = figure12.train_breakout(effort)
    assert len(messages) == 4
    assert figure12.train_breakout(effort) == first and len(messages) == 4  # kept, and read back as they were
    assert [row[-1] for row in first.rows] == [0, 0, 1]  # versions that the played weights are behind
    assert float(first.rows[2][1]) < float(first.rows[0][1])
    drawing, draw = plotting.new_figure(8, 4), shelf.load_figures("artos")["fig12"].draw
    assert draw is not None
    draw(pack_summary(first), drawing)
    assert drawing.axes[0].has_data()


def test_committed_curves_of_breakout_begin_as_their_seeds_do() -> None:
    for module in ("torch", "gymnasium", "ale_py"):
        pytest.importorskip(module, reason="the extras [train] and [atari] are not installed")
    from olaflab.papers.artos.breakout import BreakoutPolicy

    points = Committed(paths.sources() / "docs" / "papers", "artos").load_points()["fig12"]["columns"]
    its = (points["curve"] == figure12.APART) & (points["seed"].astype(int) == 3)
    algorithm = BreakoutPolicy(2, figure12.UPDATES)
    run_training(algorithm, 3, 1.0, 1.0, 0.0, 0, beside=False)
    algorithm.close()
    assert algorithm.scores == pytest.approx(points["mean_reward"][its].astype(float)[:3].tolist(), rel=0.05)


def test_a_goal_is_reached_by_the_mean_of_ten_updates() -> None:
    goal = figure12.GOAL
    curve = figure12.Curve([*[goal - 1] * 10, *[goal + 1] * 10], [2.0 * end for end in range(1, 21)], 0)
    assert curve.update_at_goal() == 15  # five below it and five above
    assert [curve.score_after(seconds) for seconds in (1.0, 20.0, 99.0)] == [goal - 1, goal - 1, goal + 1]
    assert figure12.Curve([goal - 1] * 20, [1.0] * 20, 0).update_at_goal() is None
