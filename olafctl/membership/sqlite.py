"""The embedded store: one SQLite database in write-ahead mode.

Rows are on the disk when a step returns. An intent need not be: after a kill the kernel still has it, and
after a loss of power the devices are read and compared anyway. So a change waits for the disk once.
"""

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from olafctl.membership.interface import HERE, Compacted, Event, Row, Rows
from olafswitch.errors import OlafError, Problem

FILE = "membership.db"
_VERSION = 2
_REMEDY = (
    "without a daemon: olafctl restore, or with the testbed's membership olafctl deploy --force; "
    "both put this file aside"
)
_BROKEN = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_KEPT = 100_000
_LOGGED_PAGES = 32
"""The number of 4 KiB pages in the write-ahead log from which on they are moved into the database."""
_SCHEMA = f"""
begin;
create table if not exists row (key text primary key, value text not null) strict;
create table if not exists intent (only integer primary key check (only = 1), value text not null) strict;
create table if not exists event (
    number integer primary key, revision integer not null, key text not null, value text
) strict;
create index if not exists event_revision on event (revision);
create table if not exists revision (
    only integer primary key check (only = 1), value integer not null
) strict;
insert or ignore into revision values (1, 0);
pragma user_version = {_VERSION};
commit;
"""


def put_aside(folder: Path) -> None:
    """Rename a damaged database in ``folder``, with its log, so that another takes its place.

    Raises OlafError.
    """
    path = folder / FILE
    if not path.exists():
        return
    try:
        with closing(SqliteStore(folder, reads=True)) as store:
            store.check()
            store.rows()
    except Damaged:
        for suffix in ("", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                path.with_name(FILE + suffix).rename(path.with_name(f"{FILE}.damaged{suffix}"))


class Damaged(OlafError):
    """The database cannot be read any more."""


class SqliteStore:
    """The embedded :class:`olafctl.membership.interface.MembershipStore`. Any thread may call it."""

    def __init__(self, folder: Path, *, kept: int = _KEPT, reads: bool = False) -> None:
        """Open the database in ``folder``, which is made; ``kept`` events of history remain.

        A store that only ``reads`` writes nothing; the file must exist, and may be empty. Raises OlafError.
        """
        self._path = folder / FILE
        self._kept = kept
        self._lock = threading.Lock()
        if reads:
            with self._explain_error():
                self._database = self._read_transaction()
                if not self._read_version():
                    self._database.close()
                    self._database = sqlite3.connect(":memory:", check_same_thread=False)
                    self._database.executescript(_SCHEMA)
            return
        with self._explain_error():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._path.touch(mode=0o600, exist_ok=True)
            self._database = sqlite3.connect(self._path, timeout=10, check_same_thread=False)
            version = self._read_version()
            self._database.execute("pragma journal_mode = wal")
            # A small log: little is lost when the log alone is.
            self._database.execute(f"pragma wal_autocheckpoint = {_LOGGED_PAGES}")
            if version < _VERSION:
                self._database.executescript(_SCHEMA)
            self._database.execute("pragma wal_checkpoint(truncate)")

    @property
    def place(self) -> str:
        return HERE

    def rows(self) -> tuple[int, dict[str, Row]]:
        with self._run_step() as database:
            rows = database.execute("select key, value from row").fetchall()
            return self._read_revision(), {key: json.loads(value) for key, value in rows}

    def intent(self) -> Rows | None:
        with self._run_step() as database:
            found = database.execute("select value from intent").fetchone()
        intent: Rows | None = None if found is None else json.loads(found[0])
        return intent

    def begin(self, intent: Rows) -> None:
        text = json.dumps(dict(intent))
        with self._run_step(synchronous="normal") as database:
            database.execute("insert or replace into intent values (1, ?)", (text,))

    def finish(self, change: Rows) -> int:
        with self._run_step() as database:
            revision = self._read_revision() + 1
            for key, row in change.items():
                text = None if row is None else json.dumps(row)
                if text is None:
                    database.execute("delete from row where key = ?", (key,))
                else:
                    database.execute("insert or replace into row values (?, ?)", (key, text))
                database.execute(
                    "insert into event (revision, key, value) values (?, ?, ?)", (revision, key, text)
                )
            database.execute("update revision set value = ?", (revision,))
            database.execute("delete from intent")
            # Numbers have no gaps, so the newest superfluous one is found without counting.
            database.execute(
                "delete from event where revision <= "
                "(select revision from event where number = (select max(number) from event) - ?)",
                (self._kept,),
            )
            return revision

    def abandon(self) -> None:
        with self._run_step() as database:
            database.execute("delete from intent")

    def history(self, since: int, limit: int = 1000) -> list[Event]:
        with self._run_step() as database:
            newest = self._read_revision()
            oldest = database.execute("select min(revision) from event").fetchone()[0] or newest + 1
            if since + 1 < oldest or since > newest:
                what = f"the history has revisions {oldest - 1} … {newest}, not {since}"
                raise Compacted(Problem(what, remedy="read the status and watch from its revision"))
            found = database.execute(
                "select revision, key, value from event where revision > ? and revision <= coalesce("
                "(select revision from event where revision > ? order by number limit 1 offset ?), ?) "
                "order by number",
                (since, since, limit, newest),
            ).fetchall()
        return [Event(revision, key, value and json.loads(value)) for revision, key, value in found]

    def check(self) -> None:
        # A separate connection reads the disk, where this one has pages in memory, and delays no change.
        with self._explain_error(), closing(self._read_transaction()) as other:
            found = other.execute("pragma quick_check(1)").fetchone()[0]
        if found != "ok":
            raise Damaged(Problem(f"is damaged: {found.splitlines()[-1]}", str(self._path), _REMEDY))

    def close(self) -> None:
        with self._lock:
            self._database.close()

    def _read_transaction(self) -> sqlite3.Connection:
        uri = f"{self._path.resolve().as_uri()}?mode=ro"
        return sqlite3.connect(uri, timeout=10, check_same_thread=False, uri=True)

    def _read_version(self) -> int:
        version = int(self._database.execute("pragma user_version").fetchone()[0])
        if version > _VERSION:
            raise OlafError(Problem("was written by a newer Olaf", str(self._path), "use that one"))
        return version

    def _read_revision(self) -> int:
        return int(self._database.execute("select value from revision").fetchone()[0])

    @contextmanager
    def _run_step(self, synchronous: str = "full") -> Iterator[sqlite3.Connection]:
        with self._lock, self._explain_error():
            self._database.execute(f"pragma synchronous = {synchronous}")
            with self._database:
                yield self._database

    @contextmanager
    def _explain_error(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError, ValueError) as error:
            # The low byte of SQLite's code is its kind; a row that is not JSON has none.
            kind = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_IOERR) & 0xFF
            if kind in _BROKEN or isinstance(error, ValueError):
                raise Damaged(Problem(f"is damaged: {error}", str(self._path), _REMEDY)) from error
            remedy = "make it writable, make room on its disk, or restore a backup"
            raise OlafError(Problem(f"cannot be used: {error}", str(self._path), remedy)) from error
