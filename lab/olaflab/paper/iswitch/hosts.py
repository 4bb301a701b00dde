"""What our own hosts' software takes: the SDK's workers, measured on this machine and kept with its name."""

import json
import platform
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from olafctl.errors import BadInput, OlafError, Problem
from olaflab.model.iterations import Software
from olaflab.paper.iswitch.costs import Costs, Variant

FILE = "iswitch-hosts.json"
_HOW = "olafctl bench iswitch --hosts FILE"
_SMALL = 10_000
"""Values: of larger models a tenth of the updates is enough."""


def measure(updates: int, rounds: int, progress: Callable[[str], None]) -> dict[str, Any]:
    """CPU time of an update at a worker of the SDK, sent and answered over loopback, by the model's size.

    Raises OlafError where the parameter server does not start.
    """
    from olaf.measure import MODELS
    from olaf.measure import measure as once

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
        "machine": machine(),
        "updates": updates,
        "rounds": rounds,
        "seconds": {str(values): each for values, each in found.items()},
        # An update goes out and comes back: what it takes is that of two ends.
        "message": float(begin) / 2,
        "byte": float(slope) / 2,
    }


def load(folder: Path) -> dict[str, Any] | None:
    """What was measured, where it is kept; None where it is not. Raises BadInput for a file that is none."""
    path = folder / FILE
    try:
        kept: dict[str, Any] = json.loads(path.read_text())
        _ = float(kept["message"]), float(kept["byte"]), str(kept["machine"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(Problem("is no measurement of hosts", str(path), _HOW)) from error
    return kept


def costs(kept: dict[str, Any], fitted: Costs) -> Costs:
    """Of our hosts, beside the same computing: a message is a gradient vector, handled frame by frame."""
    software = Software(kept["message"], byte=kept["byte"], duplex=True)
    return Costs(Variant(whole=False), software, fitted.computing, 0.0)


def machine() -> str:
    """The processor and the system."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    processor = f"{len(names)} × {names[0]}" if names else platform.machine()
    system = f"{platform.system()} {platform.release().partition('-')[0]}"
    return f"{processor}, {system}, Python {platform.python_version()}"
