"""An engine that was killed is started again under its hosts: their programs and sockets only see a pause."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from olafctl import paths
from olafctl.control.deploy import deploy_testbed
from olafctl.control.status import is_healthy, read_status
from olafctl.control.store import Store, folder_of
from olafctl.network import interfaces, ip
from olafctl.targets import processes, testbeds
from olafctl.testbed.model import Testbed
from olafctl.wire.frames import pack_header, unpack_header
from olafctl.wire.layouts import OLAF, FrameType
from olafswitch.errors import OlafError
from tests.control.hosts.conftest import BED, SOON, bring_up, exec_line, needs_interfaces, udp
from tests.control.hosts.test_lifecycle import killed_while_ip_works
from tests.targets.conftest import need_target

SERVER = paths.sources() / "testbeds" / "samples" / "parameter_server.py"
TAPS = tuple(
    (f"name: {name}}}", f"name: {name}, transport: tap}}") for name in ("ps", "tor", "left", "right")
)


class LongTraining:
    """The sample parameter server as a program of its host, and a worker's socket."""

    def __init__(self, server: "subprocess.Popen[str]", worker: socket.socket) -> None:
        self.server, self._worker, self._sent = server, worker, 0
        worker.settimeout(1.0)

    def version(self) -> int:
        """Return the version of the weights that answer an update; lost updates are sent again."""
        for _ in range(int(SOON)):
            self._sent += 1
            fields = {"version": 1, "frame_type": FrameType.UPDATE, "count": 1, "seq": self._sent}
            try:
                self._worker.sendto(pack_header(OLAF, fields) + bytes(64), ("10.0.0.254", 20300))
                return unpack_header(OLAF, self._worker.recv(9000))["weights_version"]
            except OSError:
                continue
        raise AssertionError("no update is answered")


@contextmanager
def training(testbed: Testbed, worker: str) -> Iterator[LongTraining]:
    """Deploy, and train inside the context."""
    deploy_testbed(testbed, lambda step: None, with_hosts=True)
    line = exec_line(testbed.name, "ps", sys.executable, SERVER)
    with (
        subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as server,
        udp(folder_of(testbed.name), worker) as sender,
    ):
        try:
            assert server.stdout is not None
            assert "serving" in server.stdout.readline()
            yield LongTraining(server, sender)
        finally:
            server.kill()


def bed(*changes: tuple[str, str], target: str = "twin") -> Testbed:
    """Return these tests' testbed, with texts in it replaced."""
    text = BED.read_text().replace("name: hosts", "name: lab")
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return replace(testbeds.load_testbed(BED, text), target=target)


def kill(folder: Path, which: slice = slice(None)) -> None:
    """Kill processes of the engine with SIGKILL, in the order in which they were started."""
    engine = sorted(processes.of_engine(folder), key=lambda process: process.create_time())
    for process in engine[which]:
        process.kill()
        process.wait(SOON)


def again(testbed: Testbed, going_on: LongTraining) -> list[str]:
    """Kill the engine, deploy again, and return the lines about hosts; training then advances."""
    before = going_on.version()
    kill(folder_of(testbed.name))
    outcome = deploy_testbed(testbed, lambda step: None)
    assert outcome.started
    assert going_on.version() > before
    assert going_on.server.poll() is None
    assert is_healthy(read_status(Store(folder_of(testbed.name))))
    return list(outcome.hosts)


@needs_interfaces
def test_programs_train_on_when_the_engine_is_deployed_again(state: Path) -> None:
    with training(bed(), "red0") as going_on:
        assert again(bed(), going_on) == []
        assert again(bed(), going_on) == []


@pytest.mark.slow
@needs_interfaces
def test_programs_train_on_through_several_engines(state: Path) -> None:
    racks = testbeds.load_testbed(testbeds.locate_testbed("two-racks"))
    with training(racks, "walker-w0") as going_on:
        assert again(racks, going_on) == []


@pytest.mark.skipif(interfaces.why_no_tap() is not None, reason=str(interfaces.why_no_tap()))
def test_programs_train_on_though_a_tap_ends_with_its_engine(state: Path) -> None:
    with training(bed(*TAPS), "red0") as going_on:
        assert "~ host ps 10.0.0.254" in again(bed(*TAPS), going_on)


@needs_interfaces
@pytest.mark.parametrize("process", range(3))
def test_programs_train_on_whichever_process_of_bmv2_was_killed(process: int, state: Path) -> None:
    need_target("bmv2")
    lab = bed(target="bmv2")
    with training(lab, "red0") as going_on:
        before = going_on.version()
        kill(folder_of("lab"), slice(process, process + 1))
        outcome = deploy_testbed(lab, lambda step: None)
        assert (outcome.started, outcome.hosts) == (True, ())
        assert going_on.version() > before
        assert going_on.server.poll() is None


@needs_interfaces
def test_programs_train_on_after_a_change_of_target(state: Path) -> None:
    need_target("bmv2")
    with training(bed(), "red0") as going_on:
        for target in ("bmv2", "twin"):
            before = going_on.version()
            outcome = deploy_testbed(bed(target=target), lambda step: None)
            assert (outcome.started, outcome.hosts) == (True, ())
            assert going_on.version() > before
            assert going_on.server.poll() is None


@needs_interfaces
def test_a_changed_testbed_touches_what_changed_only(state: Path) -> None:
    """The change is one more port, and a host that is connected elsewhere."""
    changed = bed(
        ("  - {number: 5, name: right}", "  - {number: 5, name: right}\n  - {number: 6, name: new}"),
        ("{name: right, port: right, ip", "{name: right, port: new, ip"),
    )
    with training(bed(), "red0") as going_on, udp(folder_of("lab"), "right") as right:
        before = going_on.version()
        outcome = deploy_testbed(changed, lambda step: None)
        assert [line[:8] for line in outcome.ports] == ["+ port 6"] and not outcome.started
        assert [line for line in outcome.hosts if "routes" not in line] == ["~ host right 10.0.3.2"]
        assert going_on.version() > before
        with udp(folder_of("lab"), "left") as left:
            left.sendto(b"at its new port", ("10.0.3.2", 20300))
            assert right.recv(100) == b"at its new port"


@needs_interfaces
def test_a_deleted_interface_is_made_again_below_its_program(state: Path) -> None:
    with training(bed(), "red0") as going_on:
        before = going_on.version()
        ip.run_ip(["link", "delete", "dev", interfaces.interface_of(folder_of("lab"), "p1")])
        outcome = deploy_testbed(bed(), lambda step: None)
        assert (outcome.started, outcome.hosts) == (True, ("~ host ps 10.0.0.254",))
        assert going_on.version() > before


@pytest.mark.slow
@needs_interfaces
def test_a_deploy_that_fails_leaves_the_programs(state: Path) -> None:
    with training(bed(), "red0") as going_on:
        before = going_on.version()
        kill(folder_of("lab"))
        blocked = folder_of("lab") / "queue.sock"
        blocked.unlink(missing_ok=True)
        blocked.mkdir()  # no engine can listen there
        with pytest.raises(OlafError, match="could not go back"):
            bring_up("lab")
        assert going_on.server.poll() is None
        blocked.rmdir()
        assert bring_up("lab").hosts == ()
        assert going_on.version() > before


@needs_interfaces
@pytest.mark.parametrize("held", [pytest.param(6, marks=pytest.mark.slow), 9])
def test_a_deploy_killed_at_ports_and_hosts_leaves_the_programs(
    held: int, state: Path, tmp_path: Path
) -> None:
    """The 5th … 7th call of ``ip`` makes the port again, the 8th … 10th the host's interface."""
    path = tmp_path / "lab.yaml"
    path.write_text(bed().text)
    with training(bed(), "red0") as going_on:
        before = going_on.version()
        ip.run_ip(["link", "delete", "dev", interfaces.interface_of(folder_of("lab"), "p1")])
        killed_while_ip_works(held, tmp_path, "deploy", str(path))
        assert going_on.server.poll() is None
        assert deploy_testbed(bed(), lambda step: None).hosts == ("~ host ps 10.0.0.254",)
        assert going_on.version() > before
        assert going_on.server.poll() is None
