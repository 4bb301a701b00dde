"""Age-of-Model: one definition (OLAF §2.2, §6), vectorised.

Δ(t), the age at time t, is t minus the generation time of the freshest update the parameter server has
received by t. A reception that is no fresher than what was received before leaves Δ alone: it is
*stale*. All times are integer nanoseconds on one clock, constant delays included or left out by the
caller (they shift Δ, OLAF §6).

What the paper leaves open is defined here once:

* The observation is the window (start, end]: a reception at ``start`` or before only sets the age the
  window begins with, a reception after ``end`` is ignored.
* ``initial`` is the generation time of the model held before the first reception. With ``initial=None``
  nothing is held: Δ begins at the first reception, which is then no peak.
* Receptions at one instant are one jump, to the freshest of them.
* A merged update is as old as its newest constituent, whose ``gen_time`` it carries.
* The age of a model of several segments is the age of its oldest segment: each segment has an age of its
  own, and the cluster's Δ(t) is the largest of them. It begins when every segment has been received once.

Where generation times are unknown, arrival times at the engine stand for them (OLAF §6).
"""

from olafctl.verify.aom.curve import Ages, age_at, ages
from olafctl.verify.aom.fairness import jain
from olafctl.verify.aom.gen_time import GEN_TIME_BITS, at_least_as_new, gen_time_of, nearest_time
from olafctl.verify.aom.segments import ages_of_oldest_segment, oldest_segment

__all__ = [
    "GEN_TIME_BITS",
    "Ages",
    "age_at",
    "ages",
    "ages_of_oldest_segment",
    "at_least_as_new",
    "gen_time_of",
    "jain",
    "nearest_time",
    "oldest_segment",
]
