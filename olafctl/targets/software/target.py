"""The software target: Olaf in production without an FPGA."""

from pathlib import Path

from olafctl.queue.software import build_software_queue
from olafctl.targets.interface import Progress
from olafctl.targets.twin.target import TwinTarget
from olafctl.testbed.model import TestbedEngine


def queue_library(engine: TestbedEngine, progress: Progress) -> Path:
    """Return the shared library of ``engine``'s queue, compiled when it is not in the cache. Raises
    OlafError."""
    progress(f"compiling the queue of {engine.geometry}")
    return build_software_queue(engine.geometry)


TARGET = TwinTarget("software", "software engine", queue_library)
