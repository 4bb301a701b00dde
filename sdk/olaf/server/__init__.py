"""The parameter server's end: models, their checkpoints, and the answer to every update.

``ParameterServer`` serves clusters, each with a model that one of ``olaf.policies`` moves; ``ServerCounters``
and ``Staleness`` are what it measures. ``model`` holds a model with its age and staleness, ``checkpoint``
keeps models on disk.
"""

from __future__ import annotations

from olaf.server.model import ServerCounters, Staleness
from olaf.server.server import DEFAULT, ParameterServer

__all__ = ["DEFAULT", "ParameterServer", "ServerCounters", "Staleness"]
