"""What ``olaflab bench p4`` measures: the packet rate of VNP4₁ with a table full of workers."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

from olafctl.wire.frames import Endpoint, mac_bits
from olafctl.wire.layouts import GRADIENT_OFFSET, UDP_PORT, FrameType
from olafswitch.errors import OlafError
from olafswitch.p4.compiler import compile_program
from olafswitch.p4.switch.native import NativeSwitch
from olafswitch.p4runtime.dataplane import ActionCall, Exact

_WORKER_NET = 0x0A000000
_SERVER = Endpoint("02:00:00:00:00:02", IPv4Address("10.1.0.1"), UDP_PORT)
_PORT = 1
"""Where all of them are."""


@dataclass(frozen=True)
class Rate:
    """Packets and gigabits per second of frames of ``size`` bytes."""

    size: int
    packets: float
    gigabits: float


def switch_with_workers(
    source: Path, workers: int, progress: Callable[[str], None]
) -> tuple[NativeSwitch, float]:
    """Return VNP4₁ with that many workers and one server, and how many entries went in per second.

    Raises OlafError when ``source`` does not have VNP4₁'s tables.
    """
    program = compile_program(source, progress=progress)
    ids = {t.preamble.alias: t.preamble.id for t in (*program.p4info.tables, *program.p4info.actions)}
    missing = {"workers", "parameter_servers", "assign", "admit"} - ids.keys()
    if missing:
        raise OlafError(f"{source} has no {missing.pop()}: it is not VNP4₁")
    switch = NativeSwitch()
    switch.commit(switch.prepare(program.p4info, program.device_config))
    server = ActionCall(ids["admit"], (_PORT, mac_bits(_SERVER.mac), _SERVER.port))
    switch.insert(ids["parameter_servers"], (Exact(int(_SERVER.ip)),), 0, server)
    params = [
        param.name
        for action in program.p4info.actions
        for param in action.params
        if action.preamble.id == ids["assign"]
    ]
    progress(f"inserting {workers} workers")
    began = time.perf_counter()
    for worker in range(workers):
        cluster = 1 + worker // 8
        values = {"cluster": cluster, "worker": 1 + worker, "index": cluster, "segments": 1, "port": _PORT}
        action = ActionCall(ids["assign"], tuple(values.get(name, 0) for name in params))
        switch.insert(ids["workers"], (Exact(_WORKER_NET + worker),), 0, action)
    switch.quiesce()
    return switch, workers / (time.perf_counter() - began)


def encode_update(worker: int, size: int) -> bytes:
    """Encode one worker's update of ``size`` bytes, headers included; zeros for gradients."""
    import numpy as np

    from olaftest.frames import OlafFrame

    frame = OlafFrame(
        source=Endpoint("02:00:00:00:00:01", IPv4Address(_WORKER_NET + worker), UDP_PORT),
        destination=_SERVER,
        frame_type=FrameType.UPDATE,
        seq=1,
        gradient=np.zeros((size - GRADIENT_OFFSET) // 4, np.float32),
    )
    return frame.encode()


def measure_rate(switch: NativeSwitch, workers: int, size: int, seconds: float) -> Rate:
    """Measure the rate of updates of ``size`` bytes, worker by worker: the best third of ``seconds``."""
    frames = [encode_update(worker, size) for worker in range(workers)]
    first = switch.replay(_PORT, frames, 10)
    if first.sent != first.frames:
        raise OlafError(f"only {first.sent} of {first.frames} updates left the switch")
    rounds = max(1, int(10 * seconds / 3 / max(first.seconds, 1e-6)))
    best = min((switch.replay(_PORT, frames, rounds) for _ in range(3)), key=lambda part: part.seconds)
    packets = best.frames / best.seconds
    return Rate(size, packets, packets * size * 8 / 1e9)
