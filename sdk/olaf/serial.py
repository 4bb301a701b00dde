"""Serial-number arithmetic (RFC 1982) for versions, rounds and times that wrap around."""

from __future__ import annotations

VERSION_BITS = 16
ROUND_BITS = 32
TIME_BITS = 48
REPLAY_WINDOW = 64


def newer(a: int, b: int, bits: int) -> bool:
    """Whether ``a`` comes after ``b``: their difference modulo 2**bits lies in 1 … 2**(bits-1) - 1."""
    return 0 < (a - b) % (1 << bits) < 1 << (bits - 1)


def distance(a: int, b: int, bits: int) -> int:
    """``a - b`` as a signed number, from -2**(bits-1) to 2**(bits-1) - 1."""
    half = 1 << (bits - 1)
    return (a - b + half) % (1 << bits) - half


class Replay:
    """Which of one sender's last sequence numbers have been seen.

    A number inside of the window counts once. One outside of it, on either side, is a sender that started
    again at another number: the window moves there.
    """

    def __init__(self) -> None:
        self._newest: int | None = None
        self._seen = 0
        """Bit k: ``newest - k`` was seen."""

    def first(self, seq: int) -> bool:
        """Whether ``seq`` is seen for the first time; it is then remembered."""
        ahead = 0 if self._newest is None else distance(seq, self._newest, ROUND_BITS)
        if self._newest is None or abs(ahead) >= REPLAY_WINDOW:
            self._newest, self._seen = seq, 1
            return True
        if ahead > 0:
            self._newest = seq
            self._seen = (self._seen << ahead | 1) & ((1 << REPLAY_WINDOW) - 1)
            return True
        bit = 1 << -ahead
        unseen = not self._seen & bit
        self._seen |= bit
        return unseen
