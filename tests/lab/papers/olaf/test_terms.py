"""The equal-terms comparison: it repeats from its seeds, goes on where it was, and workers add up."""

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("olaf", reason="needs the SDK: pip install ./sdk")

from olaf.policies import Asynchronous

from olafctl.wire.modes import Mode
from olaflab.papers import congested
from olaflab.papers.congested import OutputRun, Pacing, Setting, System
from olaflab.papers.figure import Effort, Points
from olaflab.papers.olaf import terms
from tests.lab.training.cosim.conftest import TwinLab, deployed
from tests.targets.conftest import quietly, why_not

CASE = terms.TermsCase(4, 0.25)
QUARTER = Setting("terms", CASE.learners, CASE.output, 0.6)


@pytest.fixture(scope="module", autouse=True)
def small() -> Iterator[None]:
    """Tune one rate on one seed, with the geometry of tests/lab/training/cosim."""
    if reason := why_not("twin"):
        pytest.skip(reason)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(congested, "SLOTS", 2)
        patch.setattr(terms, "_STEPS", (1.0,))
        patch.setattr(terms, "_PACES", (1.0,))
        patch.setattr(terms, "_LEAST", 1.0)
        patch.setattr(terms, "_MOST", 2.0)
        patch.setattr(terms, "_TUNED_ON", range(101, 102))
        yield


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLAF_STATE", str(tmp_path / "state"))


def run_comparison(folder: Path, case: terms.TermsCase = CASE) -> Points:
    return terms.run_terms(Effort(quietly, 1, folder=folder), (case,), 0.3, "twin")


@pytest.mark.usefixtures("state")
def test_the_comparison_repeats_from_its_seeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, again = run_comparison(tmp_path / "a"), run_comparison(tmp_path / "b")
    assert first["lines"] == again["lines"]
    assert first["columns"]["return"].tolist() == again["columns"]["return"].tolist()

    def untrained(*_: object) -> OutputRun:
        raise AssertionError("a finished run was made again")

    monkeypatch.setattr(congested, "train", untrained)
    assert run_comparison(tmp_path / "a")["lines"] == first["lines"]
    section = terms.show_terms(first)
    names = [row[1] for row in section.tables["summary"].rows]
    assert names == ["FIFO", "FIFO, best rate", "FIFO, workers add up, best rate", terms.OLAF, terms.FREE]
    assert {row[2] for row in section.tables["summary"].rows} <= {"× 1", "× 2"}
    assert {row[1] for row in section.tables["more1"].rows} == {each.name for each in terms.SYSTEMS[:-1]}
    arrived = {line["contender"]: line["arrived"] for line in first["lines"]}
    assert arrived[terms.FREE] == 1 > arrived["FIFO"]


@pytest.mark.usefixtures("state")
def test_clusters_beyond_the_slots_train_a_model_each_and_hold_back(tmp_path: Path) -> None:
    case = terms.TermsCase(4, 0.25, clusters=4)
    assert case.slots == 2 < case.clusters
    points = run_comparison(tmp_path, case)
    arrived = {line["contender"]: line["arrived"] for line in points["lines"]}
    assert arrived[terms.FREE] == 1 > arrived["Olaf, transmission control"] > arrived[terms.OLAF]
    assert {line["clusters"] for line in points["lines"]} == {4}
    assert list(terms.read_curves(points)) == [case]
    assert terms.show_terms(points).tables["summary"].rows[0][0] == str(case)


@pytest.fixture(scope="module")
def lab(small: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwinLab]:
    with deployed(congested.make_testbed(4), tmp_path_factory.mktemp("terms") / "bed") as found:
        yield found


def test_workers_that_add_up_fill_a_fifo_and_lose_nothing(lab: TwinLab) -> None:
    systems = (System("", Mode.FIFO, Asynchronous, control=False, adding=adding) for adding in (False, True))
    fifo, adding = (congested.train(lab.running, lab.testbed, each, QUARTER, 1) for each in systems)
    assert fifo.lost > 0.5 * fifo.gradients
    assert adding.lost == 0
    assert adding.frames == pytest.approx(fifo.frames, rel=0.15)
    assert adding.age < fifo.age


def test_pacing_sends_its_share_and_makes_up_for_lateness() -> None:
    pacing = Pacing(1.0, 0.5)
    sent = [now / 10 for now in range(0, 100, 3) if pacing.draw(now / 10)]
    assert sent[0] == 0.6
    assert len(sent) == 10  # 0.5, 1.5 … 9.5, each at the next gradient
