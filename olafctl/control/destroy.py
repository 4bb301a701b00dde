"""Destroy: no process, port, namespace or file of a deployment is left."""

import shutil

from olafctl.control.deploy import locked, stop
from olafctl.control.store import Store
from olafctl.errors import OlafError, Problem


def destroy(store: Store) -> None:
    """End and remove everything in the store's folder, whatever state a crash left it in.

    Raises OlafError when something stays; the folder is kept then, so that it can be tried again.
    """
    with locked(store.folder):
        stop(store)
        try:
            shutil.rmtree(store.folder)
        except OSError as error:
            raise OlafError(
                Problem(f"cannot be removed: {error.strerror}", str(store.folder), "remove it by hand")
            ) from None
