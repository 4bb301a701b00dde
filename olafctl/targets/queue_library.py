"""The Verilated queue of a testbed's engine."""

from pathlib import Path

from olafctl.queue.verilate import Parameters, build_queue
from olafctl.targets.interface import Progress
from olafctl.testbed.model import Engine


def parameters_of(engine: Engine) -> Parameters:
    """The queue's Verilog parameters. Raises BadInput when one is out of range."""
    return Parameters(engine.clusters, engine.slots, engine.beats, engine.adder_latency)


def queue_library(engine: Engine, progress: Progress) -> Path:
    """The shared library of ``engine``'s queue, built when it is not in the cache. Raises OlafError."""
    return build_queue(parameters_of(engine), progress)
