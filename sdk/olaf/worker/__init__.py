"""A worker's end of asynchronous training.

``Worker`` offers updates and takes weights as ``Block``; ``TransmissionControl`` decides when to send
(OLAF §5). ``outbox`` holds what is not sent, ``silence`` reports why nothing is heard, ``received`` keeps
the weights that came.
"""

from __future__ import annotations

from olaf.worker.received import Block
from olaf.worker.transmission import TOLERANCE, TransmissionControl
from olaf.worker.worker import Worker, WorkerCounters

__all__ = ["TOLERANCE", "Block", "TransmissionControl", "Worker", "WorkerCounters"]
