"""Frames of a replay: what is sent, and what comes back as exact sums."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from olafctl.membership.model import Cluster, Member
from olafctl.targets.interface import TimedFrame
from olafctl.testbed.model import Testbed
from olafctl.wire import layouts
from olafctl.wire.frames import Endpoint
from olafctl.wire.layouts import FrameType, HeaderLayout
from olaflab.training.replay.trace import GradientBlocks, ReplaySchedule, Trace
from olafswitch.errors import BadInput, OlafError, Problem
from olaftest.frames import Gradient, OlafFrame, endpoint_of

Bytes = npt.NDArray[np.uint8]
Indices = npt.NDArray[np.int64]

_BATCH_BYTES = 1 << 22
_OLAF_START = layouts.GRADIENT_OFFSET - layouts.OLAF.size
_SOURCE_START = layouts.ETHERNET.size + layouts.IPV4.offset("src_addr") // 8


@dataclass(frozen=True)
class Receptions:
    """Updates received at the parameter server, in order; arrays of one length."""

    time: Indices
    """Virtual ns at which the last byte had left."""
    cluster: Indices
    count: Indices
    """Member updates merged into each."""
    generated: Indices
    """Virtual ns at which the newest constituent was generated."""
    segment: Indices


def asynchronous_clusters(testbed: Testbed) -> Sequence[Cluster]:
    """List the clusters whose members send to a parameter server, without rounds."""
    return [cluster for cluster in testbed.clusters if not testbed.mode_of(cluster).sums]


def sending_workers(testbed: Testbed) -> Sequence[Member]:
    """List the workers by which a training is replayed.

    Raises BadInput when there are none.
    """
    found = [worker for cluster in asynchronous_clusters(testbed) for worker in cluster.workers]
    if not found:
        remedy = "replay into a cluster of mode olaf or fifo"
        raise BadInput(Problem("has no worker that sends to a parameter server", testbed.name, remedy))
    return found


def whole_model(testbed: Testbed) -> int:
    """Return the number of values of the models that the senders train.

    Raises BadInput when the testbed does not give it, or they differ.
    """
    lengths = {cluster.values for cluster in asynchronous_clusters(testbed)}
    if len(lengths) != 1 or 0 in lengths:
        remedy = "give every cluster that sends to a parameter server the same `values`"
        raise BadInput(Problem("does not give one length for all models", testbed.name, remedy))
    return lengths.pop()


def values_in(frame_bytes: int, trace: Trace) -> int:
    """Count the gradient values in a frame of ``frame_bytes``.

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


def encode_updates(
    testbed: Testbed, trace: Trace, schedule: ReplaySchedule, blocks: GradientBlocks
) -> Iterator[TimedFrame]:
    """Encode the scheduled updates as frames of the senders, each at its front port and time.

    An update is generated when its first frame is sent, so its ``gen_time`` is that virtual time. A gradient
    longer than the trace's repeats it.
    """
    workers = sending_workers(testbed)
    ports = [worker.port for worker in workers]
    sizes, last = blocks.frame_bytes, blocks.count_segments - 1
    headers = np.stack(
        [[_encode_headers(worker, testbed, int(size)) for size in sizes[[0, -1]]] for worker in workers]
    )
    batch = max(_BATCH_BYTES // int(sizes[0]), 1)
    for start in range(0, len(schedule.time), batch):
        part = slice(start, start + batch)
        segment = schedule.segment[part]
        frames = np.empty((len(segment), sizes[0]), dtype=np.uint8)
        frames[:, : layouts.GRADIENT_OFFSET] = headers[schedule.worker[part], (segment == last).astype(int)]
        _set_field(frames, layouts.OLAF, "seq", schedule.seq[part])
        _set_field(frames, layouts.OLAF, "segment", segment)
        rewards = trace.reward[schedule.source[part], schedule.update[part]]
        _set_field(frames, layouts.OLAF, "reward", rewards.view(np.uint32).astype(np.int64))
        _set_field(frames, layouts.OLAF, "gen_time", schedule.generated[part])
        gradient = trace.gradients(
            schedule.source[part], schedule.update[part], blocks.width, segment * blocks.each
        )
        frames[:, layouts.GRADIENT_OFFSET :] = gradient.astype("<f4").view(np.uint8)
        times, rows = schedule.time[part].tolist(), schedule.worker[part].tolist()
        for time, row, size, frame in zip(times, rows, sizes[segment].tolist(), frames, strict=True):
            yield TimedFrame(time, ports[row], frame[:size].tobytes())


def collect_receptions(testbed: Testbed, leaving: Iterable[TimedFrame]) -> Receptions:
    """Collect what arrived at the parameter server's port, of all that left the engine.

    Raises OlafError when a frame there is not an update of one of the testbed's workers.
    """
    port = testbed.parameter_servers[0].port
    times, heads = [], bytearray()
    for frame in leaving:
        if frame.port == port:
            times.append(frame.time)
            heads += frame.frame[: layouts.GRADIENT_OFFSET]
    head = np.frombuffer(bytes(heads), np.uint8).reshape(len(times), layouts.GRADIENT_OFFSET)
    cluster_of = {int(worker.ip): testbed.cluster_of(worker).number for worker in testbed.workers}
    try:
        clusters = [cluster_of[address] for address in _number_field(head[:, _SOURCE_START:][:, :4]).tolist()]
    except KeyError as error:
        raise OlafError(
            Problem(f"a frame from {error.args[0]:#010x}, no worker, reached the server")
        ) from error
    time = np.array(times, dtype=np.int64)
    return Receptions(
        time=time,
        cluster=np.array(clusters, dtype=np.int64),
        count=_get_field(head, layouts.OLAF, "count"),
        generated=_nearest_time(_get_field(head, layouts.OLAF, "gen_time"), time),
        segment=_get_field(head, layouts.OLAF, "segment"),
    )


def _nearest_time(gen_time: Indices, near: Indices) -> Indices:
    """Return the times in ns, nearest to ``near``, for which frames carry ``gen_time``: it wraps every 78
    hours.

    With ``near`` the time of reception these are the generation times: exact for ages below 39 hours, and
    later than ``near`` where the sender's clock is ahead.
    """
    half = layouts.TIMES // 2
    return near - half + 1 + ((gen_time - near + half - 1) % layouts.TIMES)


def _encode_headers(worker: Member, testbed: Testbed, frame_bytes: int) -> Bytes:
    server = testbed.parameter_servers[0]
    epoch = testbed.cluster_of(worker).epoch
    frame = OlafFrame(
        source=endpoint_of(worker),
        destination=Endpoint(server.mac, server.ip, testbed.udp_port),
        frame_type=FrameType.UPDATE,
        gradient=np.zeros((frame_bytes - layouts.GRADIENT_OFFSET) // 4, dtype=np.float32),
        epoch=epoch,
    )
    return np.frombuffer(frame.encode()[: layouts.GRADIENT_OFFSET], np.uint8)


def _header_columns(layout: HeaderLayout, name: str) -> slice:
    start = _OLAF_START + layout.offset(name) // 8
    return slice(start, start + layout.field(name).bits // 8)


def _set_field(frames: Bytes, layout: HeaderLayout, name: str, values: Indices) -> None:
    columns = _header_columns(layout, name)
    wide = values.astype(">i8").view(np.uint8).reshape(-1, 8)
    frames[:, columns] = wide[:, 8 - (columns.stop - columns.start) :]


def _get_field(frames: Bytes, layout: HeaderLayout, name: str) -> Indices:
    return _number_field(frames[:, _header_columns(layout, name)])


def _number_field(columns: Bytes) -> Indices:
    total = np.zeros(len(columns), dtype=np.int64)
    for column in columns.T:
        total = total << 8 | column
    return total


_SHOWN = 5
_NAN = 0x7FC00000


@dataclass(frozen=True)
class _Sent:
    worker: int
    generated: int
    gradient: Gradient


class Sums:
    """Follows one replay: what is sent, and what leaves towards the parameter server."""

    def __init__(self, testbed: Testbed) -> None:
        self._port = testbed.parameter_servers[0].port
        self._cluster_of = {worker.ip: testbed.cluster_of(worker).number for worker in testbed.workers}
        self._waiting: dict[tuple[int, int], deque[_Sent]] = {}
        self._wrong = 0
        self.wrong: list[str] = []
        """A line for each frame that is not such a sum, up to a few."""
        self.checked = 0

    def remember_sent(self, frames: Iterator[TimedFrame]) -> Iterator[TimedFrame]:
        """Yield ``frames`` as they are, and remember them."""
        for timed in frames:
            frame = OlafFrame.decode(timed.frame)
            sent = _Sent(int(frame.source.ip), frame.gen_time, frame.gradient)
            key = self._cluster_of[frame.source.ip], frame.segment
            self._waiting.setdefault(key, deque()).append(sent)
            yield timed

    def check_received(self, frames: Iterator[TimedFrame]) -> Iterator[TimedFrame]:
        """Yield ``frames`` as they are, and check them."""
        for timed in frames:
            if timed.port == self._port:
                self._check_frame(timed)
            yield timed

    def _check_frame(self, timed: TimedFrame) -> None:
        frame = OlafFrame.decode(timed.frame)
        if frame.source.ip not in self._cluster_of:
            return  # the measurement tells
        self.checked += 1
        waiting = self._waiting.get((self._cluster_of[frame.source.ip], frame.segment), deque())
        candidates = _up_to(waiting, int(frame.source.ip), frame.gen_time)
        left = _canonical_bits(frame.gradient)
        with np.errstate(all="ignore"):
            right = any(
                count == frame.count and np.array_equal(_canonical_bits(total), left)
                for count, total in _possible_sums(candidates)
            )
        if not right:
            self._wrong += 1
            if self._wrong <= _SHOWN:
                self.wrong.append(
                    f"the frame of segment {frame.segment} that left at {timed.time} ns is no sum of "
                    f"{frame.count} updates that came"
                )


def _up_to(waiting: deque[_Sent], worker: int, generated: int) -> Sequence[_Sent]:
    """Take what came up to the update that gave a frame its header, which is then no longer waiting."""
    taken: list[_Sent] = []
    while waiting:
        taken.append(waiting.popleft())
        if (taken[-1].worker, taken[-1].generated) == (worker, generated):
            return taken
    return ()


def _possible_sums(candidates: Sequence[_Sent]) -> Iterator[tuple[int, Gradient]]:
    """Yield (count, sum) for each number of updates that may have been dropped before the first that was
    kept."""
    for dropped in range(len(candidates)):
        first, *rest = candidates[dropped:]
        count, total, worker = 1, first.gradient, first.worker
        for update in rest:
            if count == 1 and update.worker == worker:
                total = update.gradient
            else:
                total = total + update.gradient
                count += 1
        yield count, total


def _canonical_bits(values: Gradient) -> npt.NDArray[np.uint32]:
    """Return the bits, with the one NaN that the adders give."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32).copy()
    bits[np.isnan(values)] = _NAN
    return bits
