"""Olaf: train through a network that combines updates while they wait.

``attach`` connects any torch optimiser to a parameter server; ``Worker`` and ``ParameterServer`` are the
two ends for everything else, and a ``Replica`` needs no server at all. A ``Publisher`` sends each version of
a model to each ``Subscriber``, which plays it. ``policies`` has the rules by which a server moves weights,
``distributed`` the synchronous door. All else is one level below, in the room of its subject:
``olaf.transport``, ``olaf.worker``, ``olaf.server``, ``olaf.rounds``, ``olaf.replicas``, ``olaf.torch``,
``olaf.weights``, ``olaf.doctor``, ``olaf.experience``, ``olaf.elastic``; and errors in ``olaf.errors``.

A room is imported when it is first used; ``olaf.experience`` and ``olaf.elastic`` use nothing of the network.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from olaf import distributed, policies
    from olaf import weights as weights
    from olaf.replicas import Replica
    from olaf.server import ParameterServer
    from olaf.torch import attach
    from olaf.weights import Publisher, Subscriber
    from olaf.worker import Worker

__all__ = [
    "ParameterServer",
    "Publisher",
    "Replica",
    "Subscriber",
    "Worker",
    "attach",
    "distributed",
    "policies",
]

_ROOMS = ("weights",)
"""Rooms that the documents reach through the package alone."""
_HOMES = {
    "ParameterServer": "olaf.server",
    "Publisher": "olaf.weights",
    "Replica": "olaf.replicas",
    "Subscriber": "olaf.weights",
    "Worker": "olaf.worker",
    "attach": "olaf.torch",
}


if not TYPE_CHECKING:  # or a type checker would take any name for one of these

    def __getattr__(name: str) -> Any:
        """Public names, imported when they are first used; ``attach`` and ``distributed`` need torch."""
        if name in _HOMES:
            return getattr(import_module(_HOMES[name]), name)
        if name in __all__ or name in _ROOMS:
            return import_module(f"olaf.{name}")
        raise AttributeError(f"module 'olaf' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The names that a newcomer needs."""
    return __all__
