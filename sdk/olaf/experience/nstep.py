"""Returns over several steps, which end where their episode ends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from olaf.experience.layout import GOES_ON, TERMINATED
from olaf.experience.ring import Integers, Ring
from olaf.experience.samplers import Draw


@dataclass(frozen=True)
class Returns:
    """For each row of a draw: (rows,)."""

    rewards: npt.NDArray[np.float64]
    """Σ γ^k·r over the steps."""
    last: Integers
    """The position of the last of them; to be added is the value of what was seen after it, its ``next``."""
    discount: npt.NDArray[np.float64]
    """The factor of that value: γ^steps, 0 where the episode terminated."""
    intact: npt.NDArray[np.bool_]
    """False where a writer has overwritten the row since it was drawn: its return cannot be known any more.

    ``rewards`` and ``discount`` are NaN there, and ``last`` is the row itself, which is gone.
    """


def returns(ring: Ring, draw: Draw, n: int, discount: float, key: str = "reward") -> Returns:
    """Sum up to ``n`` steps from each row; fewer where the episode ends or is cut, or the newest row is
    reached.

    ``key`` has one value a step. Learn from the ``intact`` ones alone: an actor that writes meanwhile may
    have overwritten rows of the draw. Raises ValueError for n below one.
    """
    if n < 1:
        raise ValueError(f"returns over {n} steps; give 1 or more")
    stop = np.maximum(ring.count() - (ring.layout.following is not None), 0)
    rewards, ends = ring.column(key), ring.column("end")
    total = np.zeros(len(draw))
    last, factor = draw.positions.copy(), np.ones(len(draw))
    goes_on = np.ones(len(draw), bool)
    for step in range(n):
        position = draw.positions + step
        goes_on &= position < stop[draw.actors]
        slots = ring.slots(draw.actors, position)
        total += np.where(goes_on, factor * rewards[slots], 0.0)
        last[goes_on] = position[goes_on]
        factor[goes_on] *= discount
        goes_on &= ends[slots] == GOES_ON
    terminated = ends[ring.slots(draw.actors, last)] == TERMINATED
    factor[terminated] = 0.0
    # The rows that follow one are overwritten after it.
    _, intact = ring.read("end", draw.actors, draw.positions)
    total[~intact] = factor[~intact] = np.nan
    return Returns(total, np.where(intact, last, draw.positions), factor, intact)
