"""Updates that a worker has offered and not sent yet, and how fast they may go.

The segments of an update are sent in turn, as many as may be on their way at a time; the others follow as
answers come, each with all that was offered for it meanwhile. So nothing that a machine sends to itself, or
to a server on the same switch, overruns a socket's buffer, in either direction: what is answered is what
was sent. Where no answers come, because a queue has merged or dropped the frames, a pause stands for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Callable

import numpy as np

from olaf.transport import wire
from olaf.transport.frames import Writer
from olaf.transport.port import Run
from olaf.transport.segments import Segments, Vector, blocks, stretches

_SHARE = 3
"""Share of a socket's buffer that may be on its way, as a divisor: other members send to it too."""
_FEW = 1 << 16
"""Bytes that may be on their way in any case. Beyond that a segment is sent again when it was answered: what
is offered meanwhile is added to it, and no second copy of its weights comes unasked."""
PAUSE, LONGEST_PAUSE = 0.02, 0.64
"""Seconds without an answer after which what is on its way counts as lost: each twice the one before, until
an answer comes. A server that is busy must find what was sent to it, and not more."""
_WARY = 64
"""Updates after a pause without answers, which may mean a loss, that begin with another segment each."""


@dataclass
class Mark:
    """An update's fields besides its gradient."""

    epoch: int = 0
    seq: int = 0
    reward: float = 0.0
    time: int = 0
    """ns, as the header has it."""


Send = Callable[[Run], int]
"""Sends the first frames of a run; how many."""


class Outbox:
    """One model's updates on their way out."""

    def __init__(self, segments: Segments, room: int) -> None:
        """``room``: bytes that may wait in a socket's buffer, here and, so it is taken, at the server."""
        self._segments = segments
        self._writer = Writer()
        self.held = np.zeros(segments.values, np.float32)
        """The sum of updates offered and not sent; zeros where there are none."""
        self.held_from: dict[int, int] = {}
        """Segments with something held, and the version its oldest part was computed from."""
        self._next = 0
        """The segment to be sent next."""
        self._left = 0
        """How many, from that on and around, the newest update that is to be sent still lacks."""
        self._flying = 0
        """Frames sent and not answered."""
        self._pause: float | None = None
        """When those count as lost."""
        self._patience = PAUSE
        self._engine = True
        """Whether an engine's queue is on the way."""
        self._wary = 0
        """Updates until nothing counts as lost."""
        each = wire.IP_UDP_BYTES + wire.OLAF_BYTES + 4 * segments.size
        self._window = max(1, min(max(segments.count, _FEW // each), room // _SHARE // each))

    @property
    def window(self) -> int:
        """Frames that may be on their way at a time."""
        return self._window

    @property
    def drained(self) -> bool:
        """Whether nothing is held or on its way."""
        return not self.held_from and not self._flying

    def offer_update(
        self, gradient: Vector, sending: bool, bases: Sequence[int], mark: Mark, now: float, send: Send
    ) -> int:
        """Send this update (values,), computed from versions ``bases``, or hold what cannot be sent now.

        Returns how many frames were due and could not be sent.
        """
        count = self._segments.count
        self._give_up(now)
        if sending:
            if not self._left:
                # Each update begins with another segment, as a queue that is full drops the last of a burst;
                # where nothing is lost it begins with the first, and is one run.
                self._next = mark.seq % count if self._engine or self._wary else 0
                self._wary = max(0, self._wary - 1)
            self._left = count
        pieces = self._turn_segments() if sending else []
        sent: list[range] = []
        for piece in pieces:
            done = self._send_segments(
                piece, self._with_held(piece, gradient), self._read_bases(piece, bases), mark, send
            )
            sent += [piece[:done]] if done else []
            self._note_sent(piece[:done], now)
            if done < len(piece):
                self._pause = now + self._patience
                break
        for rest in _list_others(sent, count):
            place = self._segments.span(rest)
            with np.errstate(over="ignore"):  # an infinite sum is sent, refused and forgotten
                self.held[place] += gradient[place]
            for segment in rest:
                self.held_from.setdefault(segment, bases[segment])
        return sum(map(len, pieces)) - sum(map(len, sent))

    def go_on(self, mark: Mark, now: float, send: Send) -> int:
        """Send what is due of what is held; how many frames could not be sent."""
        self._give_up(now)
        pieces, sent = self._turn_segments(), 0
        for piece in pieces:
            bases = [self.held_from.get(segment, 0) for segment in piece]
            done = self._send_segments(piece, self.held[self._segments.span(piece)], bases, mark, send)
            self._note_sent(piece[:done], now)
            sent += done
            if done < len(piece):
                self._pause = now + self._patience
                break
        return sum(map(len, pieces)) - sent

    def note_answers(self, frames: int, now: float, engine: bool = True) -> None:
        """Record ``frames`` answers; ``engine``: whether they carried a queue status."""
        self._engine = engine
        self._flying, self._patience = max(0, self._flying - frames), PAUSE
        self._pause = now + self._patience if self._flying or self._left else None

    def next_due(self) -> float | None:
        """Return when ``go_on`` has something to do, if no answer comes."""
        return self._pause if self._left else None

    def _give_up(self, now: float) -> None:
        """Count what is on its way as lost after a pause without answers."""
        if self._pause is not None and now >= self._pause:
            self._wary = _WARY if self._flying else self._wary
            self._flying, self._pause = 0, None
            self._patience = min(2 * self._patience, LONGEST_PAUSE)

    def _turn_segments(self) -> list[range]:
        """List the segments to be sent now, in order."""
        number = min(self._left, self._window - self._flying)
        if number <= 0 or number < min(self._left, self._window // 2):  # many small runs cost more
            return []
        stop = self._next + number
        count = self._segments.count
        return (
            [range(self._next, min(stop, count)), range(stop - count)]
            if stop > count
            else [range(self._next, stop)]
        )

    def _with_held(self, piece: range, gradient: Vector) -> Vector:
        place = self._segments.span(piece)
        if not self.held_from or not any(segment in self.held_from for segment in piece):
            return gradient[place]
        values: Vector = gradient[place] + self.held[place]
        return values

    def _read_bases(self, piece: range, bases: Sequence[int]) -> list[int]:
        if not self.held_from:
            return list(bases[piece.start : piece.stop])
        return [self.held_from.get(segment, bases[segment]) for segment in piece]

    def _send_segments(self, piece: range, values: Vector, bases: list[int], mark: Mark, send: Send) -> int:
        kind, flags, first = wire.FrameType.UPDATE, wire.Flag.SUMMED, piece.start
        header = wire.Olaf(
            wire.VERSION, kind, mark.epoch, flags, 1, mark.seq, mark.reward, mark.time, first, 0
        )
        return send(self._writer.run(header, bases, blocks(values, self._segments.size)))

    def _note_sent(self, segments: range, now: float) -> None:
        count = len(segments)
        if not count:
            return
        if self.held_from:
            for segment in segments:
                self.held_from.pop(segment, None)
            self.held[self._segments.span(segments)] = 0
        self._next = segments.stop % self._segments.count
        self._left -= count
        self._flying += count
        self._pause = now + self._patience


def _list_others(segments: list[range], count: int) -> list[range]:
    """List runs of the segments below ``count`` that are in none of at most two, which do not overlap."""
    marks = [False] * count
    for piece in segments:
        marks[piece.start : piece.stop] = [True] * len(piece)
    return [part for is_in, part in stretches(marks) if not is_in]
