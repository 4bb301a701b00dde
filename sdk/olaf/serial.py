"""Serial-number arithmetic (RFC 1982) for versions, rounds and times that wrap around."""

from __future__ import annotations

from olaf import wire
from olaf.segments import stretches

VERSION_BITS = 16
ROUND_BITS = 32
TIME_BITS = 48
REPLAY_WINDOW = 64


def job(epoch: int) -> int:
    """The epoch, if a frame can carry it; raises ValueError."""
    if not 0 <= epoch < wire.EPOCHS:
        raise ValueError(f"epoch {epoch} is not from 0 to {wire.EPOCHS - 1}")
    return epoch


def newer(a: int, b: int, bits: int) -> bool:
    """Whether ``a`` comes after ``b``: their difference modulo 2**bits lies in 1 … 2**(bits-1) - 1."""
    return 0 < (a - b) % (1 << bits) < 1 << (bits - 1)


def distance(a: int, b: int, bits: int) -> int:
    """``a - b`` as a signed number, from -2**(bits-1) to 2**(bits-1) - 1."""
    half = 1 << (bits - 1)
    return (a - b + half) % (1 << bits) - half


class Replay:
    """Which of one sender's last sequence numbers have been seen, for each segment of a model.

    A number inside of the window counts once. One outside of it, on either side, is a sender that started
    again at another number: the window moves there.
    """

    def __init__(self, segments: int = 1) -> None:
        self._states: list[tuple[int, int] | None] = [None] * segments
        """The newest number, and as bit k whether ``newest - k`` was seen."""

    def first(self, seq: int, segments: range = range(1)) -> list[tuple[bool, range]]:
        """Of these segments, in order, whether ``seq`` is seen for the first time; it is then remembered."""
        found = []
        known = self._states[segments.start : segments.stop]
        for state, alike in stretches(known, segments.start):
            new, after = _seen(state, seq)
            self._states[alike.start : alike.stop] = [after] * len(alike)
            found.append((new, alike))
        return found


def _seen(state: tuple[int, int] | None, seq: int) -> tuple[bool, tuple[int, int]]:
    """Whether ``seq`` is new to a segment in this state, and the state after it."""
    if state is None:
        return True, (seq, 1)
    newest, seen = state
    ahead = distance(seq, newest, ROUND_BITS)
    if abs(ahead) >= REPLAY_WINDOW:
        return True, (seq, 1)
    if ahead > 0:
        return True, (seq, (seen << ahead | 1) & ((1 << REPLAY_WINDOW) - 1))
    bit = 1 << -ahead
    return not seen & bit, (newest, seen | bit)
