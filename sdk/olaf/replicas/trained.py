"""Models that a replica trains: weights, their optimiser, and a manifest that members compare."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from olaf.replicas.commits import Commits
from olaf.replicas.group import MemberLine
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
        """Step along the mean gradient (n,), which is zero where a block was left out."""

    def save(self) -> bytes:
        """Return the weights and the optimiser's state as bytes."""

    def load(self, state: bytes) -> None:
        """Load a state that another member saved. Raises ValueError for bytes that are no state."""


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
        """Move the weights in place."""
        self._weights -= self._rate * mean

    def save(self) -> bytes:
        """Return the weights, which are the whole state."""
        return bytes(payload(self._weights))

    def load(self, state: bytes) -> None:
        """Load weights. Raises ValueError for another length."""
        weights = np.frombuffer(state, "<f4")
        if len(weights) != len(self._weights):
            raise ValueError(f"{len(weights)} values instead of {len(self._weights)}")
        self._weights = weights.astype(np.float32)


def digest(manifest: list[str]) -> int:
    """Return a hash of 64 bits of what is trained and how."""
    return int.from_bytes(hashlib.sha256("\n".join(manifest).encode()).digest()[:8], "big")


def difference(theirs: list[str], own: list[str]) -> str:
    """Describe the first difference between two manifests."""
    for there, here in zip(theirs, own):
        if there != here:
            return f"{there!r} there, {here!r} here"
    longer, where = (theirs, "there") if len(theirs) > len(own) else (own, "here")
    return f"{longer[min(len(theirs), len(own))]!r} only {where}"


_WINDOW = 64
"""Segments under way at a time."""
PAUSE = 0.05
"""Seconds from one zero to the next, in which the result of the first must have come."""


class Opening:
    """One member's, of all segments."""

    def __init__(self, commits: Commits, segments: int, now: float) -> None:
        self._commits = commits
        self._bases: list[int | None] = [None] * segments
        self._due = now

    def tick(self, now: float) -> float:
        """Send what is due; returns when to look again."""
        if now >= self._due:
            for segment in self.missing()[:_WINDOW]:
                self._commits.fill_segment(segment)
            self._due = now + PAUSE
        return self._due

    def came(self, segment: int, seq: int) -> list[int] | None:
        """Note a result of the engine; return all bases with the last one."""
        if self._bases[segment] is None:
            self._bases[segment] = seq
            self._commits.note_answer(segment)
        found = [base for base in self._bases if base is not None]
        return found if len(found) == len(self._bases) else None

    def missing(self) -> list[int]:
        """List the segments without any result."""
        return [segment for segment, base in enumerate(self._bases) if base is None]


@dataclass
class Snapshot:
    """A whole training at one version."""

    line: MemberLine
    version: int
    chain: int
    bases: list[int]
    state: bytes

    def pack(self) -> bytes:
        """Return a line of JSON, the bases, and the state."""
        era, leader, identity = self.line
        head = {"version": self.version, "chain": self.chain, "line": [era, *leader, identity]}
        head["bases"] = len(self.bases)
        return json.dumps(head).encode() + b"\n" + np.array(self.bases, ">u4").tobytes() + self.state

    @classmethod
    def unpack(cls, data: bytes) -> Snapshot:
        """Read a snapshot. Raises ValueError for bytes that are none."""
        end = data.index(b"\n")
        try:
            head = json.loads(data[:end])
            era, host, number, identity = head["line"]
            line = MemberLine(int(era), (str(host), int(number)), int(identity))
            version, chain, state = int(head["version"]), int(head["chain"]), end + 1 + 4 * int(head["bases"])
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a snapshot: {error}") from error
        bases = np.frombuffer(data[end + 1 : state], ">u4").tolist()
        return cls(line, version, chain, bases, data[state:])
