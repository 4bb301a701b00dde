"""Weights down: every version of a model to every player, exact, whole and checked, as what changed.

A :class:`Publisher` sends each version once, the engine copies it to all players, and a :class:`Subscriber`
installs it where its player declares it safe.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from olaf.weights.publisher import Publisher
from olaf.weights.subscriber import Subscriber, TooStale, adopt_into
from olaf.weights.tensors import OtherLayout

__all__ = ["OtherLayout", "Publisher", "Subscriber", "TooStale", "adopt_into"]


def __getattr__(name: str) -> Any:
    """Import the module for a library, which must be installed, when it is first used."""
    if name in ("sglang", "trl", "vllm"):
        return import_module(f"olaf.weights.{name}")
    raise AttributeError(f"module 'olaf.weights' has no attribute {name!r}")
