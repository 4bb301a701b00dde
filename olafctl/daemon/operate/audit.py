"""The audit log: one JSON line for each request, with its time, client and outcome; lines are only appended.

Each line carries the SHA-256 of the line before it, so that a changed, removed or inserted line is found. The
state folder keeps the hashes at both ends of the log, so that a truncated log is found too, and an emptied
file is not mistaken for a rotated one. A line is on the disk before the caller is answered; lines that wait
at the same time share one write.
"""

import errno
import fcntl
import hashlib
import json
import logging
import os
import queue
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict

from olafswitch import paths
from olafswitch.errors import OlafError, Problem

FIRST = "0" * 64
"""The hash that replaces that of a line before the first."""
_BATCH = 256
_PATIENCE = 2.0
"""The seconds within which another process that writes must have written."""
_LOOK_AGAIN = 0.002
_LONG_LINE = 4096
_log = logging.getLogger(__name__)
_Line = tuple[dict[str, Any], "Future[None]"]


@dataclass(frozen=True)
class _Anchor:
    """The state folder's record of a log; empty where there is none."""

    last: str = ""
    """The hash of the last written line."""
    first: str = ""
    """The hash that the file's first line carries."""
    inode: int = 0
    """The file's inode."""


def fields_of(request: Any) -> dict[str, Any]:
    """Return a call's request in the log's form, without a key."""
    fields: dict[str, Any] = MessageToDict(request, preserving_proto_field_name=True)
    return {**fields, "key": "given"} if "key" in fields else fields


def default_path() -> Path:
    """Return the path of this state folder's log."""
    return paths.state() / ".daemon" / "audit.log"


def anchor_of(path: Path) -> Path:
    """Return the file with the hashes at both ends of the log at ``path``."""
    name = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:16]
    return paths.state() / ".daemon" / f"audit-{name}.last"


class AuditLog:
    """The log in one file, which several processes of a state folder may write. Any thread may append."""

    def __init__(self, path: Path) -> None:
        """Go on at the end of the file, which is made if missing; a last line that a crash cut off stays, and
        the chain begins again after it. Raises OlafError."""
        self._path = path
        self._anchor = anchor_of(path)
        self._lines: queue.SimpleQueue[_Line | None] = queue.SimpleQueue()
        self._file: FileIO | None = None
        self._previous = self._first = FIRST
        self._size = 0
        """The size of the file after this process's last write."""
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._open_file()
        except OSError as error:
            raise self._unusable_error(error) from None
        self._thread = threading.Thread(target=self._run_writer, name="audit", daemon=True)
        self._thread.start()

    def append(self, who: str, what: str, outcome: str, **more: Any) -> "Future[None]":
        """Note one request; the future is done once it is on the disk, or fails with an OlafError."""
        written: Future[None] = Future()
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._lines.put(({"time": now, "who": who, "what": what, "outcome": outcome, **more}, written))
        return written

    def close(self) -> None:
        """Write the waiting lines, and end."""
        self._lines.put(None)
        self._thread.join()
        self._let_go()

    def _run_writer(self) -> None:
        ends = False
        while not ends:
            batch: list[_Line] = []
            line = self._lines.get()
            while line is not None:
                batch.append(line)
                if len(batch) == _BATCH or self._lines.empty():
                    break
                line = self._lines.get()
            ends = line is None
            if batch:
                self._write_batch(batch)

    def _write_batch(self, batch: list[_Line]) -> None:
        try:
            file = self._open_file()
            with _hold_lock(file):
                self._catch_up(file)
                text, previous = b"", self._previous
                for fields, _ in batch:
                    # A path in an outcome may hold bytes that are not UTF-8: they become JSON's own escapes.
                    readable = json.dumps({**fields, "previous": previous}, ensure_ascii=False)
                    line = readable.encode(errors="backslashreplace")
                    previous = _hash_line(line)
                    text += line + b"\n"
                _append_text(file, text)
                self._previous, self._size = previous, os.fstat(file.fileno()).st_size
                self._keep_anchor()
        except OSError as error:
            # Opened again, the chain goes on after the file's content then, whatever it is.
            self._let_go()
            for _, written in batch:
                written.set_exception(self._unusable_error(error))
            return
        for _, written in batch:
            written.set_result(None)

    def _open_file(self) -> FileIO:
        """Return the file by that name: a new file once it was rotated away, in which the chain goes on.

        Raises OSError; the next call begins with opening it.
        """
        if self._file is not None and _is_file(self._file, self._path):
            return self._file
        self._let_go()
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        made = True
        try:
            descriptor = os.open(self._path, flags | os.O_EXCL, 0o600)
        except FileExistsError:
            made, descriptor = False, os.open(self._path, flags, 0o600)
        file = FileIO(descriptor, "ab")
        try:
            with _hold_lock(file):
                self._begin_chain(file, made)
        except BaseException:
            file.close()
            raise
        self._file = file
        return file

    def _begin_chain(self, file: FileIO, made: bool) -> None:
        """Find where the chain goes on in the locked file, which is empty when it was ``made``."""
        last = _last_line(self._path)
        if last and not last.endswith(b"\n"):
            _append_text(file, b"\n")
        kept = _read_anchor(self._anchor)
        if last:
            self._previous = _hash_line(last)
            if kept.last and kept.last != self._previous and kept.last not in _hash_lines(self._path):
                # The chain must not hide missing lines.
                self._previous = kept.last
                _log.error("%s: lines at its end are missing", self._path)
        elif self._previous == FIRST and kept.last:
            self._previous = kept.last  # the file was rotated away
        if not made and os.fstat(file.fileno()).st_ino == kept.inode:
            self._first = kept.first
            if not last and kept.first != self._previous:
                _log.error("%s: it was emptied", self._path)
        else:
            self._first = _read_carried_hash(self._path) or self._previous
        self._size = os.fstat(file.fileno()).st_size

    def _catch_up(self, file: FileIO) -> None:
        """Go on after lines that another process of this state folder has written since.

        Lines of a program that did not keep the anchor break the chain there, which shows.
        """
        if os.fstat(file.fileno()).st_size == self._size:
            return
        kept = _read_anchor(self._anchor)
        if kept.last == _hash_line(_last_line(self._path)):
            self._previous, self._first = kept.last, kept.first

    def _keep_anchor(self) -> None:
        """Write down the last line's hash. Where that fails an older hash stays, which is in the log, too."""
        written = self._anchor.with_suffix(".new")
        assert self._file is not None
        with suppress(OSError):
            self._anchor.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            inode = os.fstat(self._file.fileno()).st_ino
            written.write_text(f"{self._previous} {self._first} {inode}")
            written.replace(self._anchor)

    def _let_go(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _unusable_error(self, error: OSError) -> OlafError:
        remedy = "make it writable, make room on its disk, or name another with --audit-log"
        return OlafError(Problem(f"cannot be written: {error.strerror}", str(self._path), remedy))


def read_audit_log(path: Path, previous: str = "") -> Iterator[dict[str, Any]]:
    """Yield the lines of a log, checked; ``previous`` is the hash that its first line must carry (empty:
    any).

    Raises OlafError at a line that does not follow from the line before it, and where the first or the last
    lines of a log are missing.
    """
    # This is read first: lines that a daemon adds meanwhile come after it.
    kept = _read_anchor(anchor_of(path))
    last = kept.last
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    fields = json.loads(line)
                    carried = fields["previous"]
                except (ValueError, KeyError, TypeError):
                    what = "is not a line of an audit log: damaged, or cut off by a crash"
                    raise OlafError(Problem(what, f"{path}:{number}")) from None
                if number == 1 and kept.first and carried != kept.first:
                    what = "lines at its beginning are missing: it was emptied, not rotated"
                    raise OlafError(Problem(what, f"{path}:{number}"))
                if previous and carried != previous:
                    what = "does not follow from the line before it: one was changed, removed or inserted"
                    raise OlafError(Problem(what, f"{path}:{number}"))
                previous = _hash_line(line)
                if last in (carried, previous):
                    last = ""
                yield fields
    except OSError as error:
        raise OlafError(Problem(f"cannot be read: {error.strerror}", str(path))) from None
    if last:
        what = "lines at its end are missing: the one that was written last is not there"
        raise OlafError(Problem(what, str(path)))


def tail_audit_log(path: Path, lines: int) -> list[dict[str, Any]]:
    """Return the last lines of a log, unchecked, the newest first; none where it cannot be read."""
    found: list[dict[str, Any]] = []
    with suppress(OSError), path.open("rb") as file:
        file.seek(max(file.seek(0, os.SEEK_END) - lines * _LONG_LINE, 0))
        for line in reversed(file.read().splitlines()):
            with suppress(ValueError, AttributeError):
                fields = json.loads(line)
                found.append(
                    {name: fields.get(name) for name in ("time", "who", "what", "outcome", "request")}
                )
            if len(found) == lines:
                break
    return found


def _hash_line(line: bytes) -> str:
    return hashlib.sha256(line.rstrip(b"\n")).hexdigest()


def _hash_lines(path: Path) -> Iterator[str]:
    with path.open("rb") as lines:
        for line in lines:
            yield _hash_line(line)


def _read_anchor(anchor: Path) -> _Anchor:
    """Return the anchor; an empty one when it does not exist, or a loss of power damaged it."""
    with suppress(OSError, ValueError):
        last, first, inode = anchor.read_text().split()
        if len(last) == len(first) == len(FIRST):
            return _Anchor(last, first, int(inode))
    return _Anchor()


def _read_carried_hash(path: Path) -> str:
    """Return the hash that a log's first line carries; empty where it is not a line of a log."""
    with suppress(OSError, ValueError, KeyError, TypeError), path.open("rb") as lines:
        return str(json.loads(lines.readline())["previous"])
    return ""


@contextmanager
def _hold_lock(file: FileIO) -> Iterator[None]:
    """Hold the file's lock: two chains in one file would look like a manipulated one.

    Raises OSError when another process holds it for long.
    """
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if time.monotonic() > end:
                raise OSError(errno.EBUSY, "another process holds its lock") from None
            time.sleep(_LOOK_AGAIN)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)


def _append_text(file: FileIO, text: bytes) -> None:
    """Put all of ``text`` on the disk, or nothing of it. Raises OSError."""
    size, rest = file.seek(0, os.SEEK_END), memoryview(text)
    try:
        while rest:  # a disk that fills up takes the part that still fits
            rest = rest[file.write(rest) :]
        os.fsync(file.fileno())
    except OSError:
        file.truncate(size)
        raise


def _last_line(path: Path) -> bytes:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        step = 4096
        while True:
            file.seek(max(size - step, 0))
            lines = file.read().splitlines(keepends=True)
            if len(lines) > 1 or step >= size:
                return lines[-1] if lines else b""
            step *= 4


def _is_file(file: FileIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
