"""A note of the daemon that keeps a deployment, in the deployment's folder, for the commands that act
once."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from olafctl.control.locks import unless_changing
from olafctl.control.status import Kept
from olafctl.control.store import Store, is_others
from olafctl.daemon.api.client import ADDRESS, Client
from olafctl.daemon.api.convert import clusters_of
from olafctl.daemon.controller import Unavailable
from olafswitch.errors import BadInput, OlafError, Problem

_NOTE = "daemon"


@contextmanager
def noted(folder: Path, address: str) -> Iterator[None]:
    """Let others find the daemon at ``address`` meanwhile. Raises OlafError."""
    note = folder / _NOTE
    try:
        note.touch(mode=0o600)
        note.write_text(address)
    except OSError as error:
        raise OlafError(Problem(f"cannot be written: {error.strerror}", str(note))) from error
    try:
        yield
    finally:
        note.unlink(missing_ok=True)


@contextmanager
def keeper(folder: Path) -> Iterator[Client | None]:
    """A client of the daemon that keeps the deployment in ``folder``; None when no daemon does.

    Raises OlafError when one does and does not answer.
    """
    try:
        address = (folder / _NOTE).read_text()
    except OSError:
        address = os.environ.get(ADDRESS, "")
        if not address or not is_others(Store(folder)):
            yield None
            return
    with Client(address) as client:
        yield client if _keeps(client, folder) else None


def is_elsewhere(folder: Path) -> bool:
    """Return whether the deployment in ``folder`` is only a note of one that another machine deployed."""
    return is_others(Store(folder))


def _keeps(client: Client, folder: Path) -> bool:
    try:
        client.call("GetStatus", deployment=folder.name, summary=True)
    except BadInput:
        return False  # another daemon is there now
    except Unavailable:
        return True
    except OlafError:
        if is_others(Store(folder)):
            raise
        # A daemon that was killed leaves its note; one that lives holds the deployment's lock.
        with unless_changing(folder) as quiet:
            if quiet:
                return False
        raise
    return True


def kept_by(client: Client, deployment: str) -> Kept:
    """Return the membership that a daemon keeps. Raises OlafError."""
    [status] = client.call("GetStatus", deployment=deployment).deployments
    # Who leads has read it; what keeps it from being ready is at the devices.
    return Kept(client.address, clusters_of(status), "" if status.term else status.problem)
