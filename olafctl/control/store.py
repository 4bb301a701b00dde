"""The requested testbed and the testbed last known to run, stored in the deployment's folder (SQLite).

The row ``wanted`` is written before anything is touched and the row ``running`` after everything was
verified, so the next deploy recognises an interrupted change and finishes or undoes it.
"""

import errno
import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from olafctl.control.locks import ALL, CHANGE
from olafctl.machines import everywhere
from olafctl.network import interfaces
from olafctl.targets import processes, testbeds
from olafctl.testbed.model import Testbed
from olafswitch import paths
from olafswitch.errors import BadInput, OlafError, Problem

FILE = "deployment.db"
OTHERS = "the store of the olafctl that deployed it"
AGENT = "OLAF_AGENT"
"""The environment variable with the HOST:PORT,… of agents that know testbeds deployed from elsewhere."""
_VERSION = 4
_SCHEMA = f"""
begin;
create table if not exists deployment (
    role text primary key,
    testbed text not null,
    source text not null,
    target text not null,
    build text not null
) strict;
create table if not exists membership (
    only integer primary key check (only = 1), place text not null
) strict;
pragma user_version = {_VERSION};
commit;
"""
_DAMAGED = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR)


class RecordRole(StrEnum):
    """The role of a row's testbed in the deployment."""

    WANTED = "wanted"
    RUNNING = "running"


@dataclass(frozen=True)
class Record:
    """A testbed as it was deployed: its YAML text, the file it came from, its target and its build's key."""

    testbed: str
    source: Path
    target: str
    build: str


class Store:
    """One deployment's store; ``folder`` need not exist for reading."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def exists(self) -> bool:
        """Return whether anything was ever stored here."""
        return (self.folder / FILE).is_file()

    def record(self, role: RecordRole) -> Record | None:
        """Return the testbed that is wanted, or last known to run."""
        if not self.exists():
            return None
        with self._open_database() as database:
            row = database.execute(
                "select testbed, source, target, build from deployment where role = ?", (role,)
            ).fetchone()
        return None if row is None else Record(row[0], Path(row[1]), row[2], row[3])

    def put(self, role: RecordRole, record: Record) -> None:
        """Store a testbed in one role."""
        with self._open_database() as database:
            database.execute(
                "insert or replace into deployment values (?, ?, ?, ?, ?)",
                (role, record.testbed, str(record.source), record.target, record.build),
            )

    def confirm(self) -> None:
        """Note in one step that the wanted testbed runs now."""
        with self._open_database() as database:
            database.execute(
                "insert or replace into deployment select ?, testbed, source, target, build "
                "from deployment where role = ?",
                (RecordRole.RUNNING, RecordRole.WANTED),
            )
            database.execute("delete from deployment where role = ?", (RecordRole.WANTED,))

    def forget(self, role: RecordRole) -> None:
        """Remove the testbed of one role."""
        with self._open_database() as database:
            database.execute("delete from deployment where role = ?", (role,))

    def discard(self) -> None:
        """Remove everything stored."""
        with suppress(OSError):
            (self.folder / FILE).unlink()

    def membership(self) -> str:
        """Return where the membership is kept: ``here``, or the etcd's name; empty before it began."""
        if not self.exists():
            return ""
        with self._open_database() as database:
            row = database.execute("select place from membership").fetchone()
        return row[0] if row else ""

    def put_membership(self, place: str) -> None:
        """Note where the membership is kept from now on."""
        with self._open_database() as database:
            database.execute("insert or replace into membership values (1, ?)", (place,))

    @contextmanager
    def _open_database(self) -> Iterator[sqlite3.Connection]:
        path = self.folder / FILE
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with closing(sqlite3.connect(path, timeout=10)) as database:
                version = database.execute("pragma user_version").fetchone()[0]
                if version > _VERSION:
                    raise OlafError(Problem("was written by a newer Olaf", str(path), "use that one"))
                if version < _VERSION:  # only if needed, so that reading needs no room on a full disk
                    database.executescript(_SCHEMA)
                with database:
                    yield database
        except (sqlite3.Error, OSError) as error:
            raise OlafError(Problem(f"cannot be used: {error}", str(path), remedy_for(error))) from error


def remedy_for(error: sqlite3.Error | OSError) -> str:
    """Return the remedy for a deployment's folder that cannot be used."""
    if isinstance(error, OSError):
        full, damaged = error.errno in (errno.ENOSPC, errno.EDQUOT), False
    else:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        full, damaged = code == sqlite3.SQLITE_FULL, code in _DAMAGED
    if full:
        return "make room on its disk, or set OLAF_STATE"
    return "`olafctl destroy` removes it" if damaged else "make it writable, or set OLAF_STATE"


def folder_of(name: str) -> Path:
    """Return the folder of the deployment ``name``."""
    return paths.state() / name


def all_names() -> tuple[str, ...]:
    """Return the names of every deployment that has a folder here, running or not, whole or not, and of those
    whose folder was deleted under them."""
    home = paths.state()
    found = {folder.name for folder in home.iterdir() if is_ours(folder)} if home.is_dir() else set()
    found.update(folder.name for folder in processes.find_states() if folder.parent == home.resolve())
    found.update(interfaces.find_owners(home))
    return tuple(sorted(found))


def is_ours(folder: Path) -> bool:
    """Return whether a deployment is, or was begun, in ``folder``, which may belong to other programs."""
    return any((folder / mark).is_file() for mark in (CHANGE, FILE))


def claim_folder(folder: Path) -> None:
    """Raise BadInput when ``folder`` cannot be made, or holds something that is not a deployment."""
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        what = f"the state folder cannot be made: {error.strerror}"
        raise BadInput(Problem(what, str(folder.parent), "set OLAF_STATE to a folder of your own")) from None
    if folder.is_dir() and any(folder.iterdir()) and not is_ours(folder):
        remedy = "move it away, give the testbed another name, or set OLAF_STATE"
        raise BadInput(Problem("exists and is not a deployment", str(folder), remedy))


def clear_folder(folder: Path) -> None:
    """Remove everything in the locked ``folder`` but the locks, which mark it as ours until the end.

    Raises OlafError.
    """
    try:
        for entry in folder.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            elif entry.name not in ALL:
                entry.unlink()
    except OSError as error:
        what = f"cannot be removed: {error.strerror}"
        raise OlafError(Problem(what, str(error.filename or folder), "remove it by hand")) from None


def pick_store(name: str | None) -> Store:
    """Return the store of the deployment ``name`` (or of the testbed in that YAML file); by default the only
    one.

    A deployment from elsewhere is noted as it runs now: the first of ``$OLAF_AGENT`` that answers knows it.
    Raises BadInput when it does not exist, or there are several and no name.
    """
    names = all_names()
    shown = ", ".join(names) or "none"
    agents = os.environ.get(AGENT)
    if (
        told := everywhere.find_told_testbed(agents.split(","), name)
        if agents and _may_be_others(name, names)
        else None
    ):
        return _of_others(testbeds.load_testbed(folder_of(told[0]) / f"{told[0]}.yaml", told[1]))
    if name is not None:
        if name not in names and name.endswith((".yaml", ".yml")):
            testbed = testbeds.load_testbed(testbeds.locate_testbed(name))
            if testbed.name not in names and everywhere.find_alive(testbed):
                return _of_others(testbed)
            name = testbed.name
        if name not in names:
            raise BadInput(Problem(f"deployment {name!r} does not exist", remedy=f"deployed: {shown}"))
        return Store(folder_of(name))
    if not names:
        raise BadInput(Problem("nothing is deployed", remedy="olafctl deploy TESTBED"))
    if len(names) > 1:
        raise BadInput(Problem("several deployments", remedy=f"name one of {shown}"))
    return Store(folder_of(names[0]))


def adopt_testbed(testbed: Testbed) -> Store:
    """Note ``testbed`` as deployed, with its parts that run on its machines. Raises OlafError."""
    store = Store(folder_of(testbed.name))
    claim_folder(store.folder)
    store.put(RecordRole.RUNNING, Record(testbed.text, testbed.source.resolve(), testbed.target, ""))
    store.put_membership("")
    return store


def _may_be_others(name: str | None, names: Sequence[str]) -> bool:
    """Return whether it may come from elsewhere: this olafctl, which knows ``names``, lacks it."""
    if name is None:
        return not names
    store = Store(folder_of(name))
    return not name.endswith((".yaml", ".yml")) and (not store.exists() or is_others(store))


def is_others(store: Store) -> bool:
    """Return whether a store is a note of a deployment from elsewhere; one that cannot be read is not."""
    with suppress(OlafError):
        return store.membership() == OTHERS
    return False


def _of_others(testbed: Testbed) -> Store:
    store = adopt_testbed(testbed)
    store.put_membership(OTHERS)
    return store
