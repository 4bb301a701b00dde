"""Deploy on the twin: programmed, verified, idempotent, in place where possible, and never half."""

import json
import os
import stat
import subprocess
from pathlib import Path

import pytest

from olafctl import paths
from olafctl.control import devices
from olafctl.control.deploy import deploy, find, using
from olafctl.control.desired import desired
from olafctl.control.destroy import destroy
from olafctl.control.locks import locked
from olafctl.control.logs import last_lines, paths_of
from olafctl.control.status import healthy, status
from olafctl.control.store import Role, Store, all_names, folder_of
from olafctl.daemon.local_client import LocalClient
from olafctl.membership import limits
from olafctl.queue.registers import IndexSettings
from olafctl.targets import processes, testbeds
from olafctl.targets.interface import Running, of_root
from olafctl.wire.layouts import Refusal
from olafctl.wire.modes import Mode
from olafswitch.errors import BadInput, OlafError
from olafswitch.p4runtime.entities import TableEntry
from olafswitch.p4runtime.session import Session
from tests.control.conftest import bed, quietly
from tests.shells import shell_python


def started(store: Store) -> Running:
    _, running = find(store)
    assert running is not None
    return running


def pids(store: Store) -> list[int]:
    return sorted(process.pid for process in processes.of(store.folder))


def test_a_testbed_runs_as_it_says_a_second_deploy_is_a_no_op(state: Path, tmp_path: Path) -> None:
    laptop = bed(tmp_path / "bed.yaml")
    first = quietly(laptop)
    assert first.started and first.pushed == ("vnp4_1", "vnp4_2") and first.changes.size == 29
    store = Store(folder_of("laptop"))
    report = status(store)
    assert healthy(report)
    assert {name: len(table["entries"]) for name, table in report["devices"]["vnp4_2"]["tables"].items()} == {
        "cluster_multicast": 1,
        "results": 0,
        "members": 2,
        "forwarding": 5,
        "bridging": 5,
    }
    before = pids(store)
    assert quietly(laptop, dry_run=True).changed is False
    second = quietly(laptop)
    assert (second.changed, second.changes.size, pids(store)) == (False, 0, before)


def test_three_hundred_workers_are_programmed_once(state: Path) -> None:
    hundred = testbeds.load(paths.sources() / "testbeds" / "hundred-clusters.yaml")
    outcome = quietly(hundred)
    assert outcome.changes.size > 1400
    assert quietly(hundred).changed is False


def test_a_dry_run_says_what_a_deploy_then_does(state: Path, tmp_path: Path) -> None:
    laptop = bed(tmp_path / "bed.yaml")
    foreseen = quietly(laptop, dry_run=True)
    assert not state.exists() or not any(state.iterdir())
    done = quietly(laptop)
    assert foreseen.started and foreseen.pushed == done.pushed
    output = {line for line in foreseen.changes.lines() if " queue " not in line}
    assert {line for line in done.changes.lines() if " queue " not in line} == output
    fifo = bed(tmp_path / "fifo.yaml", ("mode: olaf", "mode: fifo"))
    assert list(quietly(fifo, dry_run=True).changes.lines()) == ["~ queue index 0 olaf => fifo"]
    running = started(Store(folder_of("laptop")))
    assert of_root(running.queues).read("mode") == 0


def test_what_can_be_changed_in_place_is(state: Path, tmp_path: Path) -> None:
    quietly(bed(tmp_path / "bed.yaml"))
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
    assert healthy(status(store))


def test_another_set_of_ports_is_a_new_start(state: Path, tmp_path: Path) -> None:
    quietly(bed(tmp_path / "bed.yaml"))
    store = Store(folder_of("laptop"))
    before = pids(store)
    outcome = quietly(
        bed(tmp_path / "more.yaml", ("\nparameter_servers:", "  - {number: 9}\n\nparameter_servers:"))
    )
    assert outcome.started
    assert not set(pids(store)) & set(before)
    assert [port["number"] for port in status(store)["ports"]] == [1, 2, 3, 4, 9]


def test_a_full_table_loses_the_old_before_it_takes_the_new(state: Path, tmp_path: Path) -> None:
    """As many parameter servers as the table holds give way to as many others."""
    one = "  - {name: ps, port: ps, ip: 10.0.0.254}\n"

    def servers(net: str) -> tuple[str, str]:
        hosts = range(1, limits.PARAMETER_SERVERS + 1)
        return one, "".join(f"  - {{name: ps{host}, port: ps, ip: {net}.{host}}}\n" for host in hosts)

    quietly(bed(tmp_path / "old.yaml", servers("10.2.0")))
    outcome = quietly(bed(tmp_path / "new.yaml", servers("10.3.0")))
    assert outcome.changes.size >= 2 * limits.PARAMETER_SERVERS
    assert healthy(status(Store(folder_of("laptop"))))


def test_only_the_owner_reaches_a_deployment(state: Path, tmp_path: Path) -> None:
    quietly(bed(tmp_path / "bed.yaml"))
    folder = folder_of("laptop")
    running = started(Store(folder))
    assert {device.address for device in running.devices} == {f"unix:{folder}/p4runtime.sock"}
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.rglob("*"))}
    assert {path.name for path, mode in modes.items() if mode & 0o077} == set()


def test_a_shell_that_has_left_locks_no_other_out(state: Path, tmp_path: Path) -> None:
    """p4runtime-shell as it comes: its election id is 2⁶⁴, above every clock."""
    quietly(bed(tmp_path / "bed.yaml"))
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


def test_another_primary_is_named_and_displaced_on_request_only(state: Path, tmp_path: Path) -> None:
    quietly(bed(tmp_path / "bed.yaml"))
    store = Store(folder_of("laptop"))
    running = started(store)
    device = running.devices[0]
    fifo = bed(tmp_path / "fifo.yaml", ("mode: olaf", "mode: fifo"))
    with Session.connect(device.address, device.device_id, election_id=1 << 127):
        seen = rf"another controller is primary.* pid {os.getpid()} .*--take-over"
        with pytest.raises(OlafError, match=seen):
            quietly(fifo)
        assert of_root(running.queues).read("mode") == 0
        deploy(fifo, lambda step: None, take_over=True)
        assert of_root(running.queues).settings()[0].settings.mode is Mode.FIFO


def test_drift_is_seen_and_fixed(state: Path, tmp_path: Path) -> None:
    laptop = bed(tmp_path / "bed.yaml")
    quietly(laptop)
    store = Store(folder_of("laptop"))
    running = started(store)
    with devices.controlling(running) as sessions:
        given = {"cluster": 3, "epoch": 0, "index": 3, "member": 0, "port": 2, "segments": 1, "worker": 3}
        intruder = TableEntry("workers", {"worker_addr": 7}, "assign", given)
        sessions["vnp4_1"].insert(intruder)
    of_root(running.queues).write("hold", 1)
    drift = [
        "- vnp4_1 workers worker_addr 0.0.0.7 -> "
        "assign(cluster 3, epoch 0, index 3, member 0, port 2, segments 1, worker 3)",
        "~ queue register hold on => off",
    ]
    report = status(store)
    assert (report["drift"], healthy(report)) == (drift, False)
    assert list(quietly(laptop).changes.lines()) == drift
    assert healthy(status(store))


def test_one_index_that_was_set_apart_is_seen_and_fixed(state: Path, tmp_path: Path) -> None:
    laptop = bed(tmp_path / "bed.yaml")
    quietly(laptop)
    store = Store(folder_of("laptop"))
    running = started(store)
    for index in (0, 5):
        of_root(running.queues).configure(index, index, IndexSettings(Mode.FIFO, threshold=3))
        with pytest.raises(OlafError, match="indices differ in mode: 0 has"):
            of_root(running.queues).read("mode")
        report = status(store)
        (drift,) = report["drift"]
        assert (f"queue index {index} " in drift, healthy(report)) == (True, False)
        assert list(quietly(laptop).changes.lines()) == [drift]
        assert healthy(status(store))


def test_a_pipeline_lost_by_a_device_is_pushed_again(state: Path, tmp_path: Path) -> None:
    laptop = bed(tmp_path / "bed.yaml")
    quietly(laptop)
    running = started(Store(folder_of("laptop")))
    with devices.controlling(running) as sessions:
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


def test_a_deploy_that_cannot_start_goes_back_to_what_ran(state: Path, tmp_path: Path) -> None:
    laptop = bed(tmp_path / "bed.yaml")
    quietly(laptop)
    store = Store(folder_of("laptop"))
    blocked = tmp_path / "no-folder"
    blocked.write_text("a file where a socket's folder would have to be")
    broken = bed(
        tmp_path / "broken.yaml",
        ("name: uplink, transport: unix}", f"name: uplink, transport: unix, path: {blocked}/4.sock}}"),
    )
    with pytest.raises(OlafError):
        quietly(broken)
    report = status(store)
    assert (report["testbed"], report["interrupted"], healthy(report)) == (
        str(tmp_path / "bed.yaml"),
        False,
        True,
    )
    assert quietly(laptop).changed is False


def test_ports_that_fail_are_reported_before_anything_stops(state: Path, tmp_path: Path) -> None:
    quietly(bed(tmp_path / "bed.yaml"))
    store = Store(folder_of("laptop"))
    before = pids(store)
    broken = bed(
        tmp_path / "broken.yaml",
        ("name: uplink, transport: unix}", "name: uplink, transport: unix, path: /etc/hostname}"),
    )
    for dry_run in (True, False):
        with pytest.raises(BadInput, match="/etc/hostname exists and is not a socket"):
            quietly(broken, dry_run=dry_run)
    assert pids(store) == before
    assert healthy(status(store))


def test_what_runs_does_not_need_the_cache(state: Path, tmp_path: Path) -> None:
    laptop = bed(tmp_path / "bed.yaml")
    quietly(laptop)
    store = Store(folder_of("laptop"))
    running = started(store)
    assert {state.resolve() / "laptop"} == {device.p4info.parents[2] for device in running.devices}
    assert healthy(status(store))


def test_the_error_of_a_first_deploy_names_no_log_that_is_gone(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A module that Python cannot import ends the process after it was started.
    (tmp_path / "grpc.py").write_text("raise SystemExit('no grpc today')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(OlafError, match="no grpc today") as failed:
        quietly(bed(tmp_path / "bed.yaml"))
    assert str(state) not in str(failed.value)


def test_a_use_keeps_deploys_and_other_uses_out(state: Path, tmp_path: Path) -> None:
    laptop = bed(tmp_path / "bed.yaml")
    quietly(laptop)
    store = Store(folder_of("laptop"))
    with using(store) as (used, _):
        assert used.name == "laptop"
        with pytest.raises(OlafError, match="another olafctl is at work"):
            quietly(laptop)
        with pytest.raises(OlafError, match="another olafctl is at work"), using(store):
            pass


def test_a_first_deploy_that_cannot_start_leaves_nothing(state: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "no-folder"
    blocked.write_text("a file where a socket's folder would have to be")
    broken = bed(
        tmp_path / "broken.yaml",
        ("name: uplink, transport: unix}", f"name: uplink, transport: unix, path: {blocked}/4.sock}}"),
    )
    with pytest.raises(OlafError):
        quietly(broken)
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


def test_two_deploys_at_once_do_not_mix(state: Path, tmp_path: Path) -> None:
    laptop = bed(tmp_path / "bed.yaml")
    with (
        locked(folder_of("laptop")),
        pytest.raises(OlafError, match="another olafctl is at work on this deployment"),
    ):
        quietly(laptop)


def test_a_moved_worker_stays_until_its_testbed_moves_it(state: Path, tmp_path: Path) -> None:
    second = "  - name: rover\n    workers:\n      - {name: rover-w0, port: 3, ip: 10.0.1.9}\n\nhosts:"
    pair = bed(tmp_path / "pair.yaml", ("\nhosts:", second))
    quietly(pair)
    store = Store(folder_of("laptop"))
    local = LocalClient(store)
    local.call("MoveWorker", worker="lander-w0", cluster="1")
    assert quietly(pair).changed is False
    [_, rover] = status(store)["clusters"]
    assert [worker["name"] for worker in rover["workers"]] == ["lander-w0", "rover-w0"]
    local.call("MoveWorker", worker="lander-w0", cluster="lander")
    assert desired(find(store)[0]) == desired(pair)
    with pytest.raises(BadInput, match="worker 'nobody' does not exist"):
        local.call("MoveWorker", worker="nobody", cluster="rover")
    with pytest.raises(BadInput, match="cluster '7' does not exist"):
        local.call("MoveWorker", worker="lander-w0", cluster="7")
    assert healthy(status(store))


def test_processes_log_as_the_command_that_started_them(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLAF_LOG_LEVEL", "debug")
    monkeypatch.setenv("OLAF_LOG_FORMAT", "json")
    laptop = bed(tmp_path / "bed.yaml")
    quietly(laptop)
    [log] = paths_of(Store(folder_of("laptop")))
    lines = [json.loads(line) for line in last_lines(log, 100)]
    seen = {line["message"].partition(":")[0] for line in lines if line["component"] == "targets.twin.attach"}
    assert seen == {f"port {port.number}" for port in laptop.ports}


def test_destroy_leaves_no_process_and_no_file(state: Path, tmp_path: Path) -> None:
    quietly(bed(tmp_path / "bed.yaml"))
    store = Store(folder_of("laptop"))
    before = pids(store)
    assert before
    destroy(store)
    assert list(state.iterdir()) == []
    assert not any(Path(f"/proc/{pid}").exists() for pid in before)
    assert store.record(Role.RUNNING) is None


def test_what_cannot_start_is_reported_before_any_build(state: Path, tmp_path: Path) -> None:
    broken = bed(
        tmp_path / "broken.yaml",
        ("name: uplink, transport: unix}", "name: uplink, transport: unix, path: /etc/hostname}"),
    )
    steps: list[str] = []
    with pytest.raises(BadInput, match="/etc/hostname exists and is not a socket"):
        deploy(broken, steps.append)
    assert not steps
    assert not folder_of("laptop").exists()


def test_status_says_which_process_died(state: Path, tmp_path: Path) -> None:
    quietly(bed(tmp_path / "bed.yaml"))
    store = Store(folder_of("laptop"))
    [twin] = processes.of(store.folder)
    shell = twin.parent()
    assert shell is not None
    twin.kill()
    shell.wait(20)
    report = status(store)
    [seen] = report["died"]
    assert "olafctl.targets.twin.process was ended by signal KILL (see queue.log)" in seen
    assert not report["running"]
    assert quietly(bed(tmp_path / "bed.yaml")).started
    assert not status(store)["died"]
