"""A worker's end of asynchronous training.

``Worker`` offers updates and takes weights as ``Block``; ``TransmissionControl`` decides when to send
(OLAF §5). ``outbox`` holds what is not sent, ``silence`` reports why nothing is heard, ``history`` keeps
versions of the weights.
"""

from __future__ import annotations

from olaf.worker.transmission import TOLERANCE, TransmissionControl
from olaf.worker.worker import Block, Worker, WorkerCounters

__all__ = ["TOLERANCE", "Block", "TransmissionControl", "Worker", "WorkerCounters"]
