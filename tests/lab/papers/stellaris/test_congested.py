"""Learners behind a slow output: runs repeat, follow the network, and cost what their ledger says."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("olaf", reason="needs the SDK: pip install ./sdk")

from olafctl.targets.interface import Running
from olafctl.testbed.model import Testbed
from olaflab.papers import congested
from olaflab.papers.congested import PRICE, SYSTEMS, OutputRun, Setting, System
from olaflab.papers.stellaris import outputs
from tests.lab.training.cosim.conftest import TwinLab, deployed
from tests.targets.conftest import quietly, why_not

FIXED = Setting("Olaf + Stellaris at the server", 4, 0.25, 1.2)


@pytest.fixture(scope="module")
def slots() -> Iterator[None]:
    """Use the geometry of tests/lab/training/cosim: one build for both."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(congested, "SLOTS", 2)
        yield


@pytest.fixture(scope="module")
def lab(slots: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwinLab]:
    with deployed(congested.make_testbed(4), tmp_path_factory.mktemp("congested") / "bed") as found:
        yield found


def train_setting(lab: TwinLab, setting: Setting) -> OutputRun:
    return congested.train(lab.running, lab.testbed, SYSTEMS[setting.system], setting, 1)


def test_learners_that_follow_the_network_cost_less(lab: TwinLab) -> None:
    fixed, auto, again = (train_setting(lab, replace(FIXED, auto=auto)) for auto in (False, True, True))
    assert auto == again
    assert auto.weights != fixed.weights
    assert fixed.admitted == 4
    assert auto.admitted < 3.5
    assert auto.busy < 0.8 * fixed.busy
    assert auto.frames > 0.8 * fixed.frames
    assert auto.updates / auto.frames < fixed.updates / fixed.frames
    for each in (fixed, auto):
        assert each.invoked == pytest.approx(each.busy * PRICE)
        assert each.invoked <= each.reserved + 1e-12 <= each.whole
        assert 0 <= each.gradients - each.updates - each.lost <= 8  # what is under way at the end
    assert fixed.busy == pytest.approx(4 * 1.2, rel=1e-3)  # always busy: as much as reserved
    assert fixed.invoked == pytest.approx(fixed.reserved, rel=1e-3)


def test_every_system_learns_and_only_merging_loses_nothing(lab: TwinLab) -> None:
    runs = {name: train_setting(lab, replace(FIXED, system=name)) for name in SYSTEMS}
    lost = {name: found.lost / found.gradients for name, found in runs.items()}
    assert lost.pop("FIFO + Stellaris") > 0.5
    assert max(lost.values()) < 0.1
    assert len({found.weights for found in runs.values()}) == len(SYSTEMS)
    assert all(found.staleness > 0 and found.age > 0 for found in runs.values())
    assert all(0 < each < 500 for found in runs.values() for each in found.returns)


@pytest.mark.usefixtures("slots")
def test_what_was_interrupted_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if reason := why_not("twin"):
        pytest.skip(reason)
    monkeypatch.setenv("OLAF_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(outputs, "OUTPUTS", (0.25,))
    made, train = list[Setting](), congested.train

    def counted(running: Running, bed: Testbed, system: System, setting: Setting, seed: int) -> OutputRun:
        made.append(setting)
        if len(made) == 4:
            raise KeyboardInterrupt
        return train(running, bed, system, setting, seed)

    monkeypatch.setattr(congested, "train", counted)
    with pytest.raises(KeyboardInterrupt):
        outputs.compare_outputs([2], 2, 0.3, 1, 1, tmp_path, quietly)
    found = outputs.compare_outputs([2], 2, 0.3, 1, 1, tmp_path, quietly)
    settings = len(SYSTEMS) + len(outputs.FOLLOWED)
    assert len(made) == settings + 1  # the one that was interrupted, again
    assert outputs.compare_outputs([2], 2, 0.3, 1, 1, tmp_path, quietly).points == found.points
    assert len(made) == settings + 1
    assert len(found.rows) == len(SYSTEMS)
    assert len(found.points) == settings
    assert len(found.tables[0].rows) == 3 * len(outputs.FOLLOWED)
