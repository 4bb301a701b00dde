"""What clients of several daemons do while these are disturbed."""

from collections.abc import Callable, Iterable
from contextlib import suppress

from olafctl.daemon.api.client import Client
from olafctl.daemon.controller import Unavailable
from olafctl.daemon.leadership import NotLeader
from olaflab.daemon.history import Outcome
from olafswitch.errors import BadInput, OlafError


def answered(change: Callable[[], object]) -> Outcome | None:
    """The answer to a change; None where nothing was changed."""
    try:
        change()
    except BadInput:
        return Outcome.REFUSED
    except (Unavailable, NotLeader):
        return None
    except OlafError:
        return Outcome.UNKNOWN
    return Outcome.DONE


def created(clients: Iterable[Client], name: str, mode: str = "OLAF") -> bool:
    """Whether one of them has created the cluster."""
    for client in clients:
        with suppress(OlafError):
            with suppress(BadInput):  # it exists
                client.call("CreateCluster", name=name, mode=mode)
            return True
    return False
