"""Rewards in order, and the exact comparison of the reward rule (OLAF §3)."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

Number = Fraction | float
"""A finite value exactly, or a float that is infinite."""
Rank = tuple[int, Number]


def binary32_value(bits: int) -> Number | None:
    """Return the value of binary32 bits; None for NaN."""
    value = float(np.uint32(bits).view(np.float32))
    if math.isnan(value):
        return None
    return value if math.isinf(value) else Fraction(value)


def _rank_value(value: Number | None) -> Rank:
    """Rank a value; NaN is below every number."""
    return (0, Fraction(0)) if value is None else (1, value)


def _add_rewards(left: Number | None, right: Number | None) -> Number | None:
    if left is None or right is None:
        return None
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return left + right
    total = float(left) + float(right)
    return None if math.isnan(total) else total


@dataclass(frozen=True)
class Reward:
    """A mean episode reward and the threshold that was in force when its update came, as binary32 bits."""

    bits: int
    threshold: int

    @property
    def rank(self) -> Rank:
        return _rank_value(binary32_value(self.bits))

    def above(self, waiting: "Reward") -> bool:
        """Return whether this reward exceeds the waiting update's by more than the threshold."""
        return self.rank > _rank_value(
            _add_rewards(binary32_value(waiting.bits), binary32_value(waiting.threshold))
        )

    def below(self, waiting: "Reward") -> bool:
        """Return whether this reward falls short of the waiting update's by more than the threshold."""
        return self.rank < _rank_value(
            _add_rewards(binary32_value(waiting.bits), binary32_value(waiting.threshold ^ 0x80000000))
        )
