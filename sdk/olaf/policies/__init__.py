"""What a parameter server does with an update: one small class for each way, each holding one model.

``POLICIES`` lists all by the name that a configuration gives; a policy of your own derives from ``Policy``.
``PolicyMaker`` is what a server takes instead of a name.
"""

from __future__ import annotations

from olaf.policies.asynchronous import Asynchronous
from olaf.policies.gated import RewardGated
from olaf.policies.periodic import Periodic
from olaf.policies.plain import Plain
from olaf.policies.policy import RATE, Outcome, Policy, PolicyMaker, State, Update
from olaf.policies.softsync import SoftSync
from olaf.policies.ssp import StaleSynchronous
from olaf.policies.stellaris import Stellaris
from olaf.policies.synchronous import Synchronous

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
