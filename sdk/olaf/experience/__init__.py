"""Experience: the ring that keeps what was played, triggers on it, and samplers of it.

Each is usable alone: actors write to a :class:`Ring` through a :class:`Writer`; triggers fire when something
happens; samplers draw rows. Processes share a ring by its name.
"""

from __future__ import annotations

from olaf.experience.layout import CUT, GOES_ON, TERMINATED, Layout, agents, layout
from olaf.experience.passers import Bell, Bound, bind, direct, queue
from olaf.experience.pipeline import Accumulated, Moments, Pace, advantages
from olaf.experience.prioritised import Prioritised, PrioritisedRuns
from olaf.experience.ring import OVERWRITE, REFUSE, Batch, Ring, RingError
from olaf.experience.samplers import Draw, Runs, SampleToInsertRatio, Uniform, effective_rows, sample
from olaf.experience.triggers import DataKey, Firing, Learnable, ObjectKey, Time, Transfer, Trigger
from olaf.experience.writer import Writer

__all__ = [
    "CUT", "GOES_ON", "OVERWRITE", "REFUSE", "TERMINATED", "Accumulated", "Batch", "Bell", "Bound",
    "DataKey", "Draw", "Firing", "Layout", "Learnable", "Moments", "ObjectKey", "Pace", "Prioritised",
    "PrioritisedRuns", "Ring", "RingError", "Runs", "SampleToInsertRatio", "Time", "Transfer", "Trigger",
    "Uniform", "Writer", "advantages", "agents", "bind", "direct", "effective_rows", "layout", "queue",
    "sample",
]  # fmt: skip
