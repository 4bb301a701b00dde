"""Remains of deployments whose state folder was deleted, wherever on this machine that was."""

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
    """Deployments that have a process or a namespace, apart from those in the state folder in use."""

    orphans: Sequence[Path]
    """State folders that are gone."""
    elsewhere: Sequence[Path]
    """State folders that are there: the deployments can be looked at and destroyed with OLAF_STATE."""
    unknown: Sequence[str]
    """Namespaces without a known deployment."""


def find_orphans() -> Left:
    """Look for them; an ordinary user finds processes only."""
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
    """End and remove what is left of the deployment whose state was in ``folder``. Raises OlafError."""
    new = list(_missing_folders(folder))
    try:
        destroy_deployment(Store(folder))
    finally:
        for each in new:  # made for the locks
            with suppress(OSError):
                each.rmdir()


def _missing_folders(folder: Path) -> Iterator[Path]:
    """Yield the folders that ``folder`` lies in and that are not there, innermost first."""
    yield from (each for each in folder.parents if not each.exists())
