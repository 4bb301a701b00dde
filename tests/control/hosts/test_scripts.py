"""The bring-up scripts that operators copy, run as they are."""

import os
import secrets
import signal
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from olafctl import paths
from olafctl.control.store import all_names
from olafctl.network import interfaces, ip
from olafctl.targets import registry
from tests.control.hosts.conftest import BED, SOON, needs_interfaces

SCRIPTS = paths.sources() / "testbeds"
SAMPLES = SCRIPTS / "samples"


@pytest.fixture(autouse=True)
def own_command(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scripts call the ``olafctl`` that is tested."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")


def run(script: str, *words: object) -> tuple[int, str]:
    line = [str(SCRIPTS / script), *map(str, words)]
    done = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def cases(report: Path) -> int:
    return len(list(ElementTree.parse(report).iter("testcase")))


@pytest.mark.skipif(
    not registry.get("bmv2").missing() and interfaces.why_not() is not None,
    reason=f"the target bmv2 needs network interfaces: {interfaces.why_not()}",
)
def test_packet_tests_in_ci(tmp_path: Path) -> None:
    code, output = run("ci.sh", BED, tmp_path / "reports", "-k", "test_multicast")
    assert code == 0, output
    assert cases(tmp_path / "reports" / "twin.xml") == 4
    if registry.get("bmv2").missing():
        assert "bmv2: skipped" in output
    else:
        assert cases(tmp_path / "reports" / "bmv2.xml") == 4
    assert "destroyed hosts" in output
    assert all_names() == ()


def test_ci_keeps_the_first_exit_code(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(BED.read_text().replace("slots: 8", "slots: 0"))
    code, output = run("ci.sh", wrong, tmp_path)
    assert (code, f"{wrong}:4: engine.slots: 0 is out of range" in output) == (2, True)


@pytest.mark.parametrize("script", ["ci.sh", "soak.sh", "lab-engine.sh", "lab-worker.sh"])
def test_a_script_without_arguments_says_which_it_takes(script: str) -> None:
    code, output = run(script)
    assert (code, f"usage: {script}" in output) == (2, True)


@needs_interfaces
def test_a_soak_of_one_round() -> None:
    code, output = run("soak.sh", BED, 0, "-k", "test_multicast")
    assert code == 0, output
    assert output.count("500 updates sent") == 4
    assert "round 1: all workers trained" in output
    assert all_names() == ()


@pytest.fixture
def link() -> Iterator[tuple[str, str, str]]:
    """A cable: the NIC of this machine, and the namespace and NIC of the other."""
    tail = secrets.token_hex(3)
    near, far, machine = f"olafn{tail}", f"olaff{tail}", f"olaf-machine-{tail}"
    ip.run(["netns", "add", machine])
    try:
        ip.run(["link", "add", near, "type", "veth", "peer", "name", far, "netns", machine])
        yield near, machine, far
    finally:
        ip.try_to(["link", "delete", "dev", near])
        ip.try_to(["netns", "delete", machine])


@contextmanager
def ended(process: "subprocess.Popen[str]") -> Iterator[None]:
    """The script gets a signal when the test has failed, or the test would wait for it."""
    try:
        yield
    except BaseException:
        process.terminate()
        raise


@needs_interfaces
def test_a_lab_of_two_machines(link: tuple[str, str, str]) -> None:
    near, machine, far = link
    before = interfaces_here()
    server = [sys.executable, str(SAMPLES / "parameter_server.py")]
    line = [str(SCRIPTS / "lab-engine.sh"), str(BED), "tor2", near, *server]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as engine, ended(engine):
        assert engine.stdout is not None
        assert any("serving" in output for output in engine.stdout)
        worker = [str(SCRIPTS / "lab-worker.sh"), far, "10.0.1.1", "10.0.0.254"]
        program = [sys.executable, str(SAMPLES / "worker.py"), "10.0.0.254", "20300", "50"]
        inside = ["ip", "netns", "exec", machine]
        done = subprocess.run([*inside, *worker, *program], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout[:15]) == (0, "50 updates sent"), done.stderr
        assert float(done.stdout.split()[-1]) > 0.9
        failing = subprocess.run([*inside, *worker, "sh", "-c", "exit 9"], check=False)
        assert failing.returncode == 9
        engine.send_signal(signal.SIGTERM)
        assert "destroyed hosts" in engine.stdout.read()
        assert engine.wait(SOON) == 130
    assert all_names() == ()
    assert interfaces_here() == before
    assert not list(Path("/run/netns").glob("olaf-lab-10.*"))


@needs_interfaces
def test_a_lab_at_a_missing_port_is_reported_and_removed() -> None:
    code, output = run("lab-engine.sh", BED, "nowhere", "lo", "true")
    assert (code, "nowhere is no port" in output, "Traceback" in output) == (1, True, False)
    assert all_names() == ()


@needs_interfaces
def test_a_second_worker_of_an_address_leaves_the_first_alone(link: tuple[str, str, str]) -> None:
    _, machine, far = link
    line = ["ip", "netns", "exec", machine, str(SCRIPTS / "lab-worker.sh"), far, "10.0.77.1", "10.0.0.254"]
    waiting = [*line, "sh", "-c", "echo runs; read line"]
    with subprocess.Popen(waiting, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first:
        assert first.stdin is not None and first.stdout is not None
        assert first.stdout.readline() == b"runs\n"
        second = subprocess.run([*line, "true"], capture_output=True, text=True, check=False)
        assert (second.returncode, "is a worker of this address running" in second.stderr) == (1, True)
        assert Path("/run/netns/olaf-lab-10.0.77.1").exists()
    assert first.returncode == 1, "read has met the end of its input"
    assert not Path("/run/netns/olaf-lab-10.0.77.1").exists()


def interfaces_here() -> set[str]:
    """Those that a lab may have left, not those of tests that run at the same time."""
    return {entry.name for entry in Path("/sys/class/net").iterdir() if entry.name.startswith("olafl")}
