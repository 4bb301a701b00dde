"""iSwitch beside a parameter server and gloo's ring, between hosts' namespaces through an engine."""

from pathlib import Path

import pytest

pytest.importorskip("olaf", reason="the SDK is not installed (pip install ./sdk)")

from olafctl.network import interfaces
from olaflab.papers.iswitch import wire
from tests.targets.conftest import why_not


def test_on_a_held_link_the_engine_is_first_and_the_server_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every sum is exact, or a host fails; a server sends what all four workers get, a ring half as much
    again as a gradient, and the engine's members one gradient.
    """
    pytest.importorskip("torch", reason="the extra [train] is not installed")
    if reason := why_not("software") or interfaces.why_not():
        pytest.skip(reason)
    monkeypatch.setenv("OLAF_STATE", str(tmp_path))
    found = wire.measure_wire(["software"], 2, 2, print)
    times = {way: min(several) for way, several in found["ms"]["software"]["DDPG"].items()}
    assert times["iSW"] < times["PS"] and times["AR"] < times["PS"]
    assert times["PS"] > 0.8 * 1000 * 5 * 8 * found["bytes"]["DDPG"] / (1e6 * wire.RATE)
