"""``olafctl server``: a parameter server as a separate process."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("olaf", reason="needs the SDK: pip install ./sdk")

import olaf
from olaf.errors import OtherModel
from olaf.transport.udp import UdpPort
from olaf.transport.virtual import VirtualNetwork, Wire

from olafctl.cli import main
from olafctl.control.serving import host_of, make_policy, parameter_server
from olafctl.targets import testbeds
from olafctl.wire.geometry import slot_values

SOON = 60.0
STELLARIS = ("--listen", "127.0.0.1:0", "--policy", "stellaris")
VALUES = 20


class Process:
    """A server that listens on loopback, and its output."""

    def __init__(self, *arguments: str) -> None:
        line = [sys.executable, "-m", "olafctl", "server", "--listen", "127.0.0.1:0", "--json", *arguments]
        self._child = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self._child.stdout is not None
        self.first: dict[str, Any] = json.loads(self._child.stdout.readline() or self.wait()[1])

    def signal(self, number: signal.Signals) -> tuple[int, list[dict[str, Any]]]:
        """Send a signal and return the exit code and the last reports."""
        self._child.send_signal(number)
        code, out = self.wait()
        return code, [json.loads(line) for line in out.splitlines()]

    def wait(self) -> tuple[int, str]:
        out, err = self._child.communicate(timeout=SOON)
        assert not err
        return self._child.returncode, out

    def kill(self) -> None:
        self._child.kill()
        self._child.communicate()


@contextmanager
def serving(*arguments: str) -> Iterator[Process]:
    process = Process(*arguments)
    try:
        yield process
    finally:
        process.kill()


def answered(worker: olaf.Worker, updates: int) -> bool:
    """Return whether weights have come, after the first ones, for each of this many updates."""
    return worker.counters.newer > updates


def train(address: str, updates: int) -> tuple[list[int], np.ndarray[Any, np.dtype[np.float32]]]:
    """Send updates of ones, each when the last is answered; return the versions and the last weights."""
    port = UdpPort(("127.0.0.1", 0))
    worker = olaf.Worker(address, VALUES, port=port, seed=1)
    weights = np.zeros(VALUES, np.float32)
    worker.begin(weights)
    assert worker.wait(SOON)
    versions = []
    (block,) = worker.poll()
    for number in range(1, updates + 1):
        worker.offer(np.ones(VALUES, np.float32), float(number))
        assert port.wait(partial(answered, worker, number), SOON)
        (block,) = worker.poll()
        weights[block.place] = block.values
        versions.append(block.version)
    worker.close()
    return versions, weights


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_it_trains_and_ends_cleanly_with_the_counters(end: signal.Signals) -> None:
    with serving("--policy", "plain", "--rate", "0.5") as server:
        versions, weights = train(server.first["listening"], 3)
        code, reports = server.signal(end)
    assert code == 0
    assert versions == sorted(set(versions))
    assert weights.tolist() == [1.5] * VALUES
    (cluster,) = reports[-1]["clusters"]
    assert (cluster["cluster"], cluster["received"], cluster["applied"]) == ("default", 3, 3)
    assert cluster["age_of_model"] > 0
    assert cluster["staleness"] == {"mean": 0, "max": 0, "merged": 0, "oldest": 0, "histogram": {"0": 3}}


def test_killed_it_continues_with_versions_it_never_gave_out(tmp_path: Path) -> None:
    checkpoint = tmp_path / "lander.npz"
    arguments = ("--policy", "plain", "--rate", "0.5", "--checkpoint", str(checkpoint))
    with serving(*arguments) as server:
        train(server.first["listening"], 2)
        code, _ = server.signal(signal.SIGTERM)
        assert code == 0
    with serving(*arguments) as server:
        given, weights = train(server.first["listening"], 1)
        assert weights.tolist() == [1.5] * VALUES
    # the server was killed, not ended
    with serving(*arguments) as server:
        later, _ = train(server.first["listening"], 1)
    assert min(later) > max(given)


def test_a_testbed_says_who_belongs_to_which_cluster() -> None:
    with serving("laptop") as server:
        assert server.first["clusters"] == ["lander"]
        _, reports = server.signal(signal.SIGTERM)
    assert reports[-1]["garbage"] == 0


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 2, ["TESTBED", "--listen"]),
        (["nowhere.yaml"], 2, ["nowhere.yaml"]),
        (["laptop", "--name", "second"], 2, ["second", "ps"]),
        (["--listen", "127.0.0.1:99999"], 2, ["127.0.0.1:99999", "host:port"]),
        (["--listen", "192.0.2.1:1"], 2, ["192.0.2.1:1", "--listen"]),
        (["--listen", "127.0.0.1:0", "--policy", "periodic"], 2, ["period", "--updates", "--seconds"]),
        (["--listen", "127.0.0.1:0", "--policy", "synchronous"], 2, ["--workers"]),
        (["--listen", "127.0.0.1:0", "--policy", "plain", "--rate", "nan"], 2, ["--rate", "not a finite"]),
        (["--listen", "127.0.0.1:0", "--every", "inf"], 2, ["--every", "not a finite"]),
        (["--listen", "127.0.0.1:0", "--updates", "4"], 2, ["--updates", "periodic", "softsync"]),
        ([*STELLARIS, "--decay", "0"], 2, ["decay of 0", "at most 1"]),
        ([*STELLARIS, "--decay", "1.01"], 2, ["decay of 1.01", "at most 1"]),
        ([*STELLARIS, "--root", "0.9"], 2, ["root of 0.9", "at least 1"]),
        ([*STELLARIS, "--deadline", "0"], 2, ["deadline above 0"]),
        ([*STELLARIS, "--slack", "1"], 2, ["--slack", "--policy ssp"]),
        (["--listen", "127.0.0.1:0", "--checkpoint", "/nowhere/at/all"], 2, ["/nowhere/at"]),
        (["--listen", "127.0.0.1:0", "--checkpoint", __file__], 2, ["test_serving.py"]),
    ],
)
def test_a_wrong_option_is_reported_and_nothing_starts(
    arguments: list[str],
    code: int,
    words: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("OLAF_DEBUG", raising=False)
    monkeypatch.setattr(sys, "argv", ["olafctl", "server", *arguments])
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == code
    printed = capsys.readouterr().err
    assert "Traceback" not in printed
    for word in words:
        assert word in printed


@pytest.mark.parametrize(
    ("lacking", "options", "remedy"),
    [
        ("torch", ("--policy", "async", "--optimizer", "adam"), "pip install torch"),
        ("olaf", (), "pip install ./sdk"),
    ],
)
def test_without_a_package_it_says_how_to_get_it(lacking: str, options: tuple[str, ...], remedy: str) -> None:
    without = f"import sys; sys.modules[{lacking!r}] = None; from olafctl.cli.main import main; main()"
    line = [sys.executable, "-c", without, "server", "--listen", "127.0.0.1:0", *options]
    ended = subprocess.run(line, capture_output=True, text=True, timeout=SOON, check=False)
    assert (ended.returncode, remedy in ended.stderr) == (3, True)


def test_a_model_too_large_for_the_slots_is_refused() -> None:
    testbed = testbeds.load_testbed(testbeds.locate_testbed("lander"))
    network = VirtualNetwork(Wire())
    host = host_of(testbed, None)
    at = str(host.ip), host.udp_port
    make = make_policy("plain", 0.1, {})
    values = slot_values(testbed.beats) + 1
    parameter_server(testbed, "", make, port=network.port(at))
    port = network.port((str(testbed.clusters[0].workers[0].ip), 20300))
    port.mtu = lambda peer: 65535  # type: ignore[method-assign]
    worker = olaf.Worker(f"{at[0]}:{at[1]}", values, port=port)
    worker.begin(np.zeros(values, np.float32))
    with pytest.raises(OtherModel, match=f"values: {values}"):
        worker.wait(10)
