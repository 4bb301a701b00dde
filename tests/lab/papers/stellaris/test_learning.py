"""Rules against staleness compared: runs repeat, have the times of their rule, and are kept."""

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("olaf", reason="needs the SDK: pip install ./sdk")
pytest.importorskip("torch", reason="the extra [train] is not installed")
pytest.importorskip("gymnasium", reason="the extra [train] is not installed")

from olafctl import paths, plotting
from olaflab.papers.stellaris import learning, parts
from olaflab.papers.stellaris.compare import Curve, Curves, find_differences
from olaflab.papers.stellaris.figures import figures
from olaflab.papers.stellaris.learning import RuleRun, train_rules
from olaflab.papers.stellaris.rules import EQUAL, IMPACT, PPO, STELLARIS, Rule, Scale, make_impact, make_rules
from olaflab.papers.stellaris.timeline import time_rule
from olaflab.papers.store import Committed
from olaflab.papers.summary import pack_summary

SMALL = Scale(actors=2, steps=210, epochs=3)
RULES = {rule.name: rule for rule in make_rules(4, 2, SMALL)}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scale, "of", staticmethod(lambda environment: SMALL))


def train_rule(rule: Rule, seed: int, moves: bool = False) -> RuleRun:
    return train_rules(rule, seed, 2, "Pendulum-v1", SMALL, moves)


def unlearnt(
    rule: Rule, seed: int, rounds: int, environment: str, scale: Scale, moves: bool = False
) -> RuleRun:
    """Make a run with its rule's times, and rewards that tell rules and seeds apart."""
    times, report = time_rule(rule, seed, rounds, scale), time_rule(rule, seed, rounds, scale).report
    rewards = [100.0 * seed + len(rule.name) + number for number in range(rounds)]
    moved = [0.01 * (seed + 1)] * (rounds if moves else 0)
    return RuleRun(rule.name, seed, rewards, sum(times.steps), 1.0, 0.0, times.ends[-1],
               report.reserved, report.invoked, report.whole, moved)  # fmt: skip


def test_a_seed_gives_the_same_run_with_or_without_moves() -> None:
    first, second = train_rule(RULES[STELLARIS], 3), train_rule(RULES[STELLARIS], 3, moves=True)
    assert replace(second, moved=[]) == first
    assert first.staleness > 0
    assert len(second.moved) == 2
    assert min(second.moved) > 0


def test_a_committed_training_begins_as_its_seed_does() -> None:
    points = Committed(paths.sources() / "docs" / "papers", "stellaris").load_points()["fig11"]["columns"]
    its = (points["rule"] == PPO) & (points["seed"] == 1) & (points["round"] <= 2)
    rule = {each.name: each for each in make_rules(8, 2, Scale())}[PPO]
    found = train_rules(rule, 1, 2, "Hopper-v5", Scale())
    assert found.rewards == pytest.approx(points["reward"][its].tolist(), rel=0.02)


def test_impact_learns_from_a_rounds_rows_again() -> None:
    ours = make_impact(4, 2, SMALL)
    again, once = ours[1], replace(ours[1], replay=1)
    assert again.name == IMPACT
    both = [train_rule(rule, 1, moves=True) for rule in (again, once)]
    assert both[0].rewards[0] == both[1].rewards[0]  # the first round is played before anything is learnt
    assert both[0].moved != both[1].moved
    assert max(time_rule(again, 1, 2, SMALL).steps) == 8  # an epoch of two rounds' rows in four parts each


@pytest.mark.parametrize("rule", [*RULES.values(), *make_impact(4, 2, SMALL)])
def test_a_run_has_the_times_and_costs_of_its_rule(rule: Rule) -> None:
    found, times = train_rule(rule, 1), time_rule(rule, 1, 2, SMALL)
    assert (found.steps, found.seconds) == (sum(times.steps), times.ends[-1])
    assert (found.staleness == 0) == (rule.learners == 1)
    assert found.whole == times.report.whole
    # Actors play while learners are kept, and starts come on top.
    assert found.invoked < found.reserved < found.whole


def test_an_interrupted_comparison_goes_on_where_it_was(
    monkeypatch: pytest.MonkeyPatch, small: None, tmp_path: Path
) -> None:
    requested: list[tuple[str, int]] = []

    def count(rule: Rule, seed: int, rounds: int, environment: str, scale: Scale, moves: bool) -> RuleRun:
        requested.append((rule.name, seed))
        if len(requested) == 3:
            raise KeyboardInterrupt
        return unlearnt(rule, seed, rounds, environment, scale, moves)

    monkeypatch.setattr(learning, "train_rules", count)
    bench = parts.RuleBench("Pendulum-v1", 4, 2, 2, tmp_path, lambda step: None)
    with pytest.raises(KeyboardInterrupt):
        bench.figure("fig6")
    bench.figure("fig6")
    known = [(name, seed) for seed in range(2) for name in parts.OF_6]
    assert sorted(requested) == sorted([*known, known[2]])  # what was interrupted, and nothing else, again


def test_policies_of_more_learners_and_settings_become_figures(
    monkeypatch: pytest.MonkeyPatch, small: None, tmp_path: Path
) -> None:
    monkeypatch.setattr(learning, "train_rules", unlearnt)
    bench = parts.RuleBench("Pendulum-v1", 8, 1, 1, tmp_path, lambda step: None)
    known = {one.name: one for one in figures()}
    sections = {}
    for name in ("fig3", "fig13", "fig14"):
        points = pack_summary(bench.figure(name))
        sections[name] = known[name].section(points)
        drawing, draw = plotting.new_figure(8, 4), known[name].draw
        assert draw is not None
        draw(points, drawing)
        assert drawing.axes[0].has_data()
    assert "not shown" in str(sections["fig3"].tables), "one seed shows nothing"
    assert len(sections["fig13"].tables["holm"].rows) == 10
    shares = sections["fig14"].tables["summary"].rows
    assert sum(float(row[2].rstrip("%")) for row in shares) == pytest.approx(100, abs=0.1)


def make_curve(rule: str, seed: int, *rewards: float) -> Curve:
    times = time_rule(RULES[rule], seed, 2, SMALL)
    found = RuleRun(rule, seed, [*rewards], sum(times.steps), 0.0, 0.0, times.ends[-1], 0.0, 0.0, 0.0)
    return Curve(found, times)


def test_differences_are_taken_seed_by_seed() -> None:
    made: Curves = {
        STELLARIS: [make_curve(STELLARIS, seed, 10.0 * seed, 10.0 * seed + 2) for seed in range(3)],
        EQUAL: [make_curve(EQUAL, seed, 10.0 * seed - 1, 10.0 * seed + 1) for seed in range(3)],
    }
    (difference,) = find_differences(made, STELLARIS, "rounds")
    assert difference.difference.mean == pytest.approx(1)
    assert difference.difference.interval == pytest.approx(0, abs=1e-9)  # seeds differ, by the same in both
    assert difference.difference.word == "more"
    assert (difference.rounds, difference.others) == (2, 2)


def test_after_as_long_a_slower_rule_has_fewer_rounds() -> None:
    made: Curves = {
        STELLARIS: [make_curve(STELLARIS, 0, 1.0, 5.0), make_curve(STELLARIS, 1, 1.0, 5.0)],
        "synchronous": [make_curve("synchronous", 0, 1.0, 9.0), make_curve("synchronous", 1, 1.0, 9.0)],
    }
    (difference,) = find_differences(made, STELLARIS, "seconds")
    assert (difference.rounds, difference.others) == (2, 1)
    assert difference.difference.mean == 2  # the mean of 1 and 5, less 1
