"""Whether a head may have more actors awake: the daemon proves objectives for their updates."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from olafswitch.errors import BadInput, OlafError

_LOG = logging.getLogger("olafctl")

Admit = Callable[[float], bool]
"""Told the seconds between two updates of a head."""


def always_admit(seconds: float) -> bool:
    """Admit always: without a daemon, or without an objective."""
    return True


@dataclass(frozen=True)
class Proven:
    """Asks this user's daemon about a cluster of a deployment."""

    deployment: str
    cluster: str

    def __call__(self, seconds: float) -> bool:
        """Admit. A daemon that does not answer admits nothing."""
        from olafctl.daemon.api import client  # for those alone that ask

        try:
            with client.DaemonClient() as daemon:
                daemon.call(
                    "Prove", deployment=self.deployment, cluster=self.cluster, period=round(seconds * 1e9)
                )
        except BadInput:
            return False
        except OlafError as error:
            _LOG.warning("further actors of %s stay asleep: %s", self.cluster, error)
            return False
        return True
