"""Which kind of model a source is: a torch module, a file of safetensors, or arrays by name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Union, cast

import numpy as np
import numpy.typing as npt

from olaf.weights.tensors import Arrays, Layout, Model, OtherLayout, SafetensorsFile

Source = Union[str, "os.PathLike[str]", Mapping[str, npt.NDArray[Any]], Any]
"""A file of safetensors, arrays by name, or a torch module."""
_FLOATING = ("float64", "float32", "float16", "bfloat16")


def model_of(source: Source, dtype: str | None) -> Model:
    """The model that ``source`` is. ``dtype``: what its floating-point tensors travel as; None: as they are.

    Raises OtherLayout for anything that is not a model.
    """
    if dtype is not None and dtype not in _FLOATING:
        raise OtherLayout(f"dtype {dtype!r}; give float32, float16, bfloat16 or None")
    if isinstance(getattr(source, "layout", None), Layout):
        return cast(Model, source)
    if isinstance(source, (str, os.PathLike)):
        return SafetensorsFile(Path(source), dtype)
    if isinstance(source, Mapping) and all(isinstance(value, np.ndarray) for value in source.values()):
        return Arrays(source, dtype)
    if hasattr(source, "state_dict") or isinstance(source, Mapping):
        from olaf.weights.modules import Module

        return Module(source, dtype)
    raise OtherLayout(f"{type(source).__name__} is not a model; give a module, a file or arrays by name")
