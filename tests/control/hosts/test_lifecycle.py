"""Hosts come, change and go with the testbed, and are complete again after a kill in any step."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from olafctl.control.destroy import destroy_deployment
from olafctl.control.hosts import deployed
from olafctl.control.status import is_healthy, read_status
from olafctl.control.store import Store, folder_of
from olafctl.network import interfaces, ip
from olafctl.targets import processes
from olafswitch.errors import BadInput, OlafError
from tests.control.hosts.conftest import BED, bring_up, exec_line, needs_interfaces, udp


@needs_interfaces
def test_hosts_follow_the_testbed(state: Path) -> None:
    folder = folder_of("lab")
    bring_up("lab", with_hosts=None)
    assert interfaces.hosts_of(folder) == []
    with pytest.raises(BadInput, match="--hosts"):
        deployed.namespace_of(folder, "ps")
    outcome = bring_up("lab")
    assert (outcome.started, len(outcome.hosts)) == (False, 7)
    assert bring_up("lab", with_hosts=None).changed is False

    moved = ("ip: 10.0.3.2", "ip: 10.0.3.3")
    changed = bring_up("lab", moved, with_hosts=None).hosts
    assert "~ host right 10.0.3.3" in changed
    assert "~ host left routes and neighbours" in changed
    with udp(folder, "left") as sender, udp(folder, "right") as receiver:
        sender.sendto(b"to the new address", ("10.0.3.3", 20300))
        assert receiver.recv(100) == b"to the new address"

    assert sorted(bring_up("lab", moved, with_hosts=False).hosts)[0] == "- host blue0"
    assert interfaces.hosts_of(folder) == []


@needs_interfaces
def test_a_host_that_was_lost_is_missed_and_made_again(state: Path) -> None:
    bring_up("lab")
    store = Store(folder_of("lab"))
    ip.run_ip(["netns", "delete", interfaces.host_namespace_of(store.folder, "left")])
    right = interfaces.host_namespace_of(store.folder, "right")
    ip.run_ip(["-n", right, "link", "set", "dev", "eth0", "down"])
    report = read_status(store)
    assert {"+ host left 10.0.3.1", "+ host right 10.0.3.2"} <= set(report["drift"])
    assert set(bring_up("lab").hosts) == {"~ host right 10.0.3.2", "+ host left 10.0.3.1"}
    assert is_healthy(read_status(store))


@needs_interfaces
def test_hosts_are_silent_while_packets_are_tested_in_their_name(state: Path) -> None:
    bring_up("lab")
    folder = folder_of("lab")
    with udp(folder, "left") as sender, udp(folder, "right") as receiver:
        with deployed.pause_during(folder), pytest.raises(OSError, match="unreachable"):
            sender.sendto(b"paused", ("10.0.3.2", 20300))
        sender.sendto(b"again", ("10.0.3.2", 20300))
        assert receiver.recv(100) == b"again"
    assert is_healthy(read_status(Store(folder)))


@needs_interfaces
def test_a_host_that_is_gone_leaves_no_other_paused(state: Path) -> None:
    bring_up("lab")
    folder = folder_of("lab")
    ip.run_ip(["netns", "delete", interfaces.host_namespace_of(folder, "right")])
    with pytest.raises(OlafError, match=r"lab-.*:right"), deployed.pause_during(folder):
        pass
    assert [stack.name for stack in deployed.missing_hosts(folder)] == ["right"]
    with udp(folder, "red0") as sender, udp(folder, "left") as receiver:
        sender.sendto(b"connected", ("10.0.3.1", 20300))
        assert receiver.recv(100) == b"connected"


IP_HELD = """\
#!/bin/sh
count=$(($(cat {folder}/count) + 1))
echo $count > {folder}/count
[ $count = {held} ] && {{ echo held > {folder}/held; exec sleep 1000; }}
exec {ip} "$@"
"""


@pytest.fixture
def bed(tmp_path: Path) -> Path:
    path = tmp_path / "lab.yaml"
    path.write_text(BED.read_text().replace("name: hosts", "name: lab"))
    return path


def killed_while_ip_works(held: int, folder: Path, *words: str) -> None:
    """Run ``olafctl``, let its call number ``held`` of ``ip`` hang, and kill ``olafctl`` then."""
    program = folder / "bin" / "ip"
    program.parent.mkdir()
    program.write_text(IP_HELD.format(folder=folder, held=held, ip=shutil.which("ip")))
    program.chmod(0o755)
    (folder / "count").write_text("0\n")
    os.mkfifo(folder / "held")
    environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}
    line = [sys.executable, "-m", "olafctl", *words]
    with subprocess.Popen(line, env=environment, stderr=subprocess.DEVNULL) as process:
        assert (folder / "held").read_text() == "held\n"
        process.kill()


def assert_destroy_leaves_nothing(folder: Path) -> None:
    destroy_deployment(Store(folder))
    assert list(processes.find_processes(folder)) == []
    assert list(interfaces.left_of(folder)) == []
    assert not folder.exists()


@needs_interfaces
@pytest.mark.parametrize("held", [pytest.param(10, marks=pytest.mark.slow), 18])
def test_after_a_kill_amid_a_deploy_nothing_or_all_is_there(
    held: int, state: Path, tmp_path: Path, bed: Path
) -> None:
    """The calls of ``ip`` from the 10th on make the hosts, those from the 18th on with their interfaces."""
    folder = folder_of("lab")
    killed_while_ip_works(held, tmp_path, "deploy", "--hosts", str(bed))
    assert [each for each in processes.find_processes(folder) if each.name() in ("ip", "sleep")]
    if held == 18:
        bring_up("lab")
        assert is_healthy(read_status(Store(folder)))
        assert len(interfaces.hosts_of(folder)) == 7
    assert_destroy_leaves_nothing(folder)


@needs_interfaces
def test_after_a_kill_of_everything_nothing_is_left(state: Path, tmp_path: Path, bed: Path) -> None:
    bring_up("lab")
    folder = folder_of("lab")
    with subprocess.Popen(exec_line("lab", "left", "sleep", "1000")) as program:
        while "sleep" not in [each.name() for each in processes.find_processes(folder)]:
            assert program.poll() is None
        for process in processes.find_processes(folder):
            if process.name() != "sleep":
                process.kill()
        killed_while_ip_works(4, tmp_path, "destroy", "--deployment", "lab")
        assert interfaces.left_of(folder)
        assert_destroy_leaves_nothing(folder)
        program.wait()
