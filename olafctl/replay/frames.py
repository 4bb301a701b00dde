"""From a schedule to the frames on the wire, and from the frames at the PS back to arrays."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from olafctl.errors import BadInput, OlafError, Problem
from olafctl.replay.schedule import Schedule
from olafctl.replay.trace import Trace
from olafctl.targets.interface import TimedFrame
from olafctl.testbed.model import Host, Testbed
from olafctl.wire import layouts
from olafctl.wire.frames import Endpoint, OlafFrame
from olafctl.wire.layouts import FrameType, Layout

Bytes = npt.NDArray[np.uint8]
Indices = npt.NDArray[np.int64]

_BATCH = 4096
_OLAF_START = layouts.GRADIENT_OFFSET - layouts.OLAF.size
_SOURCE_START = layouts.ETHERNET.size + layouts.IPV4.offset("src_addr") // 8


@dataclass(frozen=True)
class Receptions:
    """Updates received at the parameter server, in order; arrays of one length."""

    time: Indices
    """Virtual ns at which the last byte had left."""
    cluster: Indices
    count: Indices
    """Worker updates merged into each."""
    generated: Indices
    """Virtual ns at which the newest constituent was generated."""


def values_in(frame_bytes: int, trace: Trace) -> int:
    """Gradient values in a frame of ``frame_bytes``.

    Raises BadInput when the frame cannot hold one value, or would need more than the trace has.
    """
    values, rest = divmod(frame_bytes - layouts.GRADIENT_OFFSET, 4)
    if rest or not 0 < values <= trace.values:
        most = layouts.GRADIENT_OFFSET + 4 * trace.values
        raise BadInput(
            Problem(
                f"frames of {frame_bytes} bytes",
                remedy=f"use {layouts.GRADIENT_OFFSET + 4} … {most}, in steps of 4: "
                f"{layouts.GRADIENT_OFFSET} bytes of headers and 4 for each gradient value",
            )
        )
    return values


def updates(testbed: Testbed, trace: Trace, schedule: Schedule, values: int) -> Iterator[TimedFrame]:
    """The scheduled updates as frames of the testbed's workers, each at its front port and time.

    An update is generated when it is sent, so its ``gen_time`` is its virtual time.
    """
    workers = testbed.workers
    templates = np.stack([_template(worker, testbed, values) for worker in workers])
    ports = [worker.port for worker in workers]
    for start in range(0, len(schedule.time), _BATCH):
        part = slice(start, start + _BATCH)
        frames = templates[schedule.worker[part]]
        _set(frames, layouts.OLAF, "seq", schedule.seq[part])
        rewards = trace.reward[schedule.source[part], schedule.update[part]]
        _set(frames, layouts.OLAF, "reward", rewards.view(np.uint32).astype(np.int64))
        _set(frames, layouts.OLAF, "gen_time", schedule.time[part])
        gradient = trace.gradients(schedule.source[part], schedule.update[part], values)
        frames[:, layouts.GRADIENT_OFFSET :] = gradient.astype("<f4").view(np.uint8)
        times, senders = schedule.time[part].tolist(), schedule.worker[part].tolist()
        for time, sender, frame in zip(times, senders, frames, strict=True):
            yield TimedFrame(time, ports[sender], frame.tobytes())


def receptions(testbed: Testbed, leaving: Iterable[TimedFrame]) -> Receptions:
    """What arrived at the parameter server's port, of all that left the engine.

    Raises OlafError when a frame there is no update of one of the testbed's workers.
    """
    port = testbed.parameter_servers[0].port
    times, heads = [], bytearray()
    for frame in leaving:
        if frame.port == port:
            times.append(frame.time)
            heads += frame.frame[: layouts.GRADIENT_OFFSET]
    head = np.frombuffer(bytes(heads), np.uint8).reshape(len(times), layouts.GRADIENT_OFFSET)
    cluster_of = {int(worker.ip): worker.cluster for worker in testbed.workers}
    try:
        clusters = [cluster_of[address] for address in _number(head[:, _SOURCE_START:][:, :4]).tolist()]
    except KeyError as error:
        raise OlafError(
            Problem(f"a frame from {error.args[0]:#010x}, no worker, reached the server")
        ) from error
    return Receptions(
        time=np.array(times, dtype=np.int64),
        cluster=np.array(clusters, dtype=np.int64),
        count=_get(head, layouts.OLAF, "count"),
        generated=_get(head, layouts.OLAF, "gen_time"),
    )


def _template(worker: Host, testbed: Testbed, values: int) -> Bytes:
    server = testbed.parameter_servers[0]
    frame = OlafFrame(
        source=Endpoint(worker.mac, worker.ip, worker.udp_port),
        destination=Endpoint(server.mac, server.ip, testbed.udp_port),
        frame_type=FrameType.UPDATE,
        flags=0,
        count=1,
        seq=0,
        reward=0.0,
        gen_time=0,
        gradient=np.zeros(values, dtype=np.float32),
    )
    return np.frombuffer(frame.encode(), np.uint8)


def _columns(layout: Layout, name: str) -> slice:
    bits = next(field.bits for field in layout.fields if field.name == name)
    start = _OLAF_START + layout.offset(name) // 8
    return slice(start, start + bits // 8)


def _set(frames: Bytes, layout: Layout, name: str, values: Indices) -> None:
    columns = _columns(layout, name)
    wide = values.astype(">i8").view(np.uint8).reshape(-1, 8)
    frames[:, columns] = wide[:, 8 - (columns.stop - columns.start) :]


def _get(frames: Bytes, layout: Layout, name: str) -> Indices:
    return _number(frames[:, _columns(layout, name)])


def _number(columns: Bytes) -> Indices:
    total = np.zeros(len(columns), dtype=np.int64)
    for column in columns.T:
        total = total << 8 | column
    return total
