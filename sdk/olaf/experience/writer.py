"""The writer of a block of the ring."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import numpy.typing as npt

from olaf.experience.layout import CLOSING, CUT, GOES_ON, STAMP, STAMP_BITS, STAMPS, TERMINATED, Rows
from olaf.experience.memory import order_stores
from olaf.experience.ring import REFUSE, Ring
from olaf.guards import OwnProcess

Array = npt.NDArray[Any]
Arrays = dict[str, Array]


class Writer:
    """The one writer of an actor's block. A process that goes on for one that died claims the block again."""

    def __init__(self, ring: Ring, actor: int) -> None:
        """Claim a block. Raises Taken while another writer has it, ValueError if it does not exist."""
        if not 0 <= actor < ring.actors:
            raise ValueError(f"the ring has no actor {actor}, only {ring.actors}: grow it")
        ring.locks.claim(1 + actor, f"actor {actor}")
        self._release = weakref.finalize(self, ring.locks.release, 1 + actor)
        self._release.atexit = False  # the kernel does it then
        self._own = OwnProcess("a writer", "make one in this process, with its own actor")
        ring.populate(actor)
        self.actor = actor
        self._ring = ring
        self._counts = ring.written[actor]
        self._counts[:] = self._counts.min()  # what one that died wrote of some keys is written again
        self._keys = {key: ring.column(key, actor) for key in ring.layout.keys}
        self._stamps = {key: ring.column(key, actor) for key in STAMPS.names or ()}
        self._counter = {key: number for number, key in enumerate(ring.layout.counters)}

    def close(self) -> None:
        """Give the block back."""
        self._release()

    def position(self, key: str = STAMP) -> int:
        """Count the written rows of a key."""
        return int(self._counts[self._counter[key]])

    @property
    def unfinished(self) -> bool:
        """Whether an episode has ended and lacks its closing row: :meth:`finish` comes next.

        So it is where a writer was killed in between. What it saw last is lost then; zeros do after a
        TERMINATED episode, whose value has no use for it.
        """
        return self._ring.layout.following is not None and self._last_end() in (TERMINATED, CUT)

    def room(self) -> int:
        """Count the whole rows that can be written before one that a trigger has not used is overwritten."""
        guarded = self._oldest_guarded()
        waiting = 0 if guarded is None else int(self._counts.min()) - guarded
        return int(self._ring.rows - waiting)

    def write(self, rows: Rows, *, version: int = 0, end: npt.ArrayLike = GOES_ON) -> bool:
        """Write consecutive steps: an array of shape ``(steps, *shape)`` for each key.

        Keys may be left out and written later, each continues where it is: so observations can follow the
        rewards. ``version`` is the policy's that acted; ``end``, for all steps or for each, marks which are
        the last of an episode. Both are taken with the first keys of a row.

        Returns False, and counts the rows as refused, where they would overwrite rows that are not used yet
        and the ring refuses that. Raises ValueError for other keys or shapes, for numbers that a key's type
        cannot hold, and where the layout needs a closing row (:meth:`finish`) before; Taken in a process that
        was forked after the writer was made.
        """
        arrays, count = self._check_rows(rows)
        if version < 0 or not np.isin(end, (GOES_ON, TERMINATED, CUT)).all():
            raise ValueError("give a version from 0 on, and as an end GOES_ON, TERMINATED or CUT")
        ends = np.broadcast_to(np.asarray(end, np.uint8), (count,))
        if self._ring.layout.following is not None:
            if np.any(ends[:-1]):
                raise ValueError(
                    "an episode ends within these steps: write up to its end, finish it, write on"
                )
            begins = max(self.position(key) for key in arrays) == self.position()
            if begins and self.unfinished:
                raise ValueError("an episode has ended: finish it with its last observation")
        return self._commit_rows(arrays, count, np.full(count, version % (1 << STAMP_BITS), np.uint32), ends)

    def finish(self, **seen: npt.ArrayLike) -> bool:
        """Close the episode whose last row was written with an end: what was seen after its last step.

        For layouts with ``following``. Returns False as :meth:`write` does.
        """
        following = self._ring.layout.following
        if following is None or set(seen) != {following} or not self.unfinished:
            raise ValueError(
                f"{', '.join(seen)} cannot finish an episode: give {following}, once, after its end"
            )
        self._check_rows({following: np.asarray(seen[following])[None]})
        rows = {key: np.zeros((1, *column.shape[1:]), column.dtype) for key, column in self._keys.items()}
        rows[following][0] = seen[following]
        last = self._stamps["version"][(self.position() - 1) % self._ring.rows]
        return self._commit_rows(rows, 1, np.array([last]), np.array([CLOSING], np.uint8))

    def copy(self, rows: Rows, version: npt.ArrayLike, end: npt.ArrayLike) -> bool:
        """Write rows as another ring has them, each with its own stamps, closing rows among them."""
        arrays, count = self._check_rows(rows)
        ends = np.broadcast_to(np.asarray(end, np.uint8), (count,))
        return self._commit_rows(
            arrays, count, np.broadcast_to(np.asarray(version, np.uint32), (count,)), ends
        )

    def _check_rows(self, rows: Rows) -> tuple[Arrays, int]:
        """Return the rows as arrays, and their number. Raises as :meth:`write` does."""
        self._own.check()
        arrays = {key: np.asarray(values) for key, values in rows.items()}
        lengths = {len(values) if values.ndim else -1 for values in arrays.values()}
        unknown = set(arrays) - set(self._keys)
        if unknown or len(lengths) != 1 or not 1 <= (count := lengths.pop()) <= self._ring.rows:
            what = (
                f"no key {', '.join(sorted(unknown))}"
                if unknown
                else f"not 1 … {self._ring.rows} rows of all"
            )
            raise ValueError(f"{what}: {', '.join(f'{key} {array.shape}' for key, array in arrays.items())}")
        for key, values in arrays.items():
            if values.shape[1:] != self._keys[key].shape[1:]:
                shape = self._keys[key].shape[1:]
                raise ValueError(f"{key}: a step has shape {values.shape[1:]}, not {shape}")
            if not _can_hold(self._keys[key].dtype, values):
                raise ValueError(f"{key}: {self._keys[key].dtype} cannot hold these {values.dtype} values")
        return arrays, count

    def _commit_rows(self, arrays: Arrays, count: int, versions: Array, ends: Array) -> bool:
        ring, actor = self._ring, self.actor
        starts = {key: self.position(key) for key in arrays}
        head = max(starts.values()) + count
        if not self._make_room(head, count):
            return False
        ring.begun[actor] = max(int(ring.begun[actor]), head)
        order_stores()
        for key, values in arrays.items():
            _put_rows(self._keys[key], starts[key] % ring.rows, values)
        fresh = head - self.position()
        if fresh > 0:
            self._stamp_rows(self.position(), fresh, versions[count - fresh :], ends[count - fresh :])
        order_stores()
        for key, start in starts.items():
            self._counts[self._counter[key]] = start + count
        if fresh > 0:
            self._counts[self._counter[STAMP]] = head
        return True

    def _make_room(self, head: int, count: int) -> bool:
        """Return whether rows up to ``head`` may be written; count what is refused or overwritten."""
        ring, actor = self._ring, self.actor
        guarded = self._oldest_guarded()
        lost = 0 if guarded is None else head - ring.rows - max(guarded, int(ring.begun[actor]) - ring.rows)
        if lost > 0:
            refuse = ring.full == REFUSE
            ring.control["refused" if refuse else "overwritten"][actor] += count if refuse else lost
            return not refuse
        return True

    def _oldest_guarded(self) -> int | None:
        """Return the oldest row that a trigger has not used."""
        used = self._ring.control["names"] != b""
        return int(self._ring.control["released"][used, self.actor].min()) if used.any() else None

    def _stamp_rows(self, start: int, count: int, versions: Array, ends: Array) -> None:
        rows = self._ring.rows
        before = self._last_end()
        episode = int(self._stamps["episode"][(start - 1) % rows]) if start else 0
        closes = ends == CLOSING if self._ring.layout.following is not None else ends != GOES_ON
        last = before == CLOSING if self._ring.layout.following is not None else before != GOES_ON
        episodes = episode + np.cumsum(np.concatenate(([last], closes[:-1])))
        for key, values in (("version", versions), ("actor", self.actor), ("end", ends),
                            ("episode", episodes & 0xFFFFFFFF)):  # fmt: skip
            _put_rows(self._stamps[key], start % rows, np.broadcast_to(values, (count,)))

    def _last_end(self) -> int:
        """Return how the last row ends; before the first one, it goes on."""
        position = self.position()
        return int(self._stamps["end"][(position - 1) % self._ring.rows]) if position else GOES_ON


def _can_hold(kind: np.dtype[Any], values: Array) -> bool:
    """Check that a key of this type can hold the values: whole numbers stay whole, finite ones finite.

    Texts, dates and all other types must come back from the key as they were.
    """
    if values.dtype == kind:
        return True
    if kind.kind not in "biufc" or values.dtype.kind not in "biufc":
        try:
            return bool((values.astype(kind, casting="same_kind").astype(values.dtype) == values).all())
        except (TypeError, ValueError, OverflowError):
            return False
    if values.dtype.kind == "c" and kind.kind != "c":
        return False
    if kind.kind in "fc":
        with np.errstate(over="ignore"):
            return bool(np.isfinite(values.astype(kind)).all() or not np.isfinite(values).all())
    if values.dtype.kind == "f" and not (np.isfinite(values) & (values == np.floor(values))).all():
        return False
    low, high = (0, 1) if kind.kind == "b" else (np.iinfo(kind).min, np.iinfo(kind).max)
    return bool(low <= int(values.min()) and int(values.max()) <= high)


def _put_rows(column: npt.NDArray[Any], start: int, values: npt.NDArray[Any]) -> None:
    """Put rows into a ring, from ``start`` on."""
    room = len(column) - start
    column[start : start + len(values)] = values[:room]
    if len(values) > room:
        column[: len(values) - room] = values[room:]
