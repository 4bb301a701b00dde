"""Small cases of tables 2 and 3 and of figure 10, and of the sweeps around them."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("olaf", reason="the SDK is not installed (pip install ./sdk)")

from olaflab.papers.figure import Points
from olaflab.papers.olaf import multi_hop, table2
from olaflab.papers.olaf.multi_hop import APART, MS, SAME, SECOND, Queue, Setup, measure_setup
from olaflab.papers.spreads import Spreads

SHORT = 20 * SECOND


def measure_figures(queue: Queue, periods: tuple[int, int], **changes: Any) -> Spreads:
    return measure_setup(replace(Setup(queue, periods), **changes), range(3), SHORT)


@pytest.mark.parametrize("periods", [SAME, APART])
def test_fifo_loses_most_updates_and_olaf_few_of_far_fresher_workers(periods: tuple[int, int]) -> None:
    fifo, olaf, control = (measure_figures(queue, periods) for queue in Queue)
    assert fifo.mean_of("loss") >= 80 > 6 >= olaf.mean_of("loss") > control.mean_of("loss")
    assert all(fifo.mean_of(f"age_{group}") > olaf.mean_of(f"age_{group}") for group in ("s1", "s2"))
    assert all(
        fifo.mean_of(f"worker_{group}") > 4 * olaf.mean_of(f"worker_{group}") for group in ("s1", "s2")
    )
    assert control.mean_of("fairness") >= 0.98
    assert 15 < control.mean_of("held") < 25 and olaf.mean_of("held") == 0


def test_a_bottleneck_at_sw1_makes_s1_older_and_leaves_s2_alone() -> None:
    found = [
        measure_figures(Queue.OLAF_TC, SAME, x1=alpha * 0.7e6, x3=1.4e6).values for alpha in (0.1, 0.4, 1.0)
    ]
    assert table2.ages_fall([values["age_s1"][0] for values in found])
    assert found[0]["age_s1"][0] > 4 * found[2]["age_s1"][0]
    assert table2.is_flat([values["age_s2"][0] for values in found])


def test_senders_in_step_starve_whole_clusters_under_fifo_alone() -> None:
    """SW1 and SW2 as fast as SW3, updates at exact intervals: drop-tail always serves the same ones."""
    fifo, olaf = (
        measure_setup(Setup(queue, SAME, x1=1e6, x2=1e6, jitter=0.0), range(1), SHORT)
        for queue in (Queue.FIFO, Queue.OLAF)
    )
    assert fifo.mean_of("fairness") < 0.6 and fifo.mean_of("age_s1") + fifo.mean_of("age_s2") > 10_000
    assert olaf.mean_of("starved") == 0 and olaf.mean_of("fairness") > 0.95


def test_a_queue_behind_fifos_makes_its_clusters_seconds_old_at_the_same_loss() -> None:
    plain, deep = (measure_figures(Queue.FIFO, SAME, behind=behind) for behind in (0, 100))
    assert deep.mean_of("loss") == pytest.approx(plain.mean_of("loss"), abs=1.5)
    assert all(
        deep.mean_of(f"age_{group}") > 1500 > 5 * plain.mean_of(f"age_{group}") for group in ("s1", "s2")
    )
    assert measure_figures(Queue.OLAF, SAME, behind=100) == measure_figures(Queue.OLAF, SAME)


@pytest.mark.parametrize("rate", [1e6, 5e6])
def test_of_fifty_updates_at_once_fifo_takes_five_and_the_one_that_it_sends(rate: float) -> None:
    changes = {"x1": rate, "x2": rate, "x3": rate, "jitter": 0.001, "together": True}
    assert measure_figures(Queue.FIFO, SAME, **changes).mean_of("loss") == pytest.approx(88, abs=0.1)
    assert measure_figures(Queue.OLAF, SAME, **changes).mean_of("loss") == 0


def measure_small(periods: tuple[int, int], controls: bool, monkeypatch: pytest.MonkeyPatch) -> Points:
    def points() -> Iterator[multi_hop.Point]:
        yield multi_hop.Point("edge", "0.7 Mb/s, jitter 10%", {})
        yield multi_hop.Point("edge", "2 Mb/s, jitter 100%", {"x1": 2e6, "x2": 2e6, "jitter": 1.0})
        yield multi_hop.Point("delay", "1 ms", {"delay": MS})
        yield multi_hop.Point("behind", "100 frames", {"behind": 100})
        yield multi_hop.Point("together", "1 Mb/s", {"x1": 1e6, "x2": 1e6, "jitter": 0.01, "together": True})

    monkeypatch.setattr(multi_hop, "sweep_points", points)
    monkeypatch.setattr(
        multi_hop, "control_points", lambda: iter([multi_hop.Point("control", "c", {"ack_bytes": 1000})])
    )
    data = multi_hop.measure_sweeps(periods, 1, controls, lambda step: None)
    kept: Points = json.loads(json.dumps(data))
    return kept


def test_table_2_shows_the_papers_figures_next_to_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = table2.show_table(table2.TABLE_2, SAME, False, measure_small(SAME, False, monkeypatch)).tables
    fifo, deep, olaf, _ = tables["comparison"].rows
    assert fifo[:4] == ["FIFO", "88", "87.5", "1714"]
    assert deep[0].startswith("FIFO, 100 frames behind") and olaf[:2] == ["Olaf", "4.5"]
    assert [row[1] for row in tables["behind"].rows] == ["FIFO"] and len(tables["together"].rows) == 3
    assert len(tables["edge"].rows) == 6 and len(tables["delay"].rows) == 3 and not tables["core"].rows
    statements = {row[0]: row[1:] for row in tables["statements"].rows}
    assert statements["FIFO loses at least 80 %"] == ["2 of 2", "1 of 1", "1 of 1", "–"]
    assert statements["Olaf loses at most 6 %"] == ["1 of 2", "1 of 1", "1 of 1", "2 Mb/s: 100 %"]


def test_table_3_judges_whether_transmission_control_is_fairer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    section = table2.show_table(table2.TABLE_3, APART, True, measure_small(APART, True, monkeypatch))
    (fairer,) = section.verdicts
    assert fairer.startswith("Olaf_TC is fairer than Olaf, by ") and fairer.endswith(" in 1 pairs of runs")
    assert section.verdicts[fairer] == "not shown", "one run has no interval"
    titles = {name: table.title for name, table in section.tables.items()}
    assert titles["delay"].startswith("Delay of every link") and "SW3" in titles["core"]
    assert titles["edge"].startswith("Rate of SW1 and SW2") and titles["control"].startswith("What trans")
    assert [row[0] for row in section.tables["control"].rows] == ["c"]
    assert section.tables["comparison"].rows[3][1] == "4.7"


def test_what_falls_and_what_is_flat() -> None:
    assert table2.ages_fall([100.0, 101.0, 50.0]) and not table2.ages_fall([100.0, 103.0])
    assert table2.is_flat([100.0, 109.0]) and not table2.is_flat([100.0, 111.0])
