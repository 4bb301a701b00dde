"""Sums over all members of an iswitch cluster, exactly once each (iSwitch §3), without torch.

``Rounds`` is one member; ``Reduction`` one vector on its way to its sum. ``olaf.distributed`` gives both to
torch.
"""

from __future__ import annotations

from olaf.rounds.lane import Reduction
from olaf.rounds.rounds import RoundCounters, Rounds

__all__ = ["Reduction", "RoundCounters", "Rounds"]
