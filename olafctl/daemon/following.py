"""Following a deployment's membership from another process, by the daemon's API."""

import threading
from collections.abc import Callable

from olafctl.daemon.api.client import Client
from olafctl.daemon.api.convert import clusters_of
from olafctl.membership.model import Cluster
from olafswitch.errors import OlafError

_AGAIN = 1.0

Report = Callable[[tuple[Cluster, ...]], None]


def follow(address: str, deployment: str, report: Report) -> None:
    """Have a thread ``report`` the clusters, with their members, of a daemon at ``address``.

    Now and after every change, of several at once where they come fast. Without an answer it asks again.
    """
    threading.Thread(target=_run, args=(address, deployment, report), name="membership", daemon=True).start()


def _run(address: str, deployment: str, report: Report) -> None:
    pause = threading.Event()
    while True:
        try:
            with Client(address) as client:
                while True:
                    [status] = client.call("GetStatus", deployment=deployment).deployments
                    report(clusters_of(status))
                    next(client.watch(deployment, status.resume_token), None)
        except OlafError:
            pause.wait(_AGAIN)
