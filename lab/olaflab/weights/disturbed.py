"""What ``publish`` takes, with and without a dead player and one that receives a hundredth of its frames.

Not counted is for how long the kernel gave the processor to others (schedstat's run delay), because that is
most of the 99th percentile of a busy machine. What it waits for this process's own threads is counted; that
these are not interrupted either, run it under ``chrt --fifo 1``: players are scheduled as usual.
"""

import math
import multiprocessing
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import olaf
from numpy.typing import NDArray
from olaf.transport.udp import UdpPort

from olaflab.papers.summary import Estimate, estimate_mean
from olaflab.training.replicas.lossy import LossyPort
from olaflab.weights.plan import Plan, Task
from olafswitch.errors import OlafError, Problem

_ROUNDS = 24
_DEAF = 0.99
"""Share of the frames that the slow player does not receive."""
_LONGEST = 60.0
"""Seconds until the publisher has named players slow and dead, or none."""


@dataclass(frozen=True)
class Disturbed:
    """Rounds with and without the two, in turn; times in ms."""

    quiet: dict[str, Estimate]
    disturbed: dict[str, Estimate]
    ratio: dict[str, list[float]]
    """Geometric mean of each round with the two to the one before it, and its 95 % interval's ends."""


class _Deaf(LossyPort):
    """Loses what arrives; with ``dumb`` also what is sent."""

    dumb = False

    def lose(self, share: float) -> None:
        self.into.lose, self.out.lose = share, share if self.dumb else 0.0


def measure_disturbed(plan: Plan, progress: Callable[[str], None]) -> Disturbed:
    """Publish ``plan.versions`` a round, to ``plan.players`` players on this machine. Raises OlafError."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    task = Task(plan)
    rounds: list[dict[str, float]] = []
    with olaf.Publisher("127.0.0.1", task.model, multicast=False, rate=plan.rate, mtu=1500) as publisher:
        crew = context.Process(target=_play, args=(plan, publisher.address, theirs), daemon=True)
        crew.start()
        for number in range(2 * _ROUNDS):
            disturbed = number % 2
            progress(f"round {number + 1}, {'one slow, one dead' if disturbed else 'all well'}")
            ours.send(disturbed)
            end = time.monotonic() + _LONGEST
            while len(publisher.players) < plan.players or _named(publisher) != (2 * disturbed, disturbed):
                if time.monotonic() > end:
                    raise OlafError(Problem("the publisher has not named the slow player", "bench weights"))
                _publish(task, publisher, plan.pace)
            rounds.append(_round(task, publisher, plan))
    ours.send(None)
    crew.join()
    quiet, bad = (
        {name: np.array([one[name] for one in rounds[start::2]]) for name in rounds[0]} for start in (0, 1)
    )
    return Disturbed(
        {name: estimate_mean(values) for name, values in quiet.items()},
        {name: estimate_mean(values) for name, values in bad.items()},
        {name: _ratio(quiet[name], bad[name]) for name in quiet},
    )


def _ratio(before: NDArray[np.float64], after: NDArray[np.float64]) -> list[float]:
    logs = estimate_mean(np.log(after / before))
    return [math.exp(logs.mean + end * logs.interval) for end in (0, -1, 1)]


def _named(publisher: olaf.Publisher) -> tuple[int, int]:
    """Count the players that are slow, the dead one among them, and dead ones."""
    return sum(one["slow"] for one in publisher.players), sum(one["dead"] for one in publisher.players)


def _publish(task: Task, publisher: olaf.Publisher, pace: float) -> float:
    """Return the ms that ``publish`` takes."""
    task.step()
    began = _counted()
    publisher.publish()
    took = _counted() - began
    time.sleep(pace)  # a trainer's step
    return took / 1e6


def _counted() -> int:
    """Return the ns that this thread ran, or waited for anything but a processor."""
    delay = Path("/proc/thread-self/schedstat").read_text().split()[1]
    return time.perf_counter_ns() - int(delay)


def _round(task: Task, publisher: olaf.Publisher, plan: Plan) -> dict[str, float]:
    worked = time.process_time()
    took = [_publish(task, publisher, plan.pace) for _ in range(plan.versions)]
    worked = time.process_time() - worked
    p50, p99 = np.percentile(took, [50, 99])
    return {"p50": float(p50), "p99": float(p99), "processor, each": worked / plan.versions * 1e3}


def _play(plan: Plan, publisher: str, pipe: Connection) -> None:
    """Play as all players; on command the last two become slow and dead."""
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))  # whatever the publisher's is
    ports = [_Deaf(UdpPort(), 0.0, plan.seed) for _ in range(plan.players)]
    ports[-1].dumb = True
    crew = [olaf.Subscriber(publisher, {"w": np.zeros(plan.values, np.uint16)}, port=one) for one in ports]
    while (disturbed := pipe.recv()) is not None:
        ports[-2].lose(_DEAF * disturbed)
        ports[-1].lose(1.0 * disturbed)
    for one in crew:
        one.close()
