"""Destroy: no process, port, namespace or file of a deployment is left."""

from olafctl.control.deploy import stop
from olafctl.control.locks import ALL, locked
from olafctl.control.store import Store, clear


def destroy(store: Store) -> None:
    """End and remove everything in the store's folder, whatever state a crash left it in.

    Raises OlafError when something stays; the folder is kept then, so that it can be tried again.
    """
    with locked(store.folder, ALL):
        stop(store)
        clear(store.folder)
