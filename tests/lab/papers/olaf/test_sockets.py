"""Transmission control on kernel sockets, in a short run: what is counted fits together."""

from pathlib import Path

import pytest

from olafctl.network import interfaces

pytest.importorskip("olaf", reason="needs the SDK: pip install ./sdk")


@pytest.mark.slow
@pytest.mark.skipif(interfaces.why_not() is not None, reason=str(interfaces.why_not()))
def test_workers_hold_back_only_with_transmission_control(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    from olafctl.control.store import all_names
    from olaflab.papers.olaf.sockets import CLUSTERS, SocketLoad, measure_sockets

    state: Path = tmp_path_factory.mktemp("s")
    monkeypatch.setenv("OLAF_STATE", str(state))
    without, controlled = measure_sockets(SocketLoad(0.1, 3.0, 0.0, 10.0, 2.0), lambda step: None)
    assert (without.sent, without.probability) == (without.offered, 1.0)
    assert without.lost > 0
    assert controlled.sent < controlled.offered
    assert controlled.probability < 1.0
    assert 0 < controlled.active <= CLUSTERS
    assert all_names() == ()
