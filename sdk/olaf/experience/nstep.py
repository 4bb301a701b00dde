"""Returns over several steps, which end where their episode ends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from olaf.experience.layout import GOES_ON, TERMINATED
from olaf.experience.ring import Integers, Ring
from olaf.experience.samplers import Draw
from olaf.experience.window import Window


@dataclass(frozen=True)
class Returns:
    """For each row of a draw: (rows,)."""

    rewards: npt.NDArray[np.float64]
    """Σ γ^k·r over the steps."""
    last: Integers
    """The position of the last of them; to be added is the value of what was seen after it, its ``next``."""
    discount: npt.NDArray[np.float64]
    """By which to multiply that value: γ^steps, 0 where the episode terminated."""


def returns(ring: Ring, draw: Draw, n: int, discount: float, key: str = "reward") -> Returns:
    """Up to ``n`` steps from each row; fewer where the episode ends or is cut, or the newest row is reached.

    ``key`` has one value a step. Raises ValueError for n below one.
    """
    if n < 1:
        raise ValueError(f"returns over {n} steps; give 1 or more")
    window = Window(ring)
    rewards, ends = ring.column(key), ring.column("end")
    total = np.zeros(len(draw))
    last, factor = draw.positions.copy(), np.ones(len(draw))
    goes_on = np.ones(len(draw), bool)
    for step in range(n):
        position = draw.positions + step
        goes_on &= position < window.stop[draw.actors]
        slots = ring.slots(draw.actors, position)
        total += np.where(goes_on, factor * rewards[slots], 0.0)
        last[goes_on] = position[goes_on]
        factor[goes_on] *= discount
        goes_on &= ends[slots] == GOES_ON
    terminated = ends[ring.slots(draw.actors, last)] == TERMINATED
    return Returns(total, last, np.where(terminated, 0.0, factor))
