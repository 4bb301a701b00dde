"""What an update costs with the SDK, with a parameter server over gRPC, and with gloo's all-reduce.

CPU time with the kernel's part, over loopback, between processes of their own. The gRPC server is what one
writes first: a unary call carries the reward and the gradient as bytes, the answer the weights. gloo's
all-reduce is a round of two members; it has no server, and no worker that may be late.
"""

import multiprocessing
import os
import struct
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any

import grpc
import numpy as np
from olaf.doctor.measure import MODELS, WINDOW, without_blas_threads
from olaf.doctor.measure import measure as measure_olaf

from olafswitch.errors import OlafError, Problem

_METHOD = "/bench.ParameterServer/Update"
_OPTIONS = (("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1))
_REWARD = struct.Struct("<f")
_RATE = np.float32(1e-9)
_ALIVE: list[object] = []
"""Process groups: torch joins a group's threads under the interpreter's lock, for which one may wait."""
_TIMEOUT = 120.0
"""Seconds a call or a process may take before the measurement is given up."""


@dataclass(frozen=True)
class UpdateCost:
    """CPU seconds for one update of ``values`` values."""

    values: int
    name: str
    worker: float
    """CPU of the worker's whole process."""
    server: float | None
    """CPU of the server's process; None where there is none."""


def measure_costs(updates: int, rounds: int, progress: Callable[[str], None]) -> Iterator[UpdateCost]:
    """Measure ``updates`` of the small model and a tenth of them of the large one, ``rounds`` times in turn.

    Olaf's and gRPC's begin after a tenth as many that do not count. Medians of the rounds are given. gloo
    is left out where torch is not installed. Raises OlafError when a process does not answer.
    """
    for values in MODELS:
        count = max(WINDOW, updates // (1 if values < 10_000 else 10))
        ways: dict[str, Callable[[int, int], UpdateCost]] = {"olaf": _measure_olaf, "gRPC": _measure_grpc}
        if _has_torch():
            ways["gloo all-reduce"] = _measure_gloo
        measured: dict[str, list[UpdateCost]] = {name: [] for name in ways}
        for turn in range(rounds):
            for name, measure in ways.items():
                progress(f"{values} values, {name}, round {turn + 1} of {rounds}")
                measured[name].append(measure(values, count))
        for several in measured.values():
            yield _median_cost(several)


def _median_cost(rounds: list[UpdateCost]) -> UpdateCost:
    """Return the median costs of worker and server, each by itself: one may cost much in a round and not the
    other."""
    served = [cost.server for cost in rounds if cost.server is not None]
    return replace(
        rounds[0],
        worker=median(cost.worker for cost in rounds),
        server=median(served) if served else None,
    )


def _measure_olaf(values: int, updates: int) -> UpdateCost:
    try:
        cost = measure_olaf(values, "plain", updates)
    except RuntimeError as error:
        raise OlafError(Problem(str(error), "olaf.doctor.measure")) from error
    return UpdateCost(values, "olaf", cost.worker, cost.server)


def _measure_grpc(values: int, updates: int) -> UpdateCost:
    with _running_process(_serve_updates, values) as connection:
        port = _count_received(connection)
        with grpc.insecure_channel(f"127.0.0.1:{port}", options=_OPTIONS) as channel:
            update = channel.unary_unary(_METHOD)
            gradient = np.full(values, 1e-3, np.float32)

            def send(count: int) -> None:
                for number in range(0, count, WINDOW):
                    waiting = [
                        update.future(_request_update(gradient, number + step), timeout=_TIMEOUT)
                        for step in range(WINDOW)
                    ]
                    for answer in waiting:
                        weights = np.frombuffer(answer.result(), np.float32)
                        assert weights.shape == (values,)

            send(max(WINDOW, updates // 10))
            server_before, received_before = _answer_cpu(connection, "count")
            begun = time.process_time()
            send(updates)
            worker = time.process_time() - begun
        server_after, received_after = _answer_cpu(connection, "stop")
    served = (server_after - server_before) / (received_after - received_before)
    return UpdateCost(values, "gRPC", worker / updates, served)


def _answer_cpu(server: Connection, what: str) -> tuple[float, int]:
    """Return the CPU seconds of the server's process so far, and the updates it received."""
    server.send(what)
    seconds, received = _count_received(server)
    return seconds, received


def _request_update(gradient: "np.ndarray[Any, np.dtype[np.float32]]", number: int) -> bytes:
    return _REWARD.pack(number) + gradient.tobytes()


def _serve_updates(connection: Connection, values: int) -> None:
    weights, received = np.zeros(values, np.float32), 0

    def update(request: bytes, context: grpc.ServicerContext) -> bytes:
        nonlocal weights, received
        received += 1
        weights += _RATE * np.frombuffer(request, np.float32, offset=_REWARD.size)
        return weights.tobytes()

    server = grpc.server(futures.ThreadPoolExecutor(1), options=_OPTIONS)
    handler = grpc.unary_unary_rpc_method_handler(update)
    service, method = _METHOD[1:].split("/")
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {method: handler}),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    connection.send(port)
    while True:
        wanted = connection.recv()
        connection.send((time.process_time(), received))
        if wanted == "stop":
            break
    server.stop(None).wait()


def _has_torch() -> bool:
    from importlib.util import find_spec

    return find_spec("torch") is not None


def _measure_gloo(values: int, updates: int) -> UpdateCost:
    with tempfile.TemporaryDirectory() as folder:
        meeting = Path(folder) / "gloo"
        with (
            _running_process(_reduce_gradient, meeting, 1, values, updates) as other,
            _running_process(_reduce_gradient, meeting, 0, values, updates) as one,
        ):
            both = [_count_received(other), _count_received(one)]
    return UpdateCost(values, "gloo all-reduce", sum(both) / 2 / updates, None)


def _reduce_gradient(connection: Connection, meeting: Path, rank: int, values: int, rounds: int) -> None:
    import torch
    import torch.distributed

    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2)
    _ALIVE.append(torch.distributed.group.WORLD)
    gradient = torch.full((values,), 1e-3)
    torch.distributed.all_reduce(gradient)
    begun = time.process_time()
    for _ in range(rounds):
        gradient.fill_(1e-3)
        torch.distributed.all_reduce(gradient)
    connection.send(time.process_time() - begun)
    torch.distributed.destroy_process_group()


@contextmanager
def _running_process(target: Callable[..., None], *arguments: Any) -> Iterator[Connection]:
    """Run ``target(connection, *arguments)`` in its own process; yield the connection's other end."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=target, args=(theirs, *arguments))
    with without_blas_threads():
        process.start()
    theirs.close()
    try:
        yield ours
    finally:
        ours.close()
        process.join(_TIMEOUT)
        process.kill()


def _count_received(connection: Connection) -> Any:
    try:
        if connection.poll(_TIMEOUT):
            return connection.recv()
    except EOFError:
        pass
    raise OlafError(Problem(f"a process of the measurement did not answer in {_TIMEOUT:g} s", "bench sdk"))
