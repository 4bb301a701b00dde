"""The weights of the staleness rule, as the registers ``stale_shifts_low`` and ``…_high`` hold them."""

import math

BITS = 4
"""The width of a shift: an update weighs no less than 2^-15."""
LENGTHS = 16
"""The lengths of a staleness, 0 … 15 bits: half the range of versions and more is not behind but ahead."""
GREATEST_BOUND = 65535


def shift_words(root: float | None) -> tuple[int, int]:
    """Return the two registers for Stellaris' weights δ^(-1/``root``) (§V-A); None weighs all alike.

    All staleness δ of one length in bits has one weight: the power of two nearest to the mean of their
    logarithms.
    """
    ks = [0, *(_shift_of(length, root) if root is not None else 0 for length in range(1, LENGTHS))]
    word = sum(k << BITS * length for length, k in enumerate(ks))
    return word & 0xFFFFFFFF, word >> 32


def weights_of(low: int, high: int) -> list[int]:
    """Return k of the weight 2^-k for each length of the staleness in bits."""
    word = high << 32 | low
    return [word >> BITS * length & (1 << BITS) - 1 for length in range(LENGTHS)]


def _shift_of(length: int, root: float) -> int:
    first, end = 1 << length - 1, 1 << length
    mean = (math.lgamma(end) - math.lgamma(first)) / (end - first) / math.log(2)
    return min(round(mean / root), (1 << BITS) - 1)
