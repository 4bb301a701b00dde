"""Asynchronous training without a server: every member holds the weights, the same bits (iSwitch §4).

``Replica`` is one member; ``Trained`` is what it trains, ``Descent`` the simplest of that.
"""

from __future__ import annotations

from olaf.replicas.replica import Replica
from olaf.replicas.trained import Descent, Trained

__all__ = ["Descent", "Replica", "Trained"]
