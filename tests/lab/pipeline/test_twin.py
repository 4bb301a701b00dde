"""The twin's bench: runs in turn, ratios run by run, and the spread of both."""

import json
import subprocess
import sys
from functools import partial

import pytest

from olafctl.network import interfaces
from olafctl.targets.bmv2.target import TARGET
from olafctl.targets.interface import of_root
from olaflab.pipeline import shards
from olaflab.pipeline.twin import Interleaved, Rate, ends, interleaved, wall
from olafswitch.ports.transport import Transport
from olaftest.deployment import deployed

MISSING = TARGET.missing()


def test_runs_take_turns_after_a_warm_up_of_each() -> None:
    order: list[tuple[str, float]] = []

    def measure(name: str, rate: int, seconds: float) -> Rate:
        order.append((name, seconds))
        return Rate(rate, rate, 1.0)

    done = interleaved(2, {name: partial(measure, name, 5) for name in "ab"}, 2.0)
    assert order == [("a", 0.5), ("b", 0.5), ("a", 2.0), ("b", 2.0), ("a", 2.0), ("b", 2.0)]
    assert [len(runs) for runs in done.runs.values()] == [2, 2]


def test_a_ratio_is_of_two_runs_next_to_each_other() -> None:
    runs = {"fast": [Rate(90, 90, 1.0), Rate(40, 40, 1.0)], "slow": [Rate(10, 10, 1.0), Rate(20, 20, 2.0)]}
    assert Interleaved(runs).ratios("fast", "slow") == [4.0, 9.0]


@pytest.mark.skipif(interfaces.why_not() is not None, reason=str(interfaces.why_not()))
def test_every_frame_over_veths_comes_out(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLAF_STATE", str(tmp_path_factory.mktemp("s")))
    line = [sys.executable, "-m", "olaflab", "bench", "twin", "--frames", "200"]
    line += ["--runs", "2", "--seconds", "0.1", "--json"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["twin, virtual time, back to back"]["received"] == 200
    runs = report["twin, veth"]
    assert len(runs) == 2
    for run in runs:
        assert run["frames"] == run["received"] > 0
        assert run["seconds"] >= 0.1


@pytest.mark.skipif(interfaces.why_not() is not None, reason=str(interfaces.why_not()))
def test_what_two_shards_lose_is_in_the_counter_that_is_named(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLAF_STATE", str(tmp_path_factory.mktemp("s")))
    bed = shards.testbed(2, transport=Transport.VETH)
    with deployed(bed, lambda step: None) as running:
        frames, between = shards.spread(running, bed, 256), ends(running, bed)
        of_root(running.queues).write("hold", 1)
        held = wall(running, between, frames, 0.1, 128, queues=2)
        assert (held.received, held.lost_at) == (0, {"queue, dropped_full": held.frames - bed.root.slots})
        of_root(running.queues).write("hold", 0)
        assert wall(running, between, frames, 0.1, 16, queues=2).received > 0


@pytest.mark.skipif(bool(MISSING), reason=f"needs {', '.join(MISSING)} on PATH")
@pytest.mark.skipif(interfaces.why_not() is not None, reason=str(interfaces.why_not()))
def test_bmv2s_switches_alone_pass_every_frame_too(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLAF_STATE", str(tmp_path_factory.mktemp("s")))
    line = [sys.executable, "-m", "olaflab", "bench", "twin", "--frames", "200", "--compare", "bmv2"]
    done = subprocess.run(
        [*line, "--runs", "1", "--seconds", "0.1", "--json"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    for name in ("bmv2, veth", "bmv2 alone, veth"):
        (run,) = report[name]
        assert run["frames"] == run["received"] > 0
    assert len(report["twin / bmv2 alone, veth"]) == 1
