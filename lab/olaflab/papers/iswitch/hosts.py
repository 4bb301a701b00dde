"""The costs of our own hosts' software: the SDK's workers, measured on this machine, with its name."""

import platform
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from olaflab.model.iterations import Software
from olaflab.papers.iswitch.costs import HostCosts, Variant
from olafswitch.errors import OlafError, Problem

_SMALL = 10_000
"""Values: of larger models a tenth of the updates is enough."""


def measure_hosts(updates: int, rounds: int, progress: Callable[[str], None]) -> dict[str, Any]:
    """Measure the CPU time of an update at a worker, sent and answered over loopback, by the model's size.

    Raises OlafError where the parameter server does not start.
    """
    from olaf.doctor.measure import MODELS
    from olaf.doctor.measure import measure as once

    found = {}
    for values in MODELS:
        progress(f"{values} values")
        count = updates if values < _SMALL else updates // 10
        try:
            found[values] = median(once(values, "plain", max(count, 4)).worker for _ in range(rounds))
        except RuntimeError as error:
            raise OlafError(Problem(str(error), "loopback")) from error
    slope, begin = np.polyfit([4 * values for values in found], [1e9 * each for each in found.values()], 1)
    return {
        "machine": describe_machine(),
        "updates": updates,
        "rounds": rounds,
        "seconds": {str(values): each for values, each in found.items()},
        # An update goes out and comes back: what it takes is that of two ends.
        "message": float(begin) / 2,
        "byte": float(slope) / 2,
    }


def host_costs(kept: dict[str, Any], fitted: HostCosts) -> HostCosts:
    """Return our hosts' costs, beside the same computing: a message is a gradient vector, handled frame by
    frame."""
    software = Software(kept["message"], byte=kept["byte"], duplex=True)
    return HostCosts(Variant(whole=False), software, fitted.computing, 0.0)


def describe_machine() -> str:
    """Describe the processor and the system."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    processor = f"{len(names)} × {names[0]}" if names else platform.machine()
    system = f"{platform.system()} {platform.release().partition('-')[0]}"
    return f"{processor}, {system}, Python {platform.python_version()}"
