"""The target software under faults: whatever happens to it, nothing wrong is merged, its counters add up, and
it goes on by itself or after the next start.

Every update holds ones only, so that the sum in any frame that leaves is its count.
"""

import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import numpy as np
import psutil

from olafctl.network import interfaces, ip
from olafctl.queue.registers import DISPOSITIONS
from olafctl.targets import registry
from olafctl.targets.interface import Progress, Running, of_root
from olafctl.testbed.model import Testbed
from olafctl.wire.layouts import FrameType
from olafctl.wire.modes import Mode
from olaflab.pipeline.twin import engine_processes
from olafswitch.errors import OlafError, Problem
from olafswitch.ports.host import HostPort, open_host_port
from olafswitch.ports.transport import Transport
from olaftest.deployment import deployed_testbed, open_hosts, program_devices
from olaftest.frames import OlafFrame, endpoint_of

_SECONDS = 60.0
_QUIET = 0.2
_HEADERS = 64
_STOP = 'kill -STOP "$1" && { timeout "$2" cat; [ $? = 124 ] || kill -KILL "$1"; }; kill -CONT "$1"'
"""Write through a process of its own, whose ``cat`` ends early when this one does."""


@dataclass(frozen=True)
class Passed:
    """A fault that was survived: updates sent before, meanwhile and after, and how many of them arrived."""

    sent: int
    arrived: int


def run_faults(testbed: Testbed, malformed: int, stopped: float, progress: Progress) -> dict[str, Passed]:
    """Inject each fault, and return what passed by its name. ``malformed`` is the number of such frames,
    ``stopped`` how many seconds the engine gets no processor. Raises OlafError for the first thing that is
    wrong."""
    with deployed_testbed(replace(testbed, target="software"), progress) as running:
        bench = _Bench(testbed, running, running.logs()[0].parent, progress)
        of_root(running.queues).write("mode", Mode.OLAF.number)
        faults: dict[str, Callable[[], None]] = {
            "malformed frames": lambda: bench.send_malformed(malformed),
            "stopped": lambda: bench.stop_engine(stopped),
            "a host that reads nothing": bench.fill_host,
            "killed": bench.kill_engine,
            "an interface deleted": bench.delete_interface,
        }
        if any(port.transport is not Transport.VETH for port in running.attachments):
            faults.pop("an interface deleted")
        return {name: bench.measure_under(name, fault) for name, fault in faults.items()}


@contextmanager
def stop_process(process: psutil.Process, seconds: float) -> Iterator[None]:
    """Stop ``process`` for ``seconds``, above 0, then let it go on. Should this process end meanwhile,
    however that is, it is killed: nothing that is stopped stays."""
    line = ["sh", "-c", _STOP, "sh", str(process.pid), str(seconds)]
    with subprocess.Popen(line, stdin=subprocess.PIPE, start_new_session=True) as stopping:
        while stopping.poll() is None and process.status() != psutil.STATUS_STOPPED:
            time.sleep(_QUIET / 100)
        yield
        stopping.wait()  # while its input is open


class _Bench:
    def __init__(self, testbed: Testbed, running: Running, state: Path, progress: Progress) -> None:
        self._testbed, self._running, self._state, self._progress = testbed, running, state, progress
        self._ps = testbed.parameter_servers[0]
        self._hosts: dict[int, HostPort] = {}
        self._seq = self._sent = self._arrived = 0

    def measure_under(self, name: str, fault: Callable[[], None]) -> Passed:
        """Measure what becomes of updates around ``fault``."""
        self._progress(f"software: {name}")
        self._sent = self._arrived = 0
        with self._connected_host():
            self._merge_two(name)
            fault()
        with self._connected_host():
            self._drain_port(_QUIET, name)
            self._merge_two(name)
            self._check_sums(name)
        return Passed(self._sent, self._arrived)

    def send_malformed(self, count: int) -> None:
        """Send updates cut short, lengthened or hit in their headers, and noise."""
        random, port = Random(1), self._hosts[self._testbed.workers[0].port]
        sound = self._make_update(0)
        for number in range(count):
            frame = bytearray(sound)
            for _ in range(random.randrange(3)):
                frame[random.randrange(_HEADERS)] = random.randrange(256)
            noise = random.random() < 0.1
            length = random.randrange(14, 2 * len(sound))
            port.send(random.randbytes(length) if noise else bytes(frame[:length]))
            if number % 256 == 0:
                self._drain_port(0, "")
        self._drain_port(_QUIET, "")

    def stop_engine(self, seconds: float) -> None:
        """Stop the engine's process while updates come."""
        (process,) = engine_processes(self._running)
        with stop_process(process, seconds):
            self._send_frame(50)  # a UNIX socket takes at most some 100 until they are read
        self._drain_port(_QUIET, "stopped")

    def fill_host(self) -> None:
        """Open one more host at the server's port, which never reads."""
        port = next(each for each in self._running.attachments if each.number == self._ps.port)
        idle = open_host_port(port)
        try:
            for _ in range(20):
                self._send_frame(100)
                self._drain_port(0, "full")
        finally:
            idle.close()

    def kill_engine(self) -> None:
        """Kill the engine under load; then do what a deploy does."""
        self._send_frame(100)
        for process in engine_processes(self._running):
            process.send_signal(signal.SIGKILL)
            process.wait(_SECONDS)
        self._start_engine()

    def delete_interface(self) -> None:
        """Delete the interface of the second worker; the first goes on. Then do what a deploy does."""
        ip.run_ip(
            [
                "link",
                "delete",
                "dev",
                interfaces.interface_of(self._state, f"p{self._testbed.workers[1].port}"),
            ]
        )
        self._send_frame(1)
        self._receive_count("an interface deleted")
        self._start_engine()

    def _start_engine(self) -> None:
        bed = replace(self._testbed, target="software")
        target = registry.get_target(bed.target)
        self._running = target.start(bed, target.build(bed, self._progress), self._state, self._progress)
        program_devices(self._running, bed)

    @contextmanager
    def _connected_host(self) -> Iterator[None]:
        with open_hosts(self._running) as self._hosts:
            yield

    def _make_update(self, worker: int) -> bytes:
        member = self._testbed.workers[worker]
        ends = endpoint_of(member), endpoint_of(self._ps)
        self._seq += 1
        ones = np.ones(48, np.float32)
        return OlafFrame(*ends, FrameType.UPDATE, 0, 1, self._seq, 1.0, self._seq, ones).encode()

    def _send_frame(self, count: int, worker: int = 0) -> None:
        for _ in range(count):
            self._hosts[self._testbed.workers[worker].port].send(self._make_update(worker))
            self._sent += 1

    def _merge_two(self, name: str) -> None:
        """Hold two workers' updates, which leave as their sum."""
        registers = of_root(self._running.queues)
        registers.write("hold", 1)
        begin = registers.read("in_updates")
        for worker in (0, 1):
            self._send_frame(1, worker)
        end = time.monotonic() + _SECONDS
        while registers.read("in_updates") - begin < 2:
            if time.monotonic() > end:
                raise _wrong_frames(name, "updates do not reach the queue")
        registers.write("hold", 0)
        if self._receive_count(name) != 2:
            raise _wrong_frames(name, "updates of two workers that wait are not merged")

    def _receive_count(self, name: str, seconds: float = _SECONDS) -> int:
        """Return the count of the next frame at the server; 0 when there is none within ``seconds``.

        Without ``name`` it may be any frame.
        """
        frame = self._hosts[self._ps.port].receive(seconds)
        if frame is None:
            if seconds == _SECONDS:
                raise _wrong_frames(name, "nothing arrives any more")
            return 0
        if not name:
            return 1
        update = OlafFrame.decode(frame)
        if not np.all(update.gradient == update.count):
            raise _wrong_frames(name, f"a frame of {update.count} updates holds {update.gradient.tolist()}")
        self._arrived += update.count
        return update.count

    def _drain_port(self, seconds: float, name: str) -> None:
        while self._receive_count(name, seconds):
            pass

    def _check_sums(self, name: str) -> None:
        now = of_root(self._running.queues).read_all()
        accounted = now["out_updates"] + now["merged"] + now["resident_updates"]
        if now["in_updates"] != accounted + sum(now[each] for each in DISPOSITIONS):
            raise _wrong_frames(name, f"the counters do not add up: {now}")


def _wrong_frames(name: str, what: str) -> OlafError:
    return OlafError(Problem(what, name))
