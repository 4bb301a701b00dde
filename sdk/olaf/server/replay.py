"""Which of a sender's updates a parameter server has seen."""

from __future__ import annotations

from olaf.serial import ROUND_BITS, distance
from olaf.transport.segments import stretches

REPLAY_WINDOW = 64


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
