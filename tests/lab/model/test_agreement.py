"""The prediction of a job's gain, next to the twin."""

from dataclasses import replace

import pytest

from olaflab.model.agreement import gain
from olaflab.model.gain import Way
from tests.targets.conftest import why_not


def test_a_congested_job_is_predicted_as_the_twin_has_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if reason := why_not("twin"):
        pytest.skip(reason)
    monkeypatch.setenv("OLAF_STATE", str(tmp_path_factory.mktemp("s")))
    fifo, olaf = gain.compare_arrivals(gain.ARRIVAL_CASES[2:3], lambda step: None)
    assert (fifo.way, olaf.way) == (Way.FIFO, Way.OLAF)
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
    assert (fifo.way, olaf.way, control.way) == tuple(Way)
    assert 0.3 < fifo.measured_loss.median < 0.6
    assert olaf.measured_loss.median == control.measured_loss.median == 0
    assert olaf.measured_age.median < 0.7 * fifo.measured_age.median
