"""``python -m olaf.doctor.measure``: what Olaf costs on this machine.

CPU time over loopback with jumbo frames, the kernel's part included; not wall time, so other load disturbs it
little. The worker and the parameter server are processes of their own; ``WINDOW`` updates are on their way at
a time.
"""

from __future__ import annotations

import argparse
import multiprocessing
import multiprocessing.connection
import os
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from olaf.policies import POLICIES
from olaf.server import ParameterServer
from olaf.transport.segments import JUMBO_MTU, Segments
from olaf.worker import Worker

MODELS = (2205, 137_477)
WINDOW = 4
_TIMEOUT = 5.0
_DRAINED = 0.2
"""Seconds until what was not answered is lost."""
_BLAS_THREADS = "OPENBLAS_NUM_THREADS"


@dataclass(frozen=True)
class Cost:
    """CPU seconds for one update of ``values`` values."""

    values: int
    policy: str
    training: float
    """CPU time of the thread that trains: ``offer`` and ``poll``."""
    worker: float
    """CPU time of the whole worker process, its receiving thread included."""
    server: float
    """CPU time of the server process: receive, decide, answer."""
    sent: float
    """Share of the updates that travelled by themselves; the others were added to a later one."""
    lost: float
    """Share of the frames sent that were not answered."""


def measure(values: int, policy: str, updates: int) -> Cost:
    """Send ``updates`` updates, ``WINDOW`` at a time, after a tenth as many that do not count.

    Raises RuntimeError if the server does not answer, OSError if loopback cannot be reached.
    """
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve_model, args=(theirs, policy))
    with without_blas_threads():
        process.start()
    try:
        worker = Worker(f"127.0.0.1:{ours.recv()}", values, mtu=JUMBO_MTU)
        worker.begin(np.zeros(values, np.float32))
        if not worker.wait(_TIMEOUT):
            raise RuntimeError("the parameter server did not answer over loopback")
        _train_worker(worker, max(WINDOW, updates // 10))
        before, begun = _ask_server(ours, "count"), replace(worker.counters)
        training, whole = _train_worker(worker, updates)
        sent = worker.counters.sent - begun.sent
        lost = 1 - (worker.counters.acks - begun.acks) / sent
        worker.close()
        served = (_ask_server(ours, "stop") - before) / updates
    finally:
        ours.close()  # ends the server where an error came before its stop
        process.join()
    share = sent / (updates * worker.segments.count)
    return Cost(values, policy, training / updates, whole / updates, served, share, lost)


@contextmanager
def without_blas_threads() -> Iterator[None]:
    """Keep numpy's BLAS, which no measured code uses, from starting threads in processes that begin
    meanwhile.

    They would wait in a loop for their first work, tens of ms of CPU time, wherever a core is free.
    """
    before = os.environ.get(_BLAS_THREADS)
    os.environ[_BLAS_THREADS] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_BLAS_THREADS]
        else:
            os.environ[_BLAS_THREADS] = before


def _ask_server(server: multiprocessing.connection.Connection, what: str) -> float:
    """Ask the server's process for its CPU seconds so far."""
    server.send(what)
    seconds: float = server.recv()
    return seconds


def _train_worker(worker: Worker, updates: int) -> tuple[float, float]:
    """Return the CPU seconds of this thread in offer and poll, and of the process without the gradients."""
    gradient = np.full(worker.segments.values, 1e-3, np.float32)
    training, begun = 0.0, time.process_time()
    for number in range(0, updates, WINDOW):
        begin = time.thread_time()
        for step in range(WINDOW):
            worker.offer(gradient, float(number + step))
            worker.poll()
        training += time.thread_time() - begin
        worker.drain(_DRAINED)
    return training, time.process_time() - begun


def _serve_model(connection: multiprocessing.connection.Connection, policy: str) -> None:
    server = ParameterServer("127.0.0.1:0", policy=partial(POLICIES[policy], rate=1e-9))
    connection.send(server.address[1])
    with closing(server), suppress(EOFError):
        while connection.recv() != "stop":
            connection.send(time.process_time())
        connection.send(time.process_time())


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(
        prog="python -m olaf.doctor.measure", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument("--updates", type=int, default=2000, help="of each model; a tenth for the large one")
    parser.add_argument("--policy", choices=["olaf", "plain"], default="olaf")
    arguments = parser.parse_args()
    print(
        "CPU time for one update    training thread    worker process    server process    server, one core"
    )
    for values in MODELS:
        updates = max(WINDOW, arguments.updates // (1 if values < 10_000 else 10))
        try:
            cost = measure(values, arguments.policy, updates)
        except (OSError, RuntimeError) as error:
            sys.exit(f"error: {error}; is loopback up?")
        print(
            f"{values:>9} values, {Segments.of(values, JUMBO_MTU).count:>3} frames"
            f"{cost.training * 1e6:>12.0f} µs{cost.worker * 1e6:>14.0f} µs{cost.server * 1e6:>14.0f} µs"
            f"{1 / cost.server:>13.0f}/s    {cost.sent:.0%} sent singly, {cost.lost:.1%} of frames lost"
        )


if __name__ == "__main__":
    main()
