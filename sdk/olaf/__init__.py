"""Olaf: train through a network that combines updates while they wait.

``attach`` connects any torch optimiser to a parameter server; ``Worker`` and ``ParameterServer`` are the
two ends for everything else, and a ``Replica`` needs no server at all. ``olaf.distributed`` has the
synchronous door, ``olaf.rllib`` RLlib's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from olaf.errors import OlafError
from olaf.replicas.replica import Replica
from olaf.server import ParameterServer
from olaf.worker import Block, Worker

if TYPE_CHECKING:
    from olaf.optimizer import Link, attach

__all__ = ["Block", "Link", "OlafError", "ParameterServer", "Replica", "Worker", "attach"]


def __getattr__(name: str) -> Any:
    """Names that need torch, which is imported when the first of them is used."""
    if name in ("Link", "attach"):
        from olaf import optimizer

        return getattr(optimizer, name)
    raise AttributeError(f"module 'olaf' has no attribute {name!r}")
