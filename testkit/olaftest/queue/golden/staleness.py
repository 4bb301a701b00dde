"""The staleness rule: what an index learns from ACKs that pass, and what an update that is behind counts.

The weights are powers of two, so that scaling is a subtraction from the exponent: of Stellaris' weights
staleness^(-1/v) (§V-A) the nearest ones.
"""

from dataclasses import dataclass

import numpy as np

from olaftest.queue.golden.frames import Gradients
from olaftest.queue.golden.waiting import newer_or_same

_VERSION_BITS = 16
_IN_A_ROW = 16
"""Number of older ACKs that are believed, and of updates dropped as stale before a version is forgotten."""
_EXPONENT = np.uint32(0x7F800000)
_SIGN = np.uint32(0x80000000)


@dataclass
class Newest:
    """The newest version of an index' weights that it knows of."""

    version: int | None = None
    older_acks: int = 0
    """In a row."""
    stale_updates: int = 0
    """Dropped in a row, with no ACK in between."""

    def acknowledged(self, version: int) -> None:
        """Note an ACK with weights of ``version``."""
        self.stale_updates = 0
        if self.version is not None and not newer_or_same(version, self.version, _VERSION_BITS):
            self.older_acks += 1
            if self.older_acks < _IN_A_ROW:
                return
        self.version, self.older_acks = version, 0

    def judged(self, stale: bool) -> None:
        """Note that an update was dropped as stale, or that the rule let it pass."""
        self.stale_updates = self.stale_updates + 1 if stale else 0
        if self.stale_updates == _IN_A_ROW:
            self.forget()

    def forget(self) -> None:
        """Begin again, as after reset."""
        self.version, self.older_acks, self.stale_updates = None, 0, 0

    def behind(self, version: int) -> int:
        """Return how many versions ago the weights were of ``version``; 0 when nothing is known, or it is
        newer."""
        if self.version is None or newer_or_same(version, self.version, _VERSION_BITS):
            return 0
        # Half the range away it is neither ahead nor behind.
        ago = (self.version - version) % (1 << _VERSION_BITS)
        return ago if ago < 1 << _VERSION_BITS - 1 else 0


def shift_of(staleness: int, shifts: int) -> int:
    """Return k of the weight 2^-k; ``shifts`` holds 4 bits of it for each length of the staleness in bits."""
    return shifts >> 4 * staleness.bit_length() & 0xF


def scale_gradients(gradients: Gradients, shift: int) -> Gradients:
    """Scale by 2^-shift: what would be subnormal, or was, is zero of its sign; infinities and NaN stay."""
    if shift == 0:
        return gradients
    bits = gradients.view(np.uint32)
    exponents = bits & _EXPONENT
    less = np.uint32(shift << 23)
    finite = np.where(exponents <= less, bits & _SIGN, bits - less)
    return np.where(exponents == _EXPONENT, bits, finite).view(np.float32)
