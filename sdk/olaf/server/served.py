"""What a parameter server knows of one cluster, and counts of its frames."""

from __future__ import annotations

from dataclasses import dataclass, field

from olaf.server.model import Model
from olaf.server.staleness import Staleness
from olaf.transport.port import Address
from olaf.transport.segments import Segments, Vector


@dataclass
class ServerCounters:
    """Counts of one cluster, in frames unless noted otherwise."""

    received: int = 0
    updates: int = 0
    """Worker updates in them: the sum of counts."""
    applied: int = 0
    collected: int = 0
    refused: int = 0
    """Frames that the policy refused; answered like all others."""
    duplicates: int = 0
    """Answered, not applied a second time."""
    unusable: int = 0
    """Frames of another length or division, or not finite."""
    before_weights: int = 0
    """Updates received before there were weights."""
    other_epoch: int = 0
    clock_ahead: int = 0
    """Generated in the future by the sender's clock; age 0."""
    staleness: Staleness = field(default_factory=Staleness)
    """Staleness of the worker updates that the policy received."""


@dataclass
class Served:
    """A cluster without a model has no weights yet."""

    epoch: int = 0
    model: Model | None = None
    counters: ServerCounters = field(default_factory=ServerCounters)
    candidates: dict[Address, tuple[Segments, dict[int, Vector]]] = field(default_factory=dict)
    """Initial weights by worker, until one's are whole (OLAF §2.1)."""
    saved: list[int] = field(default_factory=list)
    """Versions in the last checkpoint."""
