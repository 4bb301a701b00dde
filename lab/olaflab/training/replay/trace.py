"""The trace format: a training's updates, small enough for git (described in docs/traces.md)."""

import json
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from olafswitch.errors import BadInput, OlafError, Problem

Indices = npt.NDArray[np.int64]

FORMAT = "olaf-trace"
VERSION = 1
MOST_KEPT = 1 << 16
"""Rows of the pool that an index can reach."""

_LEVELS = 127

_ARRAYS: dict[str, tuple[str, int]] = {
    "time": ("int64", 2),
    "reward": ("float32", 2),
    "norm": ("float32", 2),
    "steps": ("int32", 2),
    "accepted": ("bool", 2),
    "pool_index": ("uint16", 2),
    "pool": ("int8", 2),
}


@dataclass(frozen=True)
class Trace:
    """Updates of W workers, U each: row w, column u is worker w's update u."""

    header: dict[str, Any]
    """Provenance: environment, seed, workers, versions."""
    time: npt.NDArray[np.int64]
    """(W, U) ns since the training began at which each update was generated; rising along a row."""
    reward: npt.NDArray[np.float32]
    """(W, U) mean episode reward of each update."""
    norm: npt.NDArray[np.float32]
    """(W, U) Euclidean norm of each update's gradient."""
    steps: npt.NDArray[np.int32]
    """(W, U) environment steps behind each update."""
    accepted: npt.NDArray[np.bool_]
    """(W, U) whether the update moved the recorded training's global weights."""
    pool_index: npt.NDArray[np.uint16]
    """(W, U) the row of ``pool`` that stands for each update's direction."""
    pool: npt.NDArray[np.int8]
    """(P, n) recorded gradients, each scaled so that its largest magnitude is 127."""

    @property
    def workers(self) -> int:
        """W."""
        return len(self.time)

    @property
    def updates(self) -> int:
        """U, of each worker."""
        return int(self.time.shape[1])

    @property
    def values(self) -> int:
        """n, gradient values of one update."""
        return int(self.pool.shape[1])

    def gradients(
        self, workers: Indices, updates: Indices, values: int, first: Indices | None = None
    ) -> npt.NDArray[np.float32]:
        """``values`` gradient values of some updates, from ``first`` on (the start when None), shape
        (len, values).

        Each update has its recorded norm (over all n values) and the direction of its row in the pool; a
        gradient longer than n values repeats them.
        """
        rows = self.pool_index[workers, updates]
        lengths = np.sqrt(np.square(self.pool.astype(np.float64)).sum(axis=1))
        scale = self.norm[workers, updates] / lengths[rows]
        begins = np.zeros(len(rows), dtype=np.int64) if first is None else first
        columns = (begins[:, None] + np.arange(values)) % self.values
        return np.asarray(self.pool[rows[:, None], columns] * scale[:, None], dtype=np.float32)


def quantise(gradient: npt.NDArray[np.float32]) -> npt.NDArray[np.int8]:
    """A gradient's direction in 8 bits a value: scaled so that the largest magnitude is 127."""
    largest = float(np.abs(gradient).max())
    if largest == 0:
        return np.ones(gradient.shape, dtype=np.int8)  # no direction: its norm of 0 is enough
    return np.asarray(np.rint(gradient * (_LEVELS / largest)), dtype=np.int8)


def save(trace: Trace, path: Path) -> None:
    """Write a trace; ``path`` appears only when it is complete.

    Raises OlafError when it cannot be written.
    """
    header = {"format": FORMAT, "version": VERSION, **trace.header}
    text = np.frombuffer(json.dumps(header, indent=1).encode(), dtype=np.uint8)
    partial = path.with_name(f".{path.name}.partial")
    try:
        with partial.open("wb") as file:
            np.savez_compressed(file, header=text, **{name: getattr(trace, name) for name in _ARRAYS})
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise OlafError(Problem(f"cannot write the trace: {error.strerror}", str(path))) from error


def load(path: Path) -> Trace:
    """Read and check a trace.

    Raises BadInput when the file is missing, is not a trace, or holds what no recording could.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            header = json.loads(bytes(file["header"]).decode())
            arrays = {name: file[name] for name in _ARRAYS}
    except OSError as error:
        raise BadInput(Problem(error.strerror or "cannot be read", str(path), "name a trace file")) from error
    except (ValueError, TypeError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise BadInput(
            Problem("is not an Olaf trace", str(path), "`olaflab record` makes one; see docs/traces.md")
        ) from error
    _check(path, header, arrays)
    return Trace(header, **arrays)


def _check(path: Path, header: Any, arrays: dict[str, npt.NDArray[Any]]) -> None:
    where = str(path)
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise BadInput(Problem("is not an Olaf trace", where, "`olaflab record` makes one"))
    if header.get("version") != VERSION:
        raise BadInput(
            Problem(f"is of trace version {header.get('version')}, not {VERSION}", where, "record it again")
        )
    for name, (kind, dimensions) in _ARRAYS.items():
        if arrays[name].dtype != np.dtype(kind) or arrays[name].ndim != dimensions:
            raise BadInput(Problem(f"`{name}` is not a {dimensions}-dimensional {kind} array", where))
    shape = arrays["time"].shape
    for name in ("reward", "norm", "steps", "accepted", "pool_index"):
        if arrays[name].shape != shape:
            raise BadInput(Problem(f"`{name}` has shape {arrays[name].shape}, not {shape}", where))
    if 0 in shape or 0 in arrays["pool"].shape:
        raise BadInput(Problem("holds no updates", where))
    if arrays["time"].min() < 0 or np.any(np.diff(arrays["time"], axis=1) <= 0):
        raise BadInput(Problem("holds times that do not rise", where))
    if not (np.isfinite(arrays["reward"]).all() and np.isfinite(arrays["norm"]).all()):
        raise BadInput(Problem("holds rewards or norms that are not numbers", where))
    if arrays["pool_index"].max() >= len(arrays["pool"]) or not arrays["pool"].any(axis=1).all():
        raise BadInput(Problem("points to gradients it does not hold", where))
