"""Rules against staleness compared: runs repeat, have the times of their rule, and are kept."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("olaf", reason="needs the SDK: pip install ./sdk")
pytest.importorskip("torch", reason="the extra [train] is not installed")
pytest.importorskip("gymnasium", reason="the extra [train] is not installed")

from olafctl.errors import BadInput
from olaflab.cli.bench.stellaris import command
from olaflab.training.staleness import kept, parts
from olaflab.training.staleness.compare import SHARED, Curve, Curves, differences
from olaflab.training.staleness.learning import Run, run
from olaflab.training.staleness.rules import EQUAL, STELLARIS, Rule, Scale, rules
from olaflab.training.staleness.timeline import timed

SMALL = Scale(actors=2, steps=210, epochs=3)
RULES = {rule.name: rule for rule in rules(4, 2, SMALL)}


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OLAF_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scale, "of", staticmethod(lambda environment: SMALL))


def made(rule: Rule, seed: int, moves: bool = False) -> Run:
    return run(rule, seed, 2, "Pendulum-v1", SMALL, moves)


def unlearnt(rule: Rule, seed: int, rounds: int, environment: str, scale: Scale, moves: bool = False) -> Run:
    """Has its rule's times, and rewards that tell rules and seeds apart."""
    times, report = timed(rule, seed, rounds, scale), timed(rule, seed, rounds, scale).report
    rewards = tuple(100.0 * seed + len(rule.name) + number for number in range(rounds))
    moved = tuple(0.01 * (seed + 1) for _ in range(rounds if moves else 0))
    return Run(rule.name, seed, rewards, sum(times.steps), 1.0, 0.0, times.ends[-1],
               report.reserved, report.invoked, report.whole, moved)  # fmt: skip


def test_a_seed_gives_the_same_run_again_asked_how_far_it_moved_or_not() -> None:
    first, second = made(RULES[STELLARIS], 3), made(RULES[STELLARIS], 3, moves=True)
    assert replace(second, moved=()) == first
    assert first.staleness > 0
    assert len(second.moved) == 2
    assert min(second.moved) > 0


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_run_has_the_times_and_costs_of_its_rule(rule: Rule) -> None:
    found, times = made(rule, 1), timed(rule, 1, 2, SMALL)
    assert (found.steps, found.seconds) == (sum(times.steps), times.ends[-1])
    assert (found.staleness == 0) == (rule.learners == 1)
    assert found.whole == times.report.whole
    # Actors play while learners are kept, and starts come on top.
    assert found.invoked < found.reserved < found.whole


def test_an_interrupted_comparison_goes_on_where_it_was(monkeypatch: pytest.MonkeyPatch, small: None) -> None:
    asked: list[tuple[str, int]] = []

    def count(rule: Rule, seed: int, rounds: int, environment: str, scale: Scale, moves: bool) -> Run:
        asked.append((rule.name, seed))
        if len(asked) == 3:
            raise KeyboardInterrupt
        return unlearnt(rule, seed, rounds, environment, scale, moves)

    monkeypatch.setattr(kept, "run", count)
    words = ["fig6", "--environment", "Pendulum-v1", "--learners", "4", "--rounds", "2",
             "--seeds", "2", "--json"]  # fmt: skip
    assert CliRunner().invoke(command, words).exit_code != 0
    result = CliRunner().invoke(command, words, catch_exceptions=False)
    assert result.exit_code == 0
    assert "6 of 6" in result.stderr
    assert "min left" in result.stderr
    known = [(name, seed) for seed in range(2) for name in parts.OF_6]
    assert sorted(asked) == sorted([*known, known[2]])  # what was interrupted, and nothing else, again


def test_finished_runs_are_put_together(monkeypatch: pytest.MonkeyPatch, small: None, tmp_path: Path) -> None:
    words = ["--environment", "Pendulum-v1", "--learners", "4", "--rounds", "2",
             "--seeds", "2", "--json"]  # fmt: skip
    monkeypatch.setattr(kept, "run", unlearnt)
    each = []
    for name in (STELLARIS, "synchronous"):
        result = CliRunner().invoke(command, [*words, "--rule", name], catch_exceptions=False)
        each.append(tmp_path / f"{name}.json")
        each[-1].write_text(result.stdout)
    (tmp_path / "cache").rename(tmp_path / "away")
    monkeypatch.setattr(kept, "run", None)  # none is made any more
    given = [f"--runs={path}" for path in each]
    chosen = ["--rule", STELLARIS, "--rule", "synchronous"]
    result = CliRunner().invoke(command, [*words, *given, *chosen], catch_exceptions=False)
    found = json.loads(result.stdout)
    alone = [json.loads(path.read_text()) for path in each]
    assert sorted(map(str, found["runs"])) == sorted(str(one) for file in alone for one in file["runs"])
    (figure,) = found["figures"]
    assert [row["rule"] for row in figure["rows"]] == ["synchronous", STELLARIS]
    titles = [table["title"].split(":")[0] for table in figure["tables"]]
    ways = ("as many rounds", "half of the rounds", "as many optimiser steps", "as long")
    assert titles == [f"After {way}" for way in ways]
    assert [row[0] for row in figure["tables"][3]["rows"]] == ["synchronous", SHARED["synchronous"]]
    other = CliRunner().invoke(command, [*words, *given, *chosen, "--learners", "3"])
    assert isinstance(other.exception, BadInput)
    assert "with other settings" in str(other.exception)


def test_an_unknown_environment_is_told_in_a_line(small: None) -> None:
    result = CliRunner().invoke(command, ["--environment", "Nowhere-v9"])
    assert isinstance(result.exception, BadInput)
    assert "Nowhere" in str(result.exception)


def test_policies_of_more_learners_and_settings_become_figures(
    monkeypatch: pytest.MonkeyPatch, small: None, tmp_path: Path
) -> None:
    monkeypatch.setattr(kept, "run", unlearnt)
    words = ["fig3", "fig13", "fig14", "--environment", "Pendulum-v1", "--rounds", "1", "--seeds", "1"]
    result = CliRunner().invoke(command, [*words, "--out", str(tmp_path)], catch_exceptions=False)
    assert result.exit_code == 0
    assert "one seed says nothing" in result.stdout
    for name in ("fig3", "fig13", "fig14"):
        assert (tmp_path / f"stellaris-{name}.svg").is_file()
    shares = json.loads((tmp_path / "stellaris-fig14.json").read_text())["rows"]
    assert sum(float(row["share"].rstrip("%")) for row in shares) == pytest.approx(100, abs=0.1)


def curve(rule: str, seed: int, rewards: tuple[float, ...]) -> Curve:
    times = timed(RULES[rule], seed, 2, SMALL)
    found = Run(rule, seed, rewards, sum(times.steps), 0.0, 0.0, times.ends[-1], 0.0, 0.0, 0.0)
    return Curve(found, times)


def test_differences_are_taken_seed_by_seed() -> None:
    made: Curves = {
        STELLARIS: [curve(STELLARIS, seed, (10.0 * seed, 10.0 * seed + 2)) for seed in range(3)],
        EQUAL: [curve(EQUAL, seed, (10.0 * seed - 1, 10.0 * seed + 1)) for seed in range(3)],
    }
    (difference,) = differences(made, STELLARIS, "rounds")
    assert difference.difference.mean == pytest.approx(1)
    assert difference.difference.interval == pytest.approx(0, abs=1e-9)  # seeds differ, by the same in both
    assert difference.verdict == "more"
    assert (difference.rounds, difference.others) == (2, 2)


def test_after_as_long_a_slower_rule_has_fewer_rounds() -> None:
    made: Curves = {
        STELLARIS: [curve(STELLARIS, 0, (1.0, 5.0)), curve(STELLARIS, 1, (1.0, 5.0))],
        "synchronous": [curve("synchronous", 0, (1.0, 9.0)), curve("synchronous", 1, (1.0, 9.0))],
    }
    (difference,) = differences(made, STELLARIS, "seconds")
    assert (difference.rounds, difference.others) == (2, 1)
    assert difference.difference.mean == 2  # the mean of 1 and 5, less 1
