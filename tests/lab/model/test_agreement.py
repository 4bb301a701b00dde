"""The event-level model next to the twin, the Verilated queue, the SDK and ns-3."""

from dataclasses import replace
from importlib import metadata, util
from pathlib import Path

import pytest

from olafctl.targets import testbeds
from olaflab.model.agreement import gain
from olaflab.model.agreement.ns3.compare import compare_models
from olaflab.model.agreement.queue import compare_random_loads
from olaflab.model.agreement.twin import rounds_agreement, tree_agreement
from olaflab.model.gain import QueueWay
from olaflab.papers.olaf import table2
from olafswitch.errors import MissingTool
from tests.targets.conftest import why_not


def test_a_congested_job_is_predicted_as_the_twin_has_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if reason := why_not("twin"):
        pytest.skip(reason)
    monkeypatch.setenv("OLAF_STATE", str(tmp_path_factory.mktemp("s")))
    fifo, olaf = gain.compare_arrivals(gain.ARRIVAL_CASES[2:3], lambda step: None)
    assert (fifo.way, olaf.way) == (QueueWay.FIFO, QueueWay.OLAF)
    assert fifo.agrees and olaf.agrees
    assert fifo.measured_loss > 0.4
    assert olaf.measured_loss == 0


def test_the_sdks_own_workers_have_what_is_predicted(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if reason := why_not("twin"):
        pytest.skip(reason)
    monkeypatch.setenv("OLAF_STATE", str(tmp_path_factory.mktemp("s")))
    monkeypatch.setattr(gain, "SEEDS", range(1))
    monkeypatch.setattr(gain, "_INTERVALS", 40)
    fifo, olaf, control = gain.compare_runs((replace(gain.ARRIVAL_CASES[2], jitter=0.1),), lambda step: None)
    assert (fifo.way, olaf.way, control.way) == tuple(QueueWay)
    assert 0.3 < fifo.measured_loss.median < 0.6
    assert olaf.measured_loss.median == control.measured_loss.median == 0
    assert olaf.measured_age.median < 0.7 * fifo.measured_age.median


@pytest.mark.parametrize("name", [pytest.param("multi-hop", marks=pytest.mark.slow), "two-racks"])
def test_random_arrivals_become_the_same_frames_on_the_twin(name: str) -> None:
    found = tree_agreement(testbeds.load_testbed(testbeds.locate_testbed(name)), 800, seed=5, per_load=200)
    assert found.frames > 200
    assert (found.different_frames, found.different_counts, found.latest) == (0, 0, 0)


@pytest.mark.parametrize("name", [pytest.param("multi-hop", marks=pytest.mark.slow), "two-racks"])
def test_random_contributions_give_the_twins_results(name: str) -> None:
    found = rounds_agreement(
        testbeds.load_testbed(testbeds.locate_testbed(name)), 2000, seed=2, far=True, per_load=500
    )
    assert found.results > 50
    assert found.copies >= 3 * found.results
    assert (found.different_copies, found.different_counts, found.latest) == (0, 0, 0)


def test_random_arrivals_end_alike_in_both_to_the_cycle() -> None:
    found = compare_random_loads(12_000, seed=3, per_load=400)
    assert found.frames > 3000
    assert (found.different_frames, found.different_times, found.different_counts) == (0, 0, 0)


SECOND = 10**9


@pytest.mark.skipif(util.find_spec("ns3") is None, reason="ns-3 is not installed (pip install './lab[ns3]')")
@pytest.mark.parametrize("number", [0, 1])
def test_the_same_updates_have_the_same_age_in_ns3(number: int) -> None:
    name, scenario = table2.scenarios(seed=1)[number]
    found = compare_models(name, scenario, 8 * SECOND, SECOND, lambda step: None)
    assert found.ours.generated == pytest.approx(found.theirs.total_generated, abs=2)
    assert found.age_difference is not None and found.age_difference < 0.02
    assert 1 - found.theirs.delivered_share == pytest.approx(found.ours.loss, abs=0.02)


def test_without_ns3_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> metadata.Distribution:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    with pytest.raises(MissingTool, match=r"ns-3 is not installed.*lab\[ns3\]"):
        compare_models("x", table2.scenarios(1)[0][1], SECOND, 0, lambda step: None)


def test_an_ns3_without_its_libraries_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "ns3-3.44.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Name: ns3\nVersion: 3.44\n")
    monkeypatch.setattr(metadata, "distribution", lambda name: metadata.Distribution.at(folder))
    with pytest.raises(MissingTool, match="has no libraries"):
        compare_models("x", table2.scenarios(1)[0][1], SECOND, 0, lambda step: None)
