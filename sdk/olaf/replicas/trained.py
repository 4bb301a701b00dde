"""What a replica trains: weights, what steps them, and what both are, in words that members compare."""

from __future__ import annotations

import hashlib
from typing import Protocol

import numpy as np

from olaf.transport.segments import Vector, payload


class Trained(Protocol):
    """A model and its optimiser. The same steps from the same state must give the same bits everywhere."""

    @property
    def manifest(self) -> list[str]:
        """Lines that describe what is trained and how; members with other lines are refused."""

    @property
    def weights(self) -> Vector:
        """(n,), a copy."""

    def step(self, mean: Vector) -> None:
        """One step along the mean gradient (n,); zeros where a block was left out."""

    def save(self) -> bytes:
        """Weights and the optimiser's state."""

    def load(self, state: bytes) -> None:
        """As another member saved them; raises ValueError for bytes that are not a state."""


class Descent:
    """Plain gradient descent, w ← w - γ·g, as in iSwitch's algorithm 1."""

    def __init__(self, weights: Vector, rate: float) -> None:
        """``weights`` (n,) are the first ones, ``rate`` is γ."""
        self._weights = np.array(weights, np.float32)
        self._rate = np.float32(rate)

    @property
    def manifest(self) -> list[str]:
        """Length and γ."""
        return [f"{len(self._weights)} values", f"descent with a rate of {self._rate:g}"]

    @property
    def weights(self) -> Vector:
        """(n,), a copy."""
        return self._weights.copy()

    def step(self, mean: Vector) -> None:
        """In place."""
        self._weights -= self._rate * mean

    def save(self) -> bytes:
        """The weights are all there is."""
        return bytes(payload(self._weights))

    def load(self, state: bytes) -> None:
        """Raises ValueError for another length."""
        weights = np.frombuffer(state, "<f4")
        if len(weights) != len(self._weights):
            raise ValueError(f"{len(weights)} values instead of {len(self._weights)}")
        self._weights = weights.astype(np.float32)


def digest(manifest: list[str]) -> int:
    """64 bits of what is trained and how."""
    return int.from_bytes(hashlib.sha256("\n".join(manifest).encode()).digest()[:8], "big")


def difference(theirs: list[str], own: list[str]) -> str:
    """The first thing that differs."""
    for there, here in zip(theirs, own):
        if there != here:
            return f"{there!r} there, {here!r} here"
    longer, where = (theirs, "there") if len(theirs) > len(own) else (own, "here")
    return f"{longer[min(len(theirs), len(own))]!r} only {where}"
