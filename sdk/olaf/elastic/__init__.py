"""Compute that is held only while it is used: learners as functions, actors that sleep, leases, ledgers.

``Learners`` invokes a function as soon as there are rows; ``Actors`` sleep and wake by a ``ScalePolicy``;
``Pool`` and ``SharedPool`` lease what is ``Held``; a ``Ledger`` counts what it costs. ``tasks`` and
``placed`` run on a Ray cluster.
"""

from __future__ import annotations

from olaf.elastic.actors import Actors, Staff, State
from olaf.elastic.children import Freeze, Processes, Sleeper, stopped
from olaf.elastic.learners import Learners, Runner
from olaf.elastic.lease import CPU, GPU, Held, Invocation, Ledger, Pool, Report, SharedPool
from olaf.elastic.scale import (
    Admission,
    Carried,
    GradientNoise,
    Monitor,
    NetworkLimit,
    NoiseScale,
    ScalePolicy,
    Schedule,
    Seen,
)
from olaf.elastic.warm import Warm

__all__ = [
    "CPU", "GPU", "Actors", "Admission", "Carried", "Freeze", "GradientNoise", "Held", "Invocation",
    "Learners", "Ledger", "Monitor", "NetworkLimit", "NoiseScale", "Pool", "Processes", "Report", "Runner",
    "ScalePolicy", "Schedule", "Seen", "SharedPool", "Sleeper", "Staff", "State", "Warm", "stopped",
]  # fmt: skip
