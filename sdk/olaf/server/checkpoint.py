"""Models on disk. A checkpoint replaces the last one in one step, so a kill at any time leaves one whole.

Versions given out after a checkpoint must not be given out a second time for other weights. So a server
that continues begins ``RESERVED`` versions further, and writes a checkpoint before it uses these up.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from olaf.errors import BadCheckpoint
from olaf.policies import PolicyMaker
from olaf.server.model import Model
from olaf.transport.segments import Segments

_FORMAT = 2


def save(path: Path, models: Mapping[str, Model], epochs: Mapping[str, int]) -> None:
    """Write all models; on disk when this returns. Raises OSError."""
    described, arrays = [], {}
    for number, (cluster, model) in enumerate(models.items()):
        described.append(
            {
                "cluster": cluster,
                "epoch": epochs.get(cluster, 0),
                "values": model.segments.values,
                "segments": model.segments.count,
                "policy": type(model.policy).__name__,
                "versions": model.versions,
            }
        )
        arrays[f"{number}/weights"] = model.policy.weights
        for name, array in model.policy.state().items():
            arrays[f"{number}/state/{name}"] = array
    head = json.dumps({"format": _FORMAT, "models": described})
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            np.savez(file, head=np.frombuffer(head.encode(), np.uint8), **arrays)  # type: ignore[arg-type]  # no array is called allow_pickle
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def load(path: Path, make: PolicyMaker) -> dict[str, tuple[Model, int]]:
    """Load each cluster's model, its versions moved on, and the epoch it was trained in.

    Raises BadCheckpoint when the file is damaged, or written by another policy; OSError when it cannot be
    read.
    """
    try:
        with np.load(path) as file:
            arrays = {name: file[name] for name in file.files}
        head = json.loads(arrays.pop("head").tobytes())
        if head["format"] != _FORMAT:
            raise BadCheckpoint(f"{path}: format {head['format']}, this version reads {_FORMAT}")
        return {
            described["cluster"]: (_read_model(path, number, described, arrays, make), described["epoch"])
            for number, described in enumerate(head["models"])
        }
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile) as damage:
        raise BadCheckpoint(
            f"{path}: not a whole checkpoint ({damage}); move it away to start over"
        ) from None


def _read_model(
    path: Path, number: int, described: Mapping[str, Any], arrays: Mapping[str, Any], make: PolicyMaker
) -> Model:
    segments = Segments(described["values"], described["segments"])
    model = Model(segments, arrays[f"{number}/weights"], make)
    name = type(model.policy).__name__
    if name != described["policy"]:
        raise BadCheckpoint(
            f"{path}: written by policy {described['policy']}, not {name}: go on with that, or move it away"
        )
    model.resume(described["versions"])
    prefix = f"{number}/state/"
    model.policy.restore(
        {key[len(prefix) :]: array for key, array in arrays.items() if key.startswith(prefix)}
    )
    return model
