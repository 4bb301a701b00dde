"""Frames a second through a whole pipeline: in virtual time, over veths, and through BMv2 alone."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
import psutil

from olafctl.membership.model import Member
from olafctl.network import interfaces, ip
from olafctl.network.interfaces import cables_of
from olafctl.queue.registers import DISPOSITIONS
from olafctl.targets import processes
from olafctl.targets.bmv2.wiring import FIRST_FRONT, FROM_FIRST, SECOND_FRONT, TO_SECOND, make_cables
from olafctl.targets.deployment import require_deployment
from olafctl.targets.engine import load
from olafctl.targets.interface import Progress, Running, TimedFrame, of_root
from olafctl.testbed.model import Testbed
from olafctl.wire import layouts
from olafctl.wire.layouts import FrameType
from olafswitch.errors import BadInput, Problem
from olafswitch.ports.attachment import Attachment
from olafswitch.ports.transport import Transport
from olaftest.deployment import deployed_testbed
from olaftest.frames import OlafFrame, endpoint_of

_QUEUE_PROCESS = "olafctl.targets.bmv2.process"


def unplug_queue(running: Running, testbed: Testbed) -> tuple[Attachment, Attachment]:
    """Take the queue process out of a BMv2 deployment of one engine, for good.

    Returns where the first worker's frames go in, and where those for its parameter server come out.
    Raises OlafError.
    """
    state = running.logs()[0].parent
    namespace = cables_of(state)
    for process in processes.of_engine(state):
        if _QUEUE_PROCESS in process.cmdline():
            process.kill()
            psutil.wait_procs([process])
    ends = {cable.relay_port: cable.pair.outer for cable in make_cables(require_deployment(state).engines)}
    redirect = f"protocol all u32 match u32 0 0 action mirred egress redirect dev {ends[TO_SECOND]}"
    for command in ("qdisc add dev {} clsact", f"filter add dev {{}} ingress {redirect}"):
        ip.run_ip(["-n", namespace, *command.format(ends[FROM_FIRST]).split()], state, "tc")

    def end(number: int, side: int) -> Attachment:
        return Attachment(number, Transport.VETH, ends[side + number], namespace)

    return end(testbed.workers[0].port, FIRST_FRONT), end(testbed.parameter_servers[0].port, SECOND_FRONT)


_KINDS = 64
_PERCENTILES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}
_WARM_UP_SECONDS = 0.5
NS_PER_BEAT = 4


@dataclass(frozen=True)
class Rate:
    """``frames`` in, ``received`` out at the parameter server, in ``seconds`` of wall clock."""

    frames: int
    received: int
    seconds: float
    user_ns: float = 0.0
    """ns of processor time of the engine's processes for each frame; in the kernel on their behalf is
    ``kernel_ns``, what else the kernel did when they called it included."""
    kernel_ns: float = 0.0
    latency_us: Mapping[str, float] = field(default_factory=dict)
    """Microseconds from sent to received, by percentile."""
    lost_at: Mapping[str, int] = field(default_factory=dict)
    """Frames that were lost, by the counter that has them."""

    @property
    def per_second(self) -> float:
        """Frames a second that came out."""
        return self.received / self.seconds if self.seconds else 0.0


def encode_updates(
    testbed: Testbed, size: int, worker: Member | None = None, kind: FrameType = FrameType.UPDATE
) -> Sequence[bytes]:
    """Encode updates of a worker, or the testbed's first, ``size`` bytes each; or ACKs to it. Raises BadInput
    for an impossible size."""
    values, rest = divmod(size - layouts.GRADIENT_OFFSET, 4)
    most = testbed.root.beats * layouts.BEAT_BYTES
    if rest or values < 0 or size > most:
        remedy = f"use {layouts.GRADIENT_OFFSET} … {most} in steps of 4"
        raise BadInput(Problem(f"an update cannot have {size} bytes", str(testbed.source), remedy))
    ends = [endpoint_of(worker or testbed.workers[0]), endpoint_of(testbed.parameter_servers[0])]
    if kind is FrameType.ACK:
        ends.reverse()
    gradient = np.ones(values, np.float32)
    return [
        OlafFrame(ends[0], ends[1], kind, 0, 1, seq, 1.0, seq, gradient).encode() for seq in range(_KINDS)
    ]


def line_gap(frames: Sequence[bytes]) -> int:
    """Return the ns from frame to frame when one beat follows the other: 4 ns for each of them."""
    return NS_PER_BEAT * -(-len(frames[0]) // layouts.BEAT_BYTES)


def measure_virtual(
    running: Running, testbed: Testbed, frames: Sequence[bytes], count: int, gap: int
) -> Rate:
    """Send ``count`` frames in virtual time, ``gap`` ns from one to the next. Raises OlafError."""
    port = testbed.workers[0].port
    timed = (TimedFrame(index * gap, port, frames[index % len(frames)]) for index in range(count))
    begin = time.perf_counter()
    received = sum(1 for _ in running.replay(timed))
    return Rate(count, received, time.perf_counter() - begin)


def find_ends(running: Running, testbed: Testbed) -> tuple[Attachment, Attachment]:
    """Find where the first worker's frames go in, and where those for its parameter server come out."""
    by_number = {attachment.number: attachment for attachment in running.attachments}
    return by_number[testbed.workers[0].port], by_number[testbed.parameter_servers[0].port]


def measure_wall(
    running: Running,
    between: tuple[Attachment, Attachment],
    frames: Sequence[bytes],
    seconds: float,
    window: int,
    rate: float = 0,
    queues: int = 1,
    counted: bool = True,
) -> Rate:
    """Send frames over veths ``between`` the :func:`find_ends` for ``seconds``, by so many ``queues`` of the
    sender in turn, ``rate`` a second (0: as fast as they come out), never more than ``window`` under way;
    unless ``counted`` there is no queue to ask for losses. Raises OlafError."""
    sender, receiver = between
    parts = engine_processes(running)
    lost = _read_losses(running) if counted else {}
    before = _processor_seconds(parts)
    measured = load.measure_load(sender, receiver, frames, seconds, window, rate, queues)
    user, kernel = (
        (end - begin) * 1e9 / max(measured.received, 1)
        for begin, end in zip(before, _processor_seconds(parts), strict=True)
    )
    latency = {name: measured.latency(share) for name, share in _PERCENTILES.items()}
    lost_at = {"sender": measured.refused, "receiver": measured.missed}
    if counted:
        lost_at |= {name: count - lost[name] for name, count in _read_losses(running).items()}
    lost_at = {name: count for name, count in lost_at.items() if count}
    return Rate(measured.sent, measured.received, measured.seconds, user, kernel, latency, lost_at)


def _read_losses(running: Running) -> Mapping[str, int]:
    """Return the lost frames of the whole engine, by the counter that has them."""
    stats, registers = running.stats(), of_root(running.queues).read_all()
    found: dict[str, int] = dict(stats["losses"])
    for number, counts in stats["ports"].items():
        found |= {f"port {number}, {name}": counts[name] for name in ("rx_dropped", "tx_dropped")}
    return found | {f"queue, {name}": registers[name] for name in DISPOSITIONS}


def engine_processes(running: Running) -> Sequence[psutil.Process]:
    """Find the processes that move the frames."""
    return processes.of_engine(running.logs()[0].parent)


def _processor_seconds(parts: Sequence[psutil.Process]) -> tuple[float, float]:
    """Return processor seconds in user code and in the kernel: their sum is exact, the split is by ticks."""
    times = [part.cpu_times() for part in parts]
    user, kernel = sum(each.user for each in times), sum(each.system for each in times)
    whole = 0.0
    for task in (task for part in parts for task in Path(f"/proc/{part.pid}/task").iterdir()):
        with suppress(OSError):  # a thread that has answered a request ends
            whole += int((task / "schedstat").read_text().split()[0]) / 1e9
    share = user / (user + kernel) if user + kernel else 0.0
    return whole * share, whole * (1 - share)


@dataclass(frozen=True)
class Interleaved:
    """Runs of several deployments in turn, so that what else the machine does falls on all alike."""

    runs: Mapping[str, Sequence[Rate]]
    """Runs by the deployment's name, in order."""

    def ratios_of(self, name: str, to: str) -> Sequence[float]:
        """Return how many times as fast ``name`` was as ``to``, run by run, sorted."""
        return sorted(
            one.per_second / other.per_second
            for one, other in zip(self.runs[name], self.runs[to], strict=True)
            if other.per_second
        )


def run_interleaved(
    runs: int, measures: Mapping[str, Callable[[float], Rate]], seconds: float
) -> Interleaved:
    """Run each of ``measures`` for ``seconds``, ``runs`` times after a warm-up."""
    for measure in measures.values():
        measure(_WARM_UP_SECONDS)
    done: dict[str, list[Rate]] = {name: [] for name in measures}
    for _ in range(runs):
        for name, measure in measures.items():
            done[name].append(measure(seconds))
    return Interleaved(done)


def measure_targets(
    stack: ExitStack,
    testbed: Testbed,
    running: Mapping[str, Running],
    compare: str | None,
    frames: Sequence[bytes],
    runs: int,
    seconds: float,
    window: int,
    progress: Progress,
) -> Interleaved:
    """Measure what runs, by name, over veths in turn; and ``compare``'s chain and its switches alone, which
    ``stack`` ends. Raises OlafError."""
    between = {name: (target, find_ends(target, testbed)) for name, target in running.items()}
    unplugged = f"{compare} alone"
    if compare is not None:
        other = replace(testbed, target=compare)
        chain, alone = (stack.enter_context(deployed_testbed(other, progress)) for _ in range(2))
        between[compare] = chain, find_ends(chain, other)
        between[unplugged] = alone, unplug_queue(alone, other)
    progress(f"over veths: {runs} runs of {seconds:g} s of {', '.join(between)} in turn")
    measures = {
        name: partial(measure_wall, target, places, frames, window=window, counted=name != unplugged)
        for name, (target, places) in between.items()
    }
    return run_interleaved(runs, measures, seconds)


def why_no_veth(running: Running) -> str | None:
    """Say why nothing can be measured over veths here, or None."""
    if reason := interfaces.why_not():
        return reason
    others = [port for port in running.attachments if port.transport is not Transport.VETH]
    return f"port {others[0].number} is {others[0].transport}" if others else None
