"""Remains of deployments whose state folder was deleted, wherever on this machine it was."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from olafctl.control.destroy import destroy_deployment
from olafctl.control.store import Store, is_ours
from olafctl.network import interfaces
from olafctl.targets import processes
from olafswitch import paths


@dataclass(frozen=True)
class Left:
    """The deployments that have a process or a namespace, apart from those in the state folder in use."""

    orphans: Sequence[Path]
    """The state folders that are gone."""
    elsewhere: Sequence[Path]
    """The existing state folders: their deployments can be inspected and destroyed with OLAF_STATE."""
    unknown: Sequence[str]
    """The namespaces without a known deployment."""


def find_orphans() -> Left:
    """Look for such deployments; an ordinary user finds processes only."""
    home = paths.state().resolve()
    namespaces = interfaces.find_states()
    folders = processes.find_states() | {folder for folder in namespaces.values() if folder is not None}
    folders |= {folder for folder in home.glob("*") if is_ours(folder)}
    known = {interfaces.namespace_of(folder) for folder in folders}
    return Left(
        orphans=sorted(folder for folder in folders if not folder.exists()),
        elsewhere=sorted(folder for folder in folders if folder.exists() and folder.parent != home),
        unknown=[name for name, folder in namespaces.items() if folder is None and name not in known],
    )


def remove_orphan(folder: Path) -> None:
    """End and remove the remains of the deployment whose state was in ``folder``. Raises OlafError."""
    new = list(_missing_folders(folder))
    try:
        destroy_deployment(Store(folder))
    finally:
        for each in new:  # they were made for the locks
            with suppress(OSError):
                each.rmdir()


def _missing_folders(folder: Path) -> Iterator[Path]:
    """Yield the missing folders that ``folder`` lies in, innermost first."""
    yield from (each for each in folder.parents if not each.exists())
