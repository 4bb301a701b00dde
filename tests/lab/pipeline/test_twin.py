"""Benches of packet rates: in virtual time, over veths, under faults, through compiled P4."""

import json
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from olafctl.network import interfaces
from olafctl.targets import testbeds
from olafctl.targets.bmv2.target import TARGET
from olafctl.targets.interface import of_root
from olaflab.pipeline import faults, shards
from olaflab.pipeline.twin import Interleaved, Rate, find_ends, measure_wall, run_interleaved
from olafswitch.ports.transport import Transport
from olaftest.deployment import deployed_testbed
from tests.p4.switches import PROGRAMS

MISSING = TARGET.missing()


def test_runs_take_turns_after_a_warm_up_of_each() -> None:
    order: list[tuple[str, float]] = []

    def measure(name: str, rate: int, seconds: float) -> Rate:
        order.append((name, seconds))
        return Rate(rate, rate, 1.0)

    done = run_interleaved(2, {name: partial(measure, name, 5) for name in "ab"}, 2.0)
    assert order == [("a", 0.5), ("b", 0.5), ("a", 2.0), ("b", 2.0), ("a", 2.0), ("b", 2.0)]
    assert [len(runs) for runs in done.runs.values()] == [2, 2]


def test_a_ratio_is_of_two_runs_next_to_each_other() -> None:
    runs = {"fast": [Rate(90, 90, 1.0), Rate(40, 40, 1.0)], "slow": [Rate(10, 10, 1.0), Rate(20, 20, 2.0)]}
    assert Interleaved(runs).ratios_of("fast", "slow") == [4.0, 9.0]


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
    bed = shards.make_testbed(2, transport=Transport.VETH)
    with deployed_testbed(bed, lambda step: None) as running:
        frames, between = shards.spread_updates(running, bed, 256), find_ends(running, bed)
        of_root(running.queues).write("hold", 1)
        held = measure_wall(running, between, frames, 0.1, 128, queues=2)
        assert (held.received, held.lost_at) == (0, {"queue, dropped_full": held.frames - bed.root.slots})
        of_root(running.queues).write("hold", 0)
        assert measure_wall(running, between, frames, 0.1, 16, queues=2).received > 0


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


def _olaflab(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "olaflab", *args], capture_output=True, text=True, check=False
    )


def test_samples_reports_each_outcome(tmp_path: Path) -> None:
    text = (PROGRAMS / "parser.p4").read_text()
    (tmp_path / "pipe.p4").write_text((PROGRAMS / "pipe.p4").read_text())
    for name, stf in (("good", "packet 0 05\nexpect 0 00 01\n"), ("bad", "packet 0 05\nexpect 0 77\n")):
        (tmp_path / f"{name}.p4").write_text(text)
        (tmp_path / f"{name}.stf").write_text(stf)
    (tmp_path / "broken.p4").write_text(text.replace("m.path = 1;", "m.path = y;"))
    (tmp_path / "broken.stf").write_text("")
    done = _olaflab("bench", "samples", str(tmp_path), "--json")
    assert done.returncode == 1
    report = json.loads(done.stdout)
    outcomes = {row["name"]: row["outcome"] for row in report["samples"]}
    assert outcomes == {"good": "pass", "bad": "wrong", "broken": "refused"}
    assert (report["pass"], report["wrong"], report["refused"]) == (1, 1, 1)
    assert _olaflab("bench", "samples", str(tmp_path), "good", "broken").returncode == 0


def test_bench_reports_rates() -> None:
    done = _olaflab("bench", "p4", "--workers", "20", "--bytes", "128", "--seconds", "0.05", "--json")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["workers"] == 20 and figures["entries_per_s"] > 0
    assert figures["rates"][0]["packets_per_s"] > 0


KINDS = [Transport.UNIX, Transport.VETH]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_wrong_is_merged_and_it_goes_on(
    kind: Transport, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind is Transport.VETH and (reason := interfaces.why_not()):
        pytest.skip(reason)
    monkeypatch.setenv("OLAF_STATE", str(tmp_path_factory.mktemp("s")))
    bed = testbeds.load_testbed(testbeds.locate_testbed("laptop"))
    bed = replace(bed, ports=tuple(replace(port, transport=kind) for port in bed.ports))
    passed = faults.run_faults(bed, malformed=2000, stopped=0.05, progress=lambda step: None)
    assert len(passed) == (5 if kind is Transport.VETH else 4)
    assert all(0 < each.arrived <= each.sent for each in passed.values())


def test_what_is_stopped_does_not_outlive_the_bench() -> None:
    bench = """
import sys, psutil
from olaflab.pipeline.faults import stop_process
with stop_process(psutil.Process(int(sys.argv[1])), 600):
    print("stopped", flush=True)
    sys.stdin.read()
"""
    with subprocess.Popen(["sleep", "600"]) as engine:
        try:
            line = [sys.executable, "-c", bench, str(engine.pid)]
            with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
                assert running.stdout is not None
                assert running.stdout.readline() == b"stopped\n"
                running.kill()
            assert engine.wait(timeout=60) == -9
        finally:
            engine.kill()
