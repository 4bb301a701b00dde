"""Training over the kernel's sockets goes on after every kill, with 30 % loss both ways all the time."""

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from olafctl.control.store import folder_of
from olafctl.targets import processes
from tests.control.hosts.conftest import BED, SOON, bring_up, exec_line, needs_interfaces, udp

pytest.importorskip("olaf", reason="needs the SDK: pip install ./sdk")

WORKER = Path(__file__).parent / "worker_under_faults.py"
Program = subprocess.Popen[str]
FURTHER = 30
"""The versions by which the weights must advance after each fault."""
PATIENCE = 2 * SOON
"""The seconds for these versions, and for a program's first line."""


class FaultyTraining:
    """Two workers of one cluster and their parameter server, each a program of its host."""

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        self._stack, self._checkpoint = stack, folder / "checkpoint.npz"
        self.programs: dict[str, Program] = {}
        self.start_server()
        for host in ("red0", "red1"):
            self.start_worker(host)

    def start_server(self) -> None:
        options = ["--policy", "plain", "--rate", "0.05", "--checkpoint", str(self._checkpoint)]
        options += ["--every", "0.2"]
        self._start("ps", "-m", "olafctl", "server", str(BED), *options, "--report", "1000")
        assert "listening" in self.next_line("ps", time.monotonic() + PATIENCE)

    def start_worker(self, host: str) -> None:
        self._start(host, str(WORKER), "10.0.0.254:20300", "3.0")

    def _start(self, host: str, *words: str) -> None:
        line = exec_line("lab", host, sys.executable, *words)
        self.programs[host] = self._stack.enter_context(
            subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
        )
        self._stack.callback(self.programs[host].kill)

    def next_line(self, host: str, until: float) -> str:
        """Return the next line of a program, which is killed at ``until`` (monotonic) if it prints none."""
        program = self.programs[host]
        assert program.stdout is not None
        timer = Timer(max(0.0, until - time.monotonic()), program.kill)
        timer.start()
        try:
            line = program.stdout.readline()
        finally:
            timer.cancel()
            timer.join()
        assert line, f"{host} ended, or printed nothing for too long"
        return line

    def kill(self, host: str) -> None:
        self.programs[host].kill()
        self.programs[host].wait()

    def goes_on(self) -> dict[str, Any]:
        """Wait until both workers' weights are ``FURTHER`` versions newer; return the last line."""
        since = time.monotonic()
        until = since + PATIENCE
        for host in ("red0", "red1"):
            first: int | None = None
            while True:
                now: dict[str, Any] = json.loads(self.next_line(host, until))
                assert now["at"] < until, f"{host} is at version {now['version']}, after {first}"
                if now["at"] < since:
                    continue
                first = now["version"] if first is None else first
                assert now["blocked"] < 1.0
                if now["version"] >= first + FURTHER:
                    break
        return now

    def learns(self) -> None:
        """Wait until a worker is near its target, 3 from where it began: a busy machine delays gradients."""
        until = time.monotonic() + PATIENCE
        while (now := self.goes_on())["away"] >= 0.5:
            assert time.monotonic() < until, f"{now['away']} from the target at version {now['version']}"

    def steps_on(self) -> None:
        """Wait until both workers have taken 200 more steps, none of which blocked."""
        since = time.monotonic()
        until = since + PATIENCE
        for host in ("red0", "red1"):
            lines = 0
            while lines < 10:
                now = json.loads(self.next_line(host, until))
                lines += now["at"] >= since
                assert now["blocked"] < 1.0


def send_garbage(folder: Path) -> None:
    """Send the server 1,000 frames, most of them no Olaf frames, as one of the cluster's workers."""
    drawn = random.Random(1)
    with udp(folder, "red1", 20301) as sender:
        for number in range(1000):
            noise = drawn.randbytes(drawn.randrange(200))
            sender.sendto(bytes([0x11 + number % 5]) + noise if number % 2 else noise, ("10.0.0.254", 20300))


def kill_the_engine(folder: Path) -> None:
    for process in processes.find_processes(folder):
        if "twin" in " ".join(process.cmdline()):
            process.kill()
            process.wait(SOON)


@pytest.mark.slow
@needs_interfaces
def test_training_goes_on(state: Path) -> None:
    bring_up("lab")
    folder = folder_of("lab")
    with ExitStack() as stack:
        training = FaultyTraining(stack, state)
        training.goes_on()

        def restart_worker() -> None:
            training.kill("red1")
            training.start_worker("red1")

        def restart_server() -> None:
            training.kill("ps")
            training.start_server()

        faults: list[Callable[[], None]] = [
            lambda: send_garbage(folder), restart_worker, restart_server,
        ]  # fmt: skip
        before = 0
        for fault in faults:
            fault()
            after = training.goes_on()
            assert after["version"] > before, "never older weights"
            before = after["version"]
        training.learns()
        kill_the_engine(folder)
        training.steps_on()
        assert bring_up("lab").hosts == ()
        after = training.goes_on()
        assert after["version"] > before, "the same processes, the same weights"
