"""Backups of a deployment's membership: every row at one revision, in one file with a checksum."""

import hashlib
import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from olafctl.membership.ground import Ground
from olafctl.membership.interface import MembershipStore, Row
from olafctl.membership.membership import Membership
from olafctl.membership.merge import find_misfits
from olafswitch.errors import BadInput, OlafError, Problem

VERSION = 1
_NONCE = "nonce/"


def backup_content(store: MembershipStore, deployment: str) -> str:
    """Return a backup of the store's rows, which may be in use. Raises OlafError."""
    revision, rows = store.rows()
    found = {
        "version": VERSION,
        "deployment": deployment,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "revision": revision,
        "rows": rows,
    }
    return json.dumps({**found, "sha256": _digest_of(found)}, indent=1, sort_keys=True, allow_nan=False)


def write_backup(text: str, path: Path) -> int:
    """Write a backup to ``path``, which only this user may read, as it holds keys. Return the number of rows.

    Raises OlafError; a file that was there is then as before.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.touch(mode=0o600)
        with partial.open("w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise OlafError(Problem(f"cannot be written: {error.strerror}", str(path))) from None
    return len(json.loads(text)["rows"])


def read_backup(path: Path, ground: Ground) -> dict[str, Row]:
    """Return the rows of a backup.

    Raises BadInput for a file that is damaged, newer than this Olaf, of another deployment, or of a
    membership that breaks the rules on ``ground``.
    """
    rows = _read_document(path, ground.name)
    try:
        membership = Membership(ground.indices, rows)
        problems = tuple(find_misfits(membership, ground))
    except (OlafError, KeyError, TypeError, ValueError) as error:
        problems = (str(error),)
    if problems:
        what = f"its membership does not fit this deployment: {problems[0]}"
        raise BadInput(Problem(what, str(path), "deploy the testbed that it was made of"))
    return rows


def restore_backup(store: MembershipStore, rows: Mapping[str, Row]) -> int:
    """Make the store's rows those of a backup, as one change; return the number of rows that differed.

    Control messages that were used since the backup stay used. Raises OlafError.
    """
    rows = dict(rows)
    _, current = store.rows()
    for key, row in current.items():
        if key.startswith(_NONCE) and int(row["last"]) > int(rows.get(key, {"last": -1})["last"]):
            rows[key] = row
    change: dict[str, Row | None] = {key: None for key in current.keys() - rows.keys()}
    change.update({key: row for key, row in rows.items() if current.get(key) != row})
    if change:
        store.finish(change)
    store.abandon()
    return len(change)


def _read_document(path: Path, deployment: str) -> dict[str, Row]:
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise BadInput(Problem(f"cannot be read: {error.strerror}", str(path))) from None
    except ValueError:
        raise _damaged_backup(path) from None
    if not isinstance(content, dict) or not isinstance(content.get("version"), int):
        raise _damaged_backup(path)
    if content["version"] > VERSION:
        raise BadInput(Problem("was written by a newer Olaf", str(path), "use that one"))
    if content.pop("sha256", None) != _digest_of(content) or not isinstance(content.get("rows"), dict):
        raise _damaged_backup(path)
    if content.get("deployment") != deployment:
        what = f"is a backup of {content.get('deployment')!r}, not of {deployment!r}"
        raise BadInput(Problem(what, str(path), "name that deployment"))
    rows: dict[str, Row] = content["rows"]
    return rows


def _digest_of(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _damaged_backup(path: Path) -> BadInput:
    return BadInput(Problem("is damaged, or no backup", str(path), "use another backup"))
