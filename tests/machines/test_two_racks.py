"""A testbed over two machines, from a desk that runs no engine."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.machines.lab import Lab, until

ENGINE = "olafctl.targets.twin.process"


def bed(racks: Lab) -> str:
    return str(racks.folder / "two-racks.yaml")


@pytest.fixture
def running(racks: Lab) -> Lab:
    """The machines with the testbed deployed, whatever the tests before left."""
    racks.olafctl("deploy", bed(racks))
    return racks


def kill_engines(racks: Lab, machine: str) -> None:
    for process in racks.machines[machine].processes(ENGINE):
        process.kill()
    until(lambda: not racks.machines[machine].processes(ENGINE))


def test_deploy_names_each_machine_and_the_second_one_changes_nothing(racks: Lab) -> None:
    racks.tried("destroy")
    plan = racks.olafctl("deploy", "--dry-run", bed(racks))
    assert "machine m1: root, tor1" in plan
    assert "machine m2: tor2" in plan
    assert "started" in racks.olafctl("deploy", bed(racks))
    assert "nothing changed" in racks.olafctl("deploy", bed(racks))
    report = json.loads(racks.olafctl("status", "--json"))
    assert [(each["name"], each["running"]) for each in report["machines"]] == [("m1", True), ("m2", True)]
    assert {each["engine"] for each in report["ports"]} == {"root", "tor1", "tor2"}


def test_packets_pass_as_in_one_machine(running: Lab) -> None:
    assert " passed" in running.olafctl("test", "-k", "several_engines or round_hierarchy or ack_status")


def test_captures_at_two_machines_are_one_file(running: Lab) -> None:
    file = running.folder / "both.pcapng"
    line = running.machines["desk"].entered(
        sys.executable, "-m", "olafctl", "capture", "ps", "host21", "-w", str(file), "-c", "4"
    )
    capturing = subprocess.Popen(line, env=running.environment(), stderr=subprocess.PIPE, text=True)
    assert capturing.stderr is not None
    assert "capturing" in capturing.stderr.readline()
    running.olafctl("test", "-k", "bypass")
    assert capturing.wait(60) == 0
    assert "4 frames captured" in capturing.stderr.read()
    assert file.stat().st_size > 0


def test_an_agent_that_is_killed_finds_its_engines(running: Lab) -> None:
    before = [each.pid for each in running.machines["m1"].processes(ENGINE)]
    running.kill_agent("m1")
    away = running.olafctl("status", code=1)
    assert "machine m1 cannot be reached" in away
    assert "machine m1 cannot be reached" in running.olafctl("cluster", "halt", "walker", code=1)
    running.start("m1")
    assert "nothing changed" in running.olafctl("deploy", bed(running))
    assert [each.pid for each in running.machines["m1"].processes(ENGINE)] == before


def test_an_engine_that_is_killed_comes_back_alone(running: Lab) -> None:
    kept = [each.pid for each in running.machines["m1"].processes(ENGINE)]
    kill_engines(running, "m2")
    died = "died: m2: "
    until(lambda: died in running.olafctl("status", code=1))
    running.olafctl("deploy", bed(running))
    running.olafctl("status")
    assert [each.pid for each in running.machines["m1"].processes(ENGINE)] == kept


def test_a_reader_sees_and_changes_nothing(running: Lab) -> None:
    running.olafctl("status", role="reader")
    refused = running.olafctl("deploy", "--force", bed(running), role="reader", code=1)
    assert "needs the role controller" in refused


def test_logs_name_their_machine(running: Lab) -> None:
    kill_engines(running, "m2")
    until(lambda: "was ended by signal KILL" in running.olafctl("logs"))
    logs = running.olafctl("logs")
    assert "m2/queue.log: " in logs


def test_a_daemon_brings_back_what_is_killed_or_was_away(running: Lab) -> None:
    kept = [each.pid for each in running.machines["m1"].processes(ENGINE)]
    with running.daemon(bed(running)):
        for process in running.machines["m2"].processes(ENGINE):
            process.kill()
        until(lambda: running.tried("status").returncode == 0)
        running.cut("m2")
        try:
            until(lambda: "machine m2 cannot be reached" in running.tried("status").stdout)
        finally:
            running.cut("m2", whole=True)
        until(lambda: running.tried("status").returncode == 0)
        until(lambda: running.tried("cluster", "halt", "walker").returncode == 0)
        running.olafctl("cluster", "resume", "walker")
    running.olafctl("status")
    assert [each.pid for each in running.machines["m1"].processes(ENGINE)] == kept


def test_a_testbed_that_does_not_start_leaves_what_ran(running: Lab) -> None:
    wrong = running.folder / "wrong" / "two-racks.yaml"
    wrong.parent.mkdir(exist_ok=True)
    wrong.write_text(Path(bed(running)).read_text().replace("path: cable0", "path: cable9"))
    before = [each.pid for each in running.machines["m1"].processes(ENGINE)]
    refused = running.olafctl("deploy", str(wrong), code=2)
    assert "m2: " in refused
    assert "interface cable9 does not exist" in refused
    running.olafctl("status")
    assert [each.pid for each in running.machines["m1"].processes(ENGINE)] == before


def test_destroy_leaves_nothing_on_any_machine(running: Lab) -> None:
    running.olafctl("destroy")
    for name in ("m1", "m2"):
        assert not running.machines[name].processes(ENGINE)
        assert list((running.machines[name].folder / ".agent").iterdir()) == []


def test_a_machine_that_is_away_is_named_before_anything_is_touched(racks: Lab) -> None:
    racks.tried("destroy")
    racks.cut("m2")
    try:
        assert "machine m2 cannot be reached" in racks.olafctl("deploy", bed(racks), code=2)
        assert not racks.machines["m1"].processes(ENGINE)
    finally:
        racks.cut("m2", whole=True)
