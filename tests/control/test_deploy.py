"""Deploy on the twin: programmed, verified, idempotent, in place where possible, and never half."""

import json
import os
import sqlite3
import stat
import subprocess
from contextlib import closing, suppress
from pathlib import Path

import pytest

from olafctl import paths
from olafctl.control import devices
from olafctl.control.deploy import deploy_testbed, find_deployment, use_deployment
from olafctl.control.desired import desired_state
from olafctl.control.destroy import destroy_deployment
from olafctl.control.logs import last_lines, paths_of
from olafctl.control.status import is_healthy, read_status
from olafctl.control.store import RecordRole, Store, all_names, folder_of
from olafctl.daemon.keeping import LocalClient
from olafctl.membership import limits
from olafctl.queue.registers import IndexSettings
from olafctl.targets import processes, testbeds
from olafctl.targets.interface import Running, of_root
from olafctl.testbed.model import Testbed
from olafctl.wire.layouts import Refusal
from olafctl.wire.modes import Mode
from olafswitch.errors import BadInput, OlafError
from olafswitch.p4runtime.entities import TableEntry
from olafswitch.p4runtime.session import Session
from tests.control.conftest import bed, quietly
from tests.shells import shell_python


def started(store: Store) -> Running:
    _, running = find_deployment(store)
    assert running is not None
    return running


def pids(store: Store) -> list[int]:
    return sorted(process.pid for process in processes.find_processes(store.folder))


def test_a_testbed_runs_as_it_says_and_leaves_nothing(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The deploy does what a dry run predicted. Its processes log like the command that started them."""
    monkeypatch.setenv("OLAF_LOG_LEVEL", "debug")
    monkeypatch.setenv("OLAF_LOG_FORMAT", "json")
    laptop = bed(tmp_path / "bed.yaml")
    foreseen = quietly(laptop, dry_run=True)
    assert not state.exists() or not any(state.iterdir())
    first = quietly(laptop)
    assert first.started and first.pushed == ("vnp4_1", "vnp4_2") == foreseen.pushed
    assert first.changes.size == 29
    output = [{line for line in each.changes.lines() if " queue " not in line} for each in (foreseen, first)]
    assert foreseen.started and output[0] == output[1]
    store = Store(folder_of("laptop"))
    report = read_status(store)
    assert is_healthy(report)
    assert {name: len(table["entries"]) for name, table in report["devices"]["vnp4_2"]["tables"].items()} == {
        "cluster_multicast": 1,
        "results": 0,
        "members": 2,
        "forwarding": 5,
        "bridging": 5,
    }
    [log] = paths_of(store)
    lines = [json.loads(line) for line in last_lines(log, 100)]
    seen = {line["message"].partition(":")[0] for line in lines if line["component"] == "targets.twin.attach"}
    assert seen == {f"port {port.number}" for port in laptop.ports}
    folder = store.folder
    assert {device.address for device in started(store).devices} == {f"unix:{folder}/p4runtime.sock"}
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.rglob("*"))}
    assert {path.name for path, mode in modes.items() if mode & 0o077} == set(), "only its owner reaches it"
    # A running deployment does not need the cache.
    assert {state.resolve() / "laptop"} == {device.p4info.parents[2] for device in started(store).devices}
    before = pids(store)
    assert quietly(laptop, dry_run=True).changed is False
    second = quietly(laptop)
    assert (second.changed, second.changes.size, pids(store)) == (False, 0, before)
    destroy_deployment(store)
    assert list(state.iterdir()) == []
    assert not any(Path(f"/proc/{pid}").exists() for pid in before)
    assert store.record(RecordRole.RUNNING) is None


@pytest.mark.slow
def test_three_hundred_workers_are_programmed_once(state: Path) -> None:
    hundred = testbeds.load_testbed(paths.sources() / "testbeds" / "hundred-clusters.yaml")
    outcome = quietly(hundred)
    assert outcome.changes.size > 1400
    assert quietly(hundred).changed is False


def test_what_can_be_changed_in_place_is(laptop: Testbed, tmp_path: Path) -> None:
    fifo = bed(tmp_path / "fifo.yaml", ("mode: olaf", "mode: fifo"))
    assert list(quietly(fifo, dry_run=True).changes.lines()) == ["~ queue index 0 olaf => fifo"]
    assert of_root(started(Store(folder_of("laptop"))).queues).read("mode") == 0
    store = Store(folder_of("laptop"))
    before = pids(store)
    third = "      - {name: lander-w2, port: 3, ip: 10.0.1.3}\n\nhosts:"
    outcome = quietly(bed(tmp_path / "more.yaml", ("\nhosts:", third), ("mode: olaf", "mode: fifo")))
    assert (outcome.started, outcome.pushed, pids(store)) == (False, (), before)
    assert [line.split(" -> ")[0] for line in outcome.changes.lines()] == [
        "~ queue index 0 olaf => fifo",
        "+ vnp4_2 members member 3",
        "~ vnp4_2 group 1 +{port 3 member 3}",
        "+ vnp4_2 forwarding dst_addr 10.0.1.3/32",
        "+ vnp4_2 bridging dst_mac 02:00:0a:00:01:03",
        "+ vnp4_1 workers worker_addr 10.0.1.3",
    ]
    assert is_healthy(read_status(store))


def test_ports_come_and_go_while_the_engine_goes_on(state: Path, tmp_path: Path) -> None:
    quietly(bed(tmp_path / "bed.yaml"))
    store = Store(folder_of("laptop"))
    before = pids(store)
    more = bed(
        tmp_path / "more.yaml",
        ("\nparameter_servers:", "  - {number: 9, transport: unix}\n\nparameter_servers:"),
        ("name: uplink, transport: unix}", "name: uplink, transport: unix, path: moved.sock}"),
    )
    foreseen, outcome = quietly(more, dry_run=True), quietly(more)
    assert [line.partition(" (")[0] for line in outcome.ports] == ["- port 4", "+ port 4", "+ port 9"]
    assert (outcome.started, outcome.ports, pids(store)) == (False, foreseen.ports, before)
    report = read_status(store)
    assert is_healthy(report) and [port["number"] for port in report["ports"]] == [1, 2, 3, 4, 9]
    assert (tmp_path / "moved.sock").is_socket()
    assert quietly(more).changed is False
    quietly(bed(tmp_path / "bed.yaml"))
    report = read_status(store)
    assert is_healthy(report) and [port["number"] for port in report["ports"]] == [1, 2, 3, 4]
    assert pids(store) == before and not (tmp_path / "moved.sock").exists()
    assert [number for number in range(1, 10) if _answers(store, number)] == [1, 2, 3, 4]


@pytest.mark.parametrize(("version", "lacks"), [(3, []), (2, ["membership"])])
def test_what_an_earlier_version_deployed_is_taken_over_as_it_is(
    version: int, lacks: list[str], state: Path, tmp_path: Path
) -> None:
    laptop = bed(tmp_path / "bed.yaml")
    quietly(laptop)
    store = Store(folder_of("laptop"))
    LocalClient(store).call("Join", cluster="lander", ip="10.0.1.9", port=2, name="late")
    before, recorded = pids(store), store.record(RecordRole.RUNNING)
    with closing(sqlite3.connect(store.folder / "deployment.db")) as database:
        for table in lacks:
            database.execute(f"drop table {table}")
        database.execute(f"pragma user_version = {version}")
        database.commit()
    file = store.folder / "deployment.json"
    record = json.loads(file.read_text())
    del record["made"]
    for part in (*record["ports"], *record["engines"]):
        for newer in ("folders", "impair", "queues", "shards"):
            part.pop(newer, None)
    file.write_text(json.dumps(record))
    assert is_healthy(read_status(store))
    outcome = quietly(laptop)
    assert (outcome.changed, pids(store), store.record(RecordRole.RUNNING)) == (False, before, recorded)
    [cluster] = read_status(store)["clusters"]
    assert [worker["name"] for worker in cluster["workers"]] == ["lander-w0", "lander-w1", "late"]


def _answers(store: Store, number: int) -> bool:
    with suppress(OlafError), closing(started(store).host_port(number)):
        return True
    return False


def test_a_full_table_loses_the_old_before_it_takes_the_new(state: Path, tmp_path: Path) -> None:
    """As many parameter servers as the table holds are replaced by as many others."""
    one = "  - {name: ps, port: ps, ip: 10.0.0.254}\n"

    def servers(net: str) -> tuple[str, str]:
        hosts = range(1, limits.PARAMETER_SERVERS + 1)
        return one, "".join(f"  - {{name: ps{host}, port: ps, ip: {net}.{host}}}\n" for host in hosts)

    quietly(bed(tmp_path / "old.yaml", servers("10.2.0")))
    outcome = quietly(bed(tmp_path / "new.yaml", servers("10.3.0")))
    assert outcome.changes.size >= 2 * limits.PARAMETER_SERVERS
    assert is_healthy(read_status(Store(folder_of("laptop"))))


def test_a_shell_that_has_left_locks_no_other_out(laptop: Testbed, tmp_path: Path) -> None:
    """p4runtime-shell's default election id is 2⁶⁴, above every clock."""
    running = started(Store(folder_of("laptop")))
    device = running.devices[0]
    shell = [str(shell_python()), "-m", "p4runtime_sh", "--grpc-addr", device.address]
    shell += ["--device-id", str(device.device_id)]
    script = "print(len(list(table_entry['workers'].read())), 'workers')\nexit()\n"
    ended = subprocess.run(shell, input=script, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "workers" in ended.stdout and "not the primary" not in ended.stdout
    outcome = quietly(bed(tmp_path / "fifo.yaml", ("mode: olaf", "mode: fifo")))
    assert outcome.changes.size == 1


def test_another_primary_is_named_and_displaced_on_request_only(laptop: Testbed, tmp_path: Path) -> None:
    store = Store(folder_of("laptop"))
    running = started(store)
    device = running.devices[0]
    fifo = bed(tmp_path / "fifo.yaml", ("mode: olaf", "mode: fifo"))
    with Session.connect(device.address, device.device_id, election_id=1 << 127):
        seen = rf"another controller is primary.* pid {os.getpid()} .*--take-over"
        with pytest.raises(OlafError, match=seen):
            quietly(fifo)
        assert of_root(running.queues).read("mode") == 0
        deploy_testbed(fifo, lambda step: None, take_over=True)
        assert of_root(running.queues).settings()[0].settings.mode is Mode.FIFO


def test_drift_is_seen_and_fixed(laptop: Testbed) -> None:
    store = Store(folder_of("laptop"))
    running = started(store)
    with devices.control_devices(running) as sessions:
        given = {"cluster": 3, "epoch": 0, "index": 3, "member": 0, "port": 2, "segments": 1, "worker": 3}
        intruder = TableEntry("workers", {"worker_addr": 7}, "assign", given)
        sessions["vnp4_1"].insert(intruder)
    of_root(running.queues).write("hold", 1)
    drift = [
        "- vnp4_1 workers worker_addr 0.0.0.7 -> "
        "assign(cluster 3, epoch 0, index 3, member 0, port 2, segments 1, worker 3)",
        "~ queue register hold on => off",
    ]
    report = read_status(store)
    assert (report["drift"], is_healthy(report)) == (drift, False)
    assert list(quietly(laptop).changes.lines()) == drift
    assert is_healthy(read_status(store))


def test_one_index_that_was_set_apart_is_seen_and_fixed(laptop: Testbed) -> None:
    store = Store(folder_of("laptop"))
    running = started(store)
    for index in (0, 5):
        of_root(running.queues).configure(index, index, IndexSettings(Mode.FIFO, threshold=3))
        with pytest.raises(OlafError, match="indices differ in mode: 0 has"):
            of_root(running.queues).read("mode")
        report = read_status(store)
        (drift,) = report["drift"]
        assert (f"queue index {index} " in drift, is_healthy(report)) == (True, False)
        assert list(quietly(laptop).changes.lines()) == [drift]
        assert is_healthy(read_status(store))


def test_a_pipeline_lost_by_a_device_is_pushed_again(laptop: Testbed) -> None:
    running = started(Store(folder_of("laptop")))
    with devices.control_devices(running) as sessions:
        device = next(device for device in running.devices if device.name == "vnp4_1")
        sessions["vnp4_1"].push(device.p4info, device.config, cookie=1)
    outcome = quietly(laptop)
    assert (outcome.started, outcome.pushed) == (False, ("vnp4_1",))
    assert [line.split()[2] for line in outcome.changes.lines()] == [
        "workers",
        "workers",
        "parameter_servers",
        "workers",
        *["refusals"] * len(Refusal),
    ]


def fail_to_start(folder: Path) -> None:
    """Deploy the testbed with a port whose folder cannot be made."""
    blocked = folder / "no-folder"
    blocked.write_text("a file where a socket's folder would have to be")
    uplink = "name: uplink, transport: unix"
    broken = bed(folder / "broken.yaml", (f"{uplink}}}", f"{uplink}, path: {blocked}/4.sock}}"))
    with pytest.raises(OlafError):
        quietly(broken)


def test_a_deploy_that_cannot_start_goes_back_to_what_ran(laptop: Testbed, tmp_path: Path) -> None:
    store = Store(folder_of("laptop"))
    fail_to_start(tmp_path)
    report = read_status(store)
    assert (report["testbed"], report["interrupted"], is_healthy(report)) == (
        str(laptop.source),
        False,
        True,
    )
    assert quietly(laptop).changed is False


def test_ports_that_fail_are_reported_before_anything_stops(laptop: Testbed, tmp_path: Path) -> None:
    store = Store(folder_of("laptop"))
    before = pids(store)
    broken = bed(
        tmp_path / "broken.yaml",
        ("name: uplink, transport: unix}", "name: uplink, transport: unix, path: /etc/hostname}"),
    )
    steps: list[str] = []
    for dry_run in (True, False):
        with pytest.raises(BadInput, match="/etc/hostname exists and is not a socket"):
            deploy_testbed(broken, steps.append, dry_run=dry_run)
    assert set(steps) <= {"rendering and checking"}
    assert pids(store) == before
    assert is_healthy(read_status(store))


def test_the_error_of_a_first_deploy_names_no_log_that_is_gone(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A module that Python cannot import ends the process after it was started.
    (tmp_path / "grpc.py").write_text("raise SystemExit('no grpc today')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(OlafError, match="no grpc today") as failed:
        quietly(bed(tmp_path / "bed.yaml"))
    assert str(state) not in str(failed.value)


def test_a_use_keeps_deploys_and_other_uses_out(laptop: Testbed) -> None:
    store = Store(folder_of("laptop"))
    with use_deployment(store) as (used, _):
        assert used.name == "laptop"
        with pytest.raises(OlafError, match="another olafctl is at work"):
            quietly(laptop)
        with pytest.raises(OlafError, match="another olafctl is at work"), use_deployment(store):
            pass


def test_a_first_deploy_that_cannot_start_leaves_nothing(state: Path, tmp_path: Path) -> None:
    fail_to_start(tmp_path)
    assert not folder_of("laptop").exists()
    assert pids(Store(folder_of("laptop"))) == []


def test_a_folder_without_a_deployment_is_left_alone(state: Path, tmp_path: Path) -> None:
    laptop = bed(tmp_path / "bed.yaml")
    precious = state / "laptop" / "thesis.tex"
    precious.parent.mkdir(parents=True)
    precious.write_text("years of work")
    for dry_run in (True, False):
        with pytest.raises(BadInput, match="exists and is not a deployment"):
            quietly(laptop, dry_run=dry_run)
    assert all_names() == ()
    assert list(state.rglob("*")) == [precious.parent, precious]


def test_a_moved_worker_stays_until_its_testbed_moves_it(state: Path, tmp_path: Path) -> None:
    second = "  - name: rover\n    workers:\n      - {name: rover-w0, port: 3, ip: 10.0.1.9}\n\nhosts:"
    pair = bed(tmp_path / "pair.yaml", ("\nhosts:", second))
    quietly(pair)
    store = Store(folder_of("laptop"))
    local = LocalClient(store)
    local.call("MoveWorker", worker="lander-w0", cluster="1")
    assert quietly(pair).changed is False
    [_, rover] = read_status(store)["clusters"]
    assert [worker["name"] for worker in rover["workers"]] == ["lander-w0", "rover-w0"]
    local.call("MoveWorker", worker="lander-w0", cluster="lander")
    assert desired_state(find_deployment(store)[0]) == desired_state(pair)
    with pytest.raises(BadInput, match="worker 'unknown' does not exist"):
        local.call("MoveWorker", worker="unknown", cluster="rover")
    with pytest.raises(BadInput, match="cluster '7' does not exist"):
        local.call("MoveWorker", worker="lander-w0", cluster="7")
    assert is_healthy(read_status(store))


def test_status_says_which_process_died(laptop: Testbed) -> None:
    store = Store(folder_of("laptop"))
    [twin] = processes.find_processes(store.folder)
    shell = twin.parent()
    assert shell is not None
    twin.kill()
    shell.wait(20)
    report = read_status(store)
    [seen] = report["died"]
    assert "olafctl.targets.twin.process was ended by signal KILL (see queue.log)" in seen
    assert not report["running"]
    assert quietly(laptop).started
    assert not read_status(store)["died"]
