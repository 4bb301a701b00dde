"""The Verilated queue of a testbed's engine."""

from pathlib import Path

from olafctl.queue.verilate import build_queue
from olafctl.targets.interface import Progress
from olafctl.testbed.model import TestbedEngine


def queue_library(engine: TestbedEngine, progress: Progress) -> Path:
    """Return the shared library of ``engine``'s queue, built when it is not in the cache. Raises
    OlafError."""
    return build_queue(engine.geometry, progress)
