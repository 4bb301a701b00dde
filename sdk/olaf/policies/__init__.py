"""Rules by which a parameter server applies updates, a class each; an object holds one model.

``POLICIES`` lists all by the name that a configuration gives; a policy of your own derives from ``Policy``.
``PolicyMaker`` is what a server takes instead of a name.
"""

from __future__ import annotations

from olaf.policies.policy import (
    RATE,
    Outcome,
    Plain,
    Policy,
    PolicyMaker,
    RewardGated,
    State,
    Synchronous,
    Update,
)
from olaf.policies.stepping import Asynchronous, Periodic, SoftSync, StaleSynchronous, Stellaris

__all__ = [
    "POLICIES",
    "RATE",
    "Asynchronous",
    "Outcome",
    "Periodic",
    "Plain",
    "Policy",
    "PolicyMaker",
    "RewardGated",
    "SoftSync",
    "StaleSynchronous",
    "State",
    "Stellaris",
    "Synchronous",
    "Update",
]

POLICIES: dict[str, type[Policy]] = {
    "olaf": RewardGated,
    "synchronous": Synchronous,
    "periodic": Periodic,
    "plain": Plain,
    "stellaris": Stellaris,
    "softsync": SoftSync,
    "ssp": StaleSynchronous,
    "async": Asynchronous,
}
"""Policies by the name in a configuration."""
