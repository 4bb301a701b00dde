"""A trace small enough to be checked by hand, and the shipped testbeds and trace."""

from pathlib import Path

import numpy as np

from olafctl import paths
from olafctl.targets.testbeds import load_testbed
from olafctl.testbed.model import Testbed
from olaflab.training.replay.trace import Trace, quantise_gradient

SHIPPED = paths.sources() / "testbeds" / "traces" / "nine-clusters.npz"


def small_testbed(name: str) -> Testbed:
    return load_testbed(paths.sources() / "testbeds" / f"{name}.yaml")


def small_trace() -> Trace:
    """Make a trace of 2 workers, with 4 updates each of 3 values."""
    gradients = np.array([[3.0, -4.0, 0.0], [0.0, 0.0, 2.0]], dtype=np.float32)
    shape = (2, 4)
    return Trace(
        header={"seed": 7},
        time=np.array([[100, 200, 400, 500], [150, 300, 350, 900]], dtype=np.int64),
        reward=np.arange(8, dtype=np.float32).reshape(shape),
        norm=np.array([[5, 10, 15, 20], [2, 4, 6, 8]], dtype=np.float32),
        steps=np.full(shape, 10, dtype=np.int32),
        accepted=np.ones(shape, dtype=np.bool_),
        pool_index=np.array([[0] * 4, [1] * 4], dtype=np.uint16),
        pool=np.stack([quantise_gradient(gradient) for gradient in gradients]),
    )


def save_small(folder: Path) -> Path:
    from olaflab.training.replay.trace import save_trace

    save_trace(small_trace(), folder / "small.npz")
    return folder / "small.npz"
