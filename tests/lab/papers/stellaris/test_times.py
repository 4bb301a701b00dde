"""Learners in virtual time: steps, staleness, costs and what figures say of them; nothing is learnt."""

from functools import partial
from typing import Any

import pytest

pytest.importorskip("olaf", reason="needs the SDK: pip install ./sdk")


from olafctl import plotting
from olaflab.papers.stellaris import virtual
from olaflab.papers.stellaris.compare import SHARED, time_shared
from olaflab.papers.stellaris.rules import EQUAL, PPO, STELLARIS, Rule, Scale, make_rules, vary_settings
from olaflab.papers.stellaris.timeline import COLD, PRICE, time_rule
from olaflab.papers.summary import pack_summary

SMALL = Scale(actors=4, steps=64, epochs=5)
RULES = {rule.name: rule for rule in make_rules(4, 6, SMALL)}


def test_synchrony_makes_as_many_steps_a_round_as_stellaris() -> None:
    ours, equal = (time_rule(RULES[name], 7, 6, SMALL) for name in (STELLARIS, EQUAL))
    assert ours.steps == equal.steps
    assert sum(ours.steps) < sum(time_rule(RULES["synchronous"], 7, 6, SMALL).steps) == 6 * 5 * 4
    assert set(equal.lags) == {0} != set(ours.lags)


def test_the_first_round_has_no_threshold_and_groups_grow() -> None:
    steps = time_rule(RULES[STELLARIS], 3, 6, SMALL).steps
    assert steps[0] == 20
    assert steps[-1] < steps[1]


def test_ppo_makes_a_step_of_all_rows_an_epoch() -> None:
    assert time_rule(RULES[PPO], 1, 6, SMALL).steps == (5,) * 6


@pytest.mark.parametrize("learners", [1, 2, 5])
def test_always_busy_learners_are_n_minus_1_versions_stale(learners: int) -> None:
    scale = Scale(epochs=200)  # so that a round's begin and end weigh little
    lags = time_rule(make_rules(learners, 1, scale)[1], 1, 1, scale).lags
    assert sum(lags) / len(lags) == pytest.approx(learners - 1, rel=0.02)


def test_all_learners_together_save_time_and_pay_for_waiting() -> None:
    alone, together = time_rule(RULES["synchronous"], 1, 6, Scale()), time_shared(1, 6, Scale(), 4)
    assert sum(together.steps) == sum(alone.steps)
    assert together.ends[-1] < alone.ends[-1]
    report = together.report
    assert report.invoked == pytest.approx(report.busy * PRICE)
    assert report.reserved == pytest.approx(4 * together.ends[-1] * PRICE)
    assert report.whole == pytest.approx(report.reserved + 4 * COLD * PRICE)  # all are kept, and were started


def test_what_actors_cost_is_on_top() -> None:
    times = time_rule(RULES["async"], 1, 6, SMALL)
    found = virtual.training_costs(times, SMALL, 6)
    learners, actors = found.invoked
    assert learners == times.report.invoked
    assert actors == pytest.approx(6 * 64e-3 * 4 * virtual.ACTOR)
    reserved, invoked, whole = found.sums()
    assert invoked < reserved < whole


def policy_keywords(rule: Rule) -> dict[str, Any]:
    assert isinstance(rule.make, partial)
    return rule.make.keywords


def test_settings_differ_from_the_papers_in_one_thing_each() -> None:
    tried = vary_settings(4, 50, SMALL)
    decays = [policy_keywords(rule)["decay"] for rule in tried["d"]]
    assert decays == pytest.approx([0.92, 0.94, 0.98, 1])
    assert [policy_keywords(rule)["root"] for rule in tried["v"]] == [1, 2, 4]
    assert [rule.rho for rule in tried["ρ"]] == [0.6, 0.8, 1.2]
    assert {rule.rho for rule in (*tried["d"], *tried["v"])} == {1.0}


def test_figures_of_time_and_cost_need_no_training() -> None:
    found = virtual.compare_switches(2, 2)
    paid = {(learners, how): cost for learners, how, _, cost, _ in found.rows}
    whole = SHARED["synchronous"]
    assert paid[whole, "on demand"] < paid[whole, "reserved"] < paid[whole, "on demand, all told"]
    assert paid["async", "reserved"] < paid[whole, "reserved"]
    drawing = plotting.new_figure(8, 4)
    virtual.draw_money(pack_summary(virtual.compare_costs(8, 2, 2)), drawing)
    assert len(drawing.axes) == len(virtual.ENVIRONMENTS)
