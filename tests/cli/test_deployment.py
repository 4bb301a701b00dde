"""The verbs on a running deployment: what an operator types, reads and gets as exit codes."""

import json
import os
import signal
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from olafctl.control.store import folder_of
from olafctl.targets import processes
from tests.cli.conftest import Run
from tests.shells import shell_python

BED = Path(__file__).parents[1] / "packets" / "testbed.yaml"


@pytest.fixture
def state(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OLAF_STATE", str(place))
    monkeypatch.delenv("OLAF_DEBUG", raising=False)
    return place


@pytest.fixture
def deployed(run: Run) -> Run:
    """Provide the packet tests' testbed, deployed from the command line, whatever earlier tests left."""
    assert run("deploy", BED).code == 0
    return run


def test_deploy_again_status_and_destroy(deployed: Run, state: Path) -> None:
    deployed("destroy")
    ended = deployed("deploy", BED)
    assert ended.code == 0
    assert ended.out.startswith("packets: started, 91 changes programmed and verified in ")
    assert ended.err.splitlines()[-1].split("  ")[-1] == "programming tables and groups"
    assert deployed("deploy", BED).out == "packets runs already; nothing changed\n"
    assert deployed("deploy", BED, "--dry-run").out == "packets runs already; nothing to change\n"
    shown = deployed("status", "--deployment", "packets")
    assert shown.code == 0
    for line in (
        "packets (",
        "5 clusters, 14 workers, 1 parameter server",
        "workers",
        "bridging",
        "occupancy",
    ):
        assert line in shown.out
    report = json.loads(deployed("status", "--json").out)
    assert [port["name"] for port in report["ports"]] == ["ps", "tor2", "tor3", "tor4", "uplink"]
    assert (report["queues"]["engine"]["registers"]["slots"], report["drift"], report["running"]) == (
        2,
        [],
        True,
    )
    assert len(report["devices"]["vnp4_1"]["tables"]["workers"]["entries"]) == 16
    ended = deployed("destroy", "--deployment", "packets")
    assert (ended.code, ended.out, list(state.iterdir())) == (0, "destroyed packets\n", [])
    assert deployed("status", "--deployment", "packets").code == 2


def test_what_was_done_as_json(deployed: Run, tmp_path: Path) -> None:
    path = tmp_path / "fifo.yaml"
    path.write_text(BED.read_text().replace("mode: olaf", "mode: fifo"))
    foreseen = deployed("deploy", path, "--dry-run")
    fifo = ["~ queue indices 0-2 olaf => fifo", "~ queue indices 5-6 olaf => fifo"]
    assert foreseen.out.splitlines() == fifo
    done = json.loads(deployed("deploy", path, "--json").out)
    assert (done["changed"], done["started"], done["changes"]) == (
        True,
        False,
        fifo,
    )
    assert json.loads(deployed("build", path, "--json").out)["fresh"] is False
    path.write_text(BED.read_text().replace("number: 5", "number: 6"))
    ports = "- port 5 (veth uplink)\n+ port 6 (veth uplink)\n"
    assert deployed("deploy", path, "--dry-run").out.startswith(ports)


def test_the_packet_tests_against_it_with_a_junit_report(
    deployed: Run, state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state folder may be relative to this folder."""
    monkeypatch.chdir(state.parent)
    monkeypatch.setenv("OLAF_STATE", state.name)
    report = tmp_path / "report.xml"
    ended = deployed("test", "-k", "test_multicast", "--junit", report)
    assert ended.code == 0
    suite = ElementTree.parse(report).getroot()[0]
    assert (suite.get("failures"), suite.get("errors"), suite.get("skipped")) == ("0", "0", "0")
    assert int(suite.get("tests") or 0) == 4
    wrong = deployed("test", "-k", "((")
    assert (wrong.code, wrong.err) == (2, "error: ((: pytest cannot run this (see what it says above)\n")
    # This is an expression, whatever it looks like, and no option of pytest's.
    assert deployed("test", "-k", "--version").code == 2
    full = deployed("test", "-k", "test_multicast", "--junit", "/dev/full")
    assert full.code == 1
    assert full.err == (
        "error: /dev/full: cannot be written: No space left on device (choose another file for --junit)\n"
    )
    nothing = deployed("test", "-k", "no_such_test")
    assert (nothing.code, nothing.err) == (
        2,
        "error: no_such_test: no packet test matches (see olafctl test -v)\n",
    )


def test_the_packet_tests_as_json(deployed: Run) -> None:
    chosen = "test_multicast or test_several_engines"
    line = [sys.executable, "-m", "olafctl", "test", "--deployment", "packets", "-k", chosen, "--json"]
    ended = subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stderr
    report = json.loads(ended.stdout)
    assert (report["passed"], report["failed"]) == (4, 0)
    skipped = [test["message"] for test in report["tests"] if test["outcome"] == "skipped"]
    assert set(skipped) == {"needs a testbed of several engines"}
    assert f"{len(skipped)} tests skipped: needs a testbed of several engines" in ended.stderr
    assert not any(noise in ended.stderr for noise in ("SKIPPED [", "warning"))
    assert "4 passed" in ended.stderr


def test_clusters_are_shown_in_words(deployed: Run) -> None:
    made = deployed("cluster", "create", "more", "--open")
    assert made.out == "more: number 5, first 7, segments 1, epoch 1, open\n"
    assert "no daemon runs: workers join more once olafctl daemon does" in made.err
    shown = deployed("cluster", "list").out + deployed("top", "--once").out
    assert "the engine's" in shown
    assert not {"None", "False"} & set(shown.split())
    assert deployed("cluster", "delete", "more").out == "deleted more, which had 0 members\n"


def test_a_shell_on_a_device(deployed: Run) -> None:
    python = shell_python()
    shown = deployed("shell", "vnp4_2", "--print")
    assert shown.code == 0
    assert shown.out.startswith(f"{python} -m p4runtime_sh --grpc-addr unix:/")
    assert "--device-id 2" in shown.out
    wrong = deployed("shell", "vnp4_3")
    assert wrong.code == 2
    assert wrong.err == "error: packets: device 'vnp4_3' does not exist (one of vnp4_1, vnp4_2)\n"


def test_what_has_been_killed_is_reported_down(deployed: Run) -> None:
    for process in processes.find_processes(folder_of("packets")):
        os.kill(process.pid, signal.SIGKILL)
    shown = deployed("status")
    assert (shown.code, "does not run on twin" in shown.out) == (1, True)
    for verb in (("test",), ("shell", "vnp4_1")):
        ended = deployed(*verb)
        assert (ended.code, ended.err) == (1, "error: packets: is not running (olafctl deploy TESTBED)\n")
    assert "packets: started" in deployed("deploy", BED).out


def test_a_worker_joins_and_moves_at_a_port_by_its_name(deployed: Run) -> None:
    joined = deployed("worker", "join", "red", "10.0.1.77", "--port", "tor3", "--json")
    assert (joined.code, json.loads(joined.out)["port"]) == (0, 3)
    moved = deployed("worker", "move", "10.0.1.77", "--port", "tor4", "--json")
    assert (moved.code, json.loads(moved.out)["port"]) == (0, 4)
    refused = deployed("worker", "join", "red", "10.0.1.78", "--port", "tor9")
    assert (refused.code, "front port 'tor9' does not exist" in refused.err) == (2, True)
    assert deployed("worker", "leave", "10.0.1.77").code == 0
