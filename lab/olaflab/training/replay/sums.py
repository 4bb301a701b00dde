"""Whether every frame that left the engine is the exact sum of the updates it counts.

Of one index, updates leave in the order in which they came: what leaves is the newest one sent so far, with
those before it that were not dropped, added from the oldest on in binary32 (OLAF §3, algorithm 1). Which
ones were dropped or replaced the frame does not show, but few choices are possible, and one must give the
bits that left.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from olafctl.targets.interface import TimedFrame
from olafctl.testbed.model import Testbed
from olaftest.frames import Gradient, OlafFrame

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

    def sending(self, frames: Iterator[TimedFrame]) -> Iterator[TimedFrame]:
        """``frames`` as they are, remembered."""
        for timed in frames:
            frame = OlafFrame.decode(timed.frame)
            sent = _Sent(int(frame.source.ip), frame.gen_time, frame.gradient)
            key = self._cluster_of[frame.source.ip], frame.segment
            self._waiting.setdefault(key, deque()).append(sent)
            yield timed

    def checking(self, frames: Iterator[TimedFrame]) -> Iterator[TimedFrame]:
        """``frames`` as they are, checked."""
        for timed in frames:
            if timed.port == self._port:
                self._check(timed)
            yield timed

    def _check(self, timed: TimedFrame) -> None:
        frame = OlafFrame.decode(timed.frame)
        if frame.source.ip not in self._cluster_of:
            return  # the measurement tells
        self.checked += 1
        waiting = self._waiting.get((self._cluster_of[frame.source.ip], frame.segment), deque())
        candidates = _up_to(waiting, int(frame.source.ip), frame.gen_time)
        left = _bits(frame.gradient)
        with np.errstate(all="ignore"):
            right = any(
                count == frame.count and np.array_equal(_bits(total), left)
                for count, total in _possible(candidates)
            )
        if not right:
            self._wrong += 1
            if self._wrong <= _SHOWN:
                self.wrong.append(
                    f"the frame of segment {frame.segment} that left at {timed.time} ns is no sum of "
                    f"{frame.count} updates that came"
                )


def _up_to(waiting: deque[_Sent], worker: int, generated: int) -> Sequence[_Sent]:
    """What came up to the update that gave a frame its header, which is then no longer waiting."""
    taken: list[_Sent] = []
    while waiting:
        taken.append(waiting.popleft())
        if (taken[-1].worker, taken[-1].generated) == (worker, generated):
            return taken
    return ()


def _possible(candidates: Sequence[_Sent]) -> Iterator[tuple[int, Gradient]]:
    """(count, sum) for each number of updates that may have been dropped before the first that was kept."""
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


def _bits(values: Gradient) -> npt.NDArray[np.uint32]:
    """With the one NaN that the adders give."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32).copy()
    bits[np.isnan(values)] = _NAN
    return bits
