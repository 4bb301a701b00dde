"""Programs that know nothing of Olaf, run as hosts: the shipped samples, iperf3, a shell; how they end."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from olafctl import paths
from olafctl.control.status import read_status
from olafctl.control.store import Store, folder_of
from tests.control.hosts.conftest import SOON, bring_up, exec_line, needs_interfaces

SAMPLES = paths.sources() / "testbeds" / "samples"


@pytest.fixture(scope="module")
def lab(place: Path) -> Path:
    """Provide the folder of a deployment for all of these tests."""
    bring_up("lab")
    return folder_of("lab")


def started(host: str, *words: object) -> "subprocess.Popen[str]":
    line = exec_line("lab", host, *words)
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(host: str, *words: object) -> tuple[int, str, str]:
    with started(host, *words) as process:
        out, err = process.communicate(timeout=SOON)
        return process.returncode, out, err


@needs_interfaces
def test_the_samples_train(lab: Path) -> None:
    with started("ps", sys.executable, SAMPLES / "parameter_server.py") as server:
        assert server.stdout is not None
        assert "serving" in server.stdout.readline()
        line = [sys.executable, SAMPLES / "worker.py", "10.0.0.254", "20300", "60"]
        workers = [started(host, *line) for host in ("red0", "red1")]
        for worker in workers:
            with worker:
                output, _ = worker.communicate(timeout=SOON)
            assert output.startswith("60 updates sent, weights of version ")
            assert float(output.split()[-1]) > 0.9
        server.send_signal(signal.SIGTERM)
        assert server.wait(SOON) == -signal.SIGTERM, "a signal reaches the program"


@needs_interfaces
@pytest.mark.skipif(shutil.which("iperf3") is None, reason="iperf3 is not installed")
def test_iperf3_between_hosts_that_bypass_the_queue(lab: Path) -> None:
    with started("right", "iperf3", "-s", "-1", "--forceflush") as server:
        assert server.stdout is not None
        while "listening" not in server.stdout.readline():
            assert server.poll() is None
        code, out, err = ended("left", "iperf3", "-c", "10.0.3.2", "-n", "4M", "-J")
        assert code == 0, out + err
        sums = json.loads(out)["end"]
        # The client ends the test once it has sent everything; some of it is on its way then.
        assert (sums["sum_sent"]["bytes"] >= 4 << 20, sums["sum_received"]["bytes"] > 0) == (True, True)
        assert server.wait(SOON) == 0


@needs_interfaces
def test_a_program_ends_as_it_would_without_olafctl(lab: Path) -> None:
    assert ended("left", "sh", "-c", "exit 7")[0] == 7
    assert ended("left", "--", "sh", "-c", "kill -USR1 $$")[0] == -signal.SIGUSR1
    assert ended("left", "sh", "-c", "yes | head -n 1")[:2] == (0, "y\n"), "SIGPIPE is not ignored"
    code, _, err = ended("left", "no-such-program")
    assert (code, "no-such-program" in err) == (127, True)
    code, _, err = ended("left", str(SAMPLES / "worker.py"))
    assert (code, "may not be run" in err) == (126, True)
    code, _, err = ended("middle", "true")
    assert (code, "host 'middle' does not exist" in err) == (2, True)


@needs_interfaces
def test_a_host_has_its_address_and_routes_and_knows_the_others(lab: Path) -> None:
    interface = json.loads(ended("red0", "ip", "-j", "addr", "show", "dev", "eth0")[1])[0]
    assert interface["address"] == "02:00:0a:00:01:01"
    assert [each["local"] for each in interface["addr_info"]] == ["10.0.1.1"]
    routes = json.loads(ended("red0", "ip", "-j", "route")[1])
    assert {"10.0.0.254", "10.0.1.1", "10.0.2.1"} <= {each["dst"] for each in routes}
    assert [each["gateway"] for each in routes if each["dst"] == "192.168.0.0/16"] == ["10.0.3.2"]
    neighbours = {each["dst"]: each["lladdr"] for each in json.loads(ended("red0", "ip", "-j", "neigh")[1])}
    assert neighbours["10.0.0.254"] == "02:00:0a:00:00:fe"
    assert len(neighbours) == 6
    shown = {host["name"]: host["namespace"] for host in read_status(Store(lab))["hosts"]}
    assert len(shown) == 7
    assert shown["red0"].endswith(":red0")


@needs_interfaces
def test_the_graph_of_what_runs_has_rates(lab: Path) -> None:
    line = [sys.executable, "-m", "olafctl", "graph", "--deployment", "lab", "--seconds", "0.1"]
    done = subprocess.run([*line, "--json"], capture_output=True, text=True, check=True)
    report = json.loads(done.stdout)
    assert report["running"] is True
    assert all(port["rates"]["frames_in"] >= 0 for port in report["root"]["sources"])
    drawn = subprocess.run(line, capture_output=True, text=True, check=True).stdout
    assert "lab on twin, rates over 0.1 s" in drawn
    assert drawn.count("→") == 5
