"""How fast a device takes and gives table entries over gRPC."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from olafctl.p4runtime.entities import TableEntry
from olafctl.p4runtime.session import Session


@dataclass(frozen=True)
class EntryRates:
    """Entries per second, each over the whole table and through gRPC."""

    entries: int
    batch: int
    inserted: float
    modified: float
    read: float
    deleted: float


def entries_per_second(session: Session, entries: Iterable[TableEntry], *, batch: int = 500) -> EntryRates:
    """Insert, modify (to each entry's own action), read and delete ``entries``, ``batch`` per request.

    The entries are of one table and not in it yet; none is left. Names are resolved and messages
    encoded within the measured time. Raises WriteFailed, as when the table is too small.
    """
    wanted = list(entries)
    batches = [wanted[start : start + batch] for start in range(0, len(wanted), batch)]
    inserted = _rate(len(wanted), batches, session.insert)
    try:
        modified = _rate(len(wanted), batches, session.modify)
        started = time.perf_counter()
        session.entries(wanted[0].table)
        read = len(wanted) / (time.perf_counter() - started)
    finally:
        deleted = _rate(len(wanted), batches, session.delete)
    return EntryRates(len(wanted), batch, inserted, modified, read, deleted)


def _rate(total: int, batches: Sequence[Sequence[TableEntry]], write: Callable[..., None]) -> float:
    started = time.perf_counter()
    for each in batches:
        write(*each)
    return total / (time.perf_counter() - started)
