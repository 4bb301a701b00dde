"""Verdicts: the paper's cases, agreement with exhaustive simulation, and what must not change them."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner

from olafctl.membership.objective import Objective, ObjectiveKind
from olafctl.verify.question import find_violation
from olafctl.verify.schedules import every_schedule
from olafctl.verify.simulation import load_schedule, save_schedule, simulate_schedule
from olafctl.verify.system import System, Transmission, make_periodic
from olafctl.verify.verdict import Verdict, VerdictAnswer, scan_values, verify_exhaustively, verify_objective
from olaflab.cli.bench.verify import command
from olaflab.model.agreement import verdicts as cases
from olaflab.model.agreement.verdicts import compare_random_systems
from olafswitch.errors import BadInput


def small_system(service: int = 3, slots: int = 8, **changes: object) -> System:
    clusters = (make_periodic("a", 4), make_periodic("b", 6), make_periodic("c", 4))
    return System(clusters, service=service, slots=slots, updates=4, **changes)  # type: ignore[arg-type]


def fairness_within(bound: int | Fraction) -> Objective:
    return Objective(ObjectiveKind.FAIRNESS, Fraction(bound))


def excess_of(verdict: Verdict) -> Fraction | None:
    assert verdict.counterexample is not None
    return verdict.counterexample.violation.excess


def test_verdicts_equal_exhaustive_simulation() -> None:
    compared = list(compare_random_systems(34, seed=11))
    assert [comparison for comparison in compared if not comparison.agrees] == []
    assert {comparison.verdict.answer for comparison in compared} == {
        VerdictAnswer.ACCEPT,
        VerdictAnswer.REJECT,
    }


@pytest.mark.parametrize("name", cases.PAPER)
def test_the_papers_cases_are_unfair_by_more_than_epsilon(name: str) -> None:
    verdict = verify_objective(cases.PAPER[name], Objective(ObjectiveKind.FAIRNESS, cases.EPSILON))
    assert verdict.answer is VerdictAnswer.REJECT
    amount = excess_of(verdict)
    assert amount is None or amount > 0


@pytest.mark.parametrize(
    ("periods", "bound", "answer"),
    [
        ((100, 100), Fraction(2), VerdictAnswer.ACCEPT),
        ((100, 100), Fraction(19, 10), VerdictAnswer.REJECT),
        ((100, 300), Fraction(202), VerdictAnswer.ACCEPT),
        ((100, 300), Fraction(201), VerdictAnswer.REJECT),
    ],
)
def test_the_least_fair_schedule_of_the_papers_clusters_is_found(
    periods: tuple[int, ...], bound: Fraction, answer: VerdictAnswer
) -> None:
    """One service of waiting is the most that can lie between two clusters with room for both."""
    assert (
        verify_objective(cases.paper_system(periods, 8, updates=6), cases.fairness_objective(bound)).answer
        is answer
    )


def test_a_looser_bound_never_turns_accept_into_reject() -> None:
    answers = [verify_objective(small_system(), fairness_within(bound)).answer for bound in range(9)]
    assert answers == sorted(answers, reverse=True)
    assert set(answers) == {VerdictAnswer.ACCEPT, VerdictAnswer.REJECT}


def test_faster_service_never_raises_the_least_peak() -> None:
    """The least over all schedules of a schedule's largest peak."""
    least = [
        min(
            max(max(peaks) for peaks in outcome.peaks)
            for _, outcome in every_schedule(small_system(service))
            if all(outcome.peaks)
        )
        for service in (1, 2, 3, 4, 6)
    ]
    assert least == sorted(least)


@pytest.mark.parametrize("bound", [3, 5])
def test_names_and_their_order_change_nothing(bound: int) -> None:
    system = small_system(slots=2)
    turned = replace(system, clusters=system.clusters[::-1])
    renamed = replace(
        system, clusters=tuple(replace(cluster, name=cluster.name * 3) for cluster in system.clusters)
    )
    answers = {verify_objective(each, fairness_within(bound)).answer for each in (system, turned, renamed)}
    assert len(answers) == 1


def test_a_saved_schedule_shows_the_same_ages(tmp_path: Path) -> None:
    verdict = verify_objective(
        small_system(slots=2, transmission=Transmission.ANY, threshold=9), fairness_within(1)
    )
    assert verdict.counterexample is not None
    file = tmp_path / "schedule.json"
    save_schedule(verdict.counterexample.schedule, str(verdict.objective), file)
    assert simulate_schedule(load_schedule(file)) == verdict.counterexample.run


def test_out_of_time_is_unknown_and_never_a_guess() -> None:
    system, objective = cases.controlled_system(2, 40)
    assert verify_objective(system, objective, timeout=0.001).answer is VerdictAnswer.UNKNOWN
    assert verify_exhaustively(system, objective, timeout=0.001).answer is VerdictAnswer.UNKNOWN


def test_a_cluster_that_is_never_heard_again_is_starved() -> None:
    system = System((make_periodic("a", 10), make_periodic("b", 10)), service=10, slots=1, updates=4)
    verdict = verify_objective(system, Objective(ObjectiveKind.LOSS_FREE))
    exhaustive = verify_exhaustively(system, Objective(ObjectiveKind.LOSS_FREE), 60)
    assert verdict.answer is exhaustive.answer
    held = replace(system, slots=2)
    assert verify_objective(held, Objective(ObjectiveKind.LOSS_FREE)).answer is VerdictAnswer.ACCEPT


def test_an_objective_on_an_unknown_cluster_is_refused() -> None:
    with pytest.raises(BadInput, match="no cluster is called 'z'"):
        verify_objective(small_system(), Objective(ObjectiveKind.PEAK, Fraction(5), ("z",)))


def test_a_scan_finds_both_ends_of_what_is_accepted() -> None:
    def ask(value: Fraction) -> VerdictAnswer:
        return VerdictAnswer.ACCEPT if Fraction(3, 2) <= value <= 3 else VerdictAnswer.REJECT

    found = scan_values([Fraction(value) for value in range(6)], ask, 4, lambda tried: None)
    ((low, high),) = found.ranges
    assert 1.5 <= low < 1.6
    assert 3 <= high == 3


def test_no_violation_is_reported_where_none_is() -> None:
    system, names = small_system(), {0: "a", 1: "b", 2: "c"}
    verdict = verify_objective(system, fairness_within(8))
    violating = sum(
        find_violation(fairness_within(8), outcome, names) is not None
        for _, outcome in every_schedule(system)
    )
    assert (verdict.answer is VerdictAnswer.ACCEPT) == (violating == 0)


def test_the_bench_counts_agreement() -> None:
    result = CliRunner().invoke(command, ["--agreement", "--count", "5", "--json"])
    (row,) = json.loads(result.stdout)["agreement"]
    assert (row["systems"], row["undecided"], row["disagreeing"]) == (5, 0, 0)
