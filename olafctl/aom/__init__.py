"""Age-of-Model: one definition (OLAF §2.2, §6), exact and vectorised.

Δ(t), the age at time t, is t minus the generation time of the freshest update the parameter server has
received by t. A reception that is no fresher than what was received before leaves Δ alone: it is
*stale*. All times are integer nanoseconds on one clock, constant delays included or left out by the
caller (they shift Δ, OLAF §6).

Three things the paper leaves open are said here once:

* The observation is the window (start, end]: a reception at ``start`` or before only sets the age the
  window begins with, a reception after ``end`` is ignored.
* ``initial`` is the generation time of the model held before the first reception. With ``initial=None``
  nothing is held: Δ begins at the first reception, which is then no peak.
* Receptions at one instant are one jump, to the freshest of them.

Where generation times are unknown, arrival times at the engine stand for them (OLAF §6).
"""

from olafctl.aom.exact import Sawtooth, Tooth, average, peaks, sawtooth
from olafctl.aom.fairness import jain, jain_exact
from olafctl.aom.vector import Ages, ages, ages_by_cluster

__all__ = [
    "Ages",
    "Sawtooth",
    "Tooth",
    "ages",
    "ages_by_cluster",
    "average",
    "jain",
    "jain_exact",
    "peaks",
    "sawtooth",
]
