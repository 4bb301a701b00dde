"""Rules against staleness compared: runs repeat, and cost what their ledger says."""

import pytest

pytest.importorskip("torch", reason="needs torch")
pytest.importorskip("gymnasium", reason="needs gymnasium")

from olaflab.training.staleness import compare


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("ACTORS", 2), ("STEPS", 220), ("EPOCHS", 3)):
        monkeypatch.setattr(compare, name, value)


@pytest.mark.usefixtures("small")
def test_a_seed_gives_the_same_run_again() -> None:
    rule = compare.rules(4, 2)[4]
    first, second = (compare.run(rule, 3, 2, "Pendulum-v1") for _ in range(2))
    assert first == second
    assert first.staleness > 0


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("rule", compare.rules(4, 2), ids=lambda rule: str(rule.name))
def test_every_rule_learns_from_all_rows(rule: compare.Rule) -> None:
    run = compare.run(rule, 1, 2, "Pendulum-v1")
    assert 0 < run.steps <= 2 * 3 * compare.PARTS
    assert (run.staleness == 0) == (rule.learners == 1)
    assert (
        run.invoked < run.reserved < run.whole
    )  # actors play while learners are kept, and starts come on top


def test_an_interval_holds_its_mean() -> None:
    mean, low, high = compare.interval([1.0, 2.0, 6.0])
    assert low < mean == 3.0 < high
    assert compare.interval([5.0]) == (5.0, 5.0, 5.0)
