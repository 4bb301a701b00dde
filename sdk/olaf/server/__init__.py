"""The parameter server's end: models, their checkpoints, and the answer to every update.

``ParameterServer`` serves clusters, each with a model that one of ``olaf.policies`` moves; ``ServerCounters``
and ``Staleness`` are what it measures. ``aom`` is Age-of-Model while it happens, ``checkpoint`` keeps models
on disk.
"""

from __future__ import annotations

from olaf.server.served import ServerCounters
from olaf.server.server import DEFAULT, ParameterServer
from olaf.server.staleness import Staleness

__all__ = ["DEFAULT", "ParameterServer", "ServerCounters", "Staleness"]
