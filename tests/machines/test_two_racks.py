"""A testbed over two machines, from a desk that runs no engine: each test with what the last one left."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.machines.lab import Lab, until

ENGINE = "olafctl.targets.twin.process"


def bed(racks: Lab) -> str:
    return str(racks.folder / "two-racks.yaml")


def test_deploy_names_each_machine_and_the_second_one_changes_nothing(racks: Lab) -> None:
    plan = racks.olafctl("deploy", "--dry-run", bed(racks))
    assert "machine m1: root, tor1" in plan
    assert "machine m2: tor2" in plan
    assert "started" in racks.olafctl("deploy", bed(racks))
    assert "nothing changed" in racks.olafctl("deploy", bed(racks))
    report = json.loads(racks.olafctl("status", "--json"))
    assert [(each["name"], each["running"]) for each in report["machines"]] == [("m1", True), ("m2", True)]
    assert {each["engine"] for each in report["ports"]} == {"root", "tor1", "tor2"}


def test_packets_pass_as_in_one_machine(racks: Lab) -> None:
    assert " passed" in racks.olafctl("test", "-k", "several_engines or round_hierarchy or ack_status")


def test_captures_at_two_machines_are_one_file(racks: Lab) -> None:
    file = racks.folder / "both.pcapng"
    line = racks.machines["desk"].entered(
        sys.executable, "-m", "olafctl", "capture", "ps", "host21", "-w", str(file), "-c", "4"
    )
    capturing = subprocess.Popen(line, env=racks.environment(), stderr=subprocess.PIPE, text=True)
    assert capturing.stderr is not None
    assert "capturing" in capturing.stderr.readline()
    racks.olafctl("test", "-k", "bypass")
    assert capturing.wait(60) == 0
    assert "4 frames captured" in capturing.stderr.read()
    assert file.stat().st_size > 0


def test_an_agent_that_is_killed_finds_its_engines(racks: Lab) -> None:
    before = [each.pid for each in racks.machines["m1"].processes(ENGINE)]
    racks.kill_agent("m1")
    away = racks.olafctl("status", code=1)
    assert "machine m1 cannot be reached" in away
    assert "machine m1 cannot be reached" in racks.olafctl("cluster", "halt", "walker", code=1)
    racks.start("m1")
    assert "nothing changed" in racks.olafctl("deploy", bed(racks))
    assert [each.pid for each in racks.machines["m1"].processes(ENGINE)] == before


def test_an_engine_that_is_killed_comes_back_alone(racks: Lab) -> None:
    kept = [each.pid for each in racks.machines["m1"].processes(ENGINE)]
    for process in racks.machines["m2"].processes(ENGINE):
        process.kill()
    until(lambda: not racks.machines["m2"].processes(ENGINE))
    died = "died: m2: "
    until(lambda: died in racks.olafctl("status", code=1))
    racks.olafctl("deploy", bed(racks))
    racks.olafctl("status")
    assert [each.pid for each in racks.machines["m1"].processes(ENGINE)] == kept


def test_a_reader_sees_and_changes_nothing(racks: Lab) -> None:
    racks.olafctl("status", role="reader")
    refused = racks.olafctl("deploy", "--force", bed(racks), role="reader", code=1)
    assert "needs the role controller" in refused


def test_logs_name_their_machine(racks: Lab) -> None:
    logs = racks.olafctl("logs")
    assert "m2/queue.log: " in logs
    assert "was ended by signal KILL" in logs


def test_a_daemon_brings_back_what_is_killed_or_was_away(racks: Lab) -> None:
    kept = [each.pid for each in racks.machines["m1"].processes(ENGINE)]
    with racks.daemon(bed(racks)):
        for process in racks.machines["m2"].processes(ENGINE):
            process.kill()
        until(lambda: racks.tried("status").returncode == 0)
        racks.cut("m2")
        try:
            until(lambda: "machine m2 cannot be reached" in racks.tried("status").stdout)
        finally:
            racks.cut("m2", whole=True)
        until(lambda: racks.tried("status").returncode == 0)
        until(lambda: racks.tried("cluster", "halt", "walker").returncode == 0)
        racks.olafctl("cluster", "resume", "walker")
    racks.olafctl("status")
    assert [each.pid for each in racks.machines["m1"].processes(ENGINE)] == kept


def test_a_testbed_that_does_not_start_leaves_what_ran(racks: Lab) -> None:
    wrong = racks.folder / "wrong" / "two-racks.yaml"
    wrong.parent.mkdir(exist_ok=True)
    wrong.write_text(Path(bed(racks)).read_text().replace("path: cable0", "path: cable9"))
    before = [each.pid for each in racks.machines["m1"].processes(ENGINE)]
    refused = racks.olafctl("deploy", str(wrong), code=2)
    assert "m2: " in refused
    assert "interface cable9 does not exist" in refused
    racks.olafctl("status")
    assert [each.pid for each in racks.machines["m1"].processes(ENGINE)] == before


def test_destroy_leaves_nothing_on_any_machine(racks: Lab) -> None:
    racks.olafctl("destroy")
    for name in ("m1", "m2"):
        assert not racks.machines[name].processes(ENGINE)
        assert list((racks.machines[name].folder / ".agent").iterdir()) == []


@pytest.mark.parametrize("name", ["m2"])
def test_a_machine_that_is_away_is_named_before_anything_is_touched(racks: Lab, name: str) -> None:
    racks.cut(name)
    try:
        assert f"machine {name} cannot be reached" in racks.olafctl("deploy", bed(racks), code=2)
        assert not racks.machines["m1"].processes(ENGINE)
    finally:
        racks.cut(name, whole=True)
