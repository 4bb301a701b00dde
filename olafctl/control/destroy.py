"""Destroy: no process, port, namespace or file of a deployment is left."""

from olafctl.control.deploy import stop_deployment
from olafctl.control.locks import ALL, lock_deployment
from olafctl.control.store import Store, clear_folder


def destroy_deployment(store: Store) -> None:
    """End and remove everything in the store's folder, whatever state a crash left it in.

    Raises OlafError when something remains; the folder is kept then, so that it can be tried again.
    """
    with lock_deployment(store.folder, ALL):
        stop_deployment(store)
        clear_folder(store.folder)
