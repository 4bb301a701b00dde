"""The ring that keeps what was played: rows of steps, in memory that actors and learners share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from olaf.errors import OlafError, Taken
from olaf.experience import memory
from olaf.experience.layout import CLOSING, STAMP, STAMPS, Layout
from olaf.experience.memory import Objects

Integers = npt.NDArray[np.int64]
Array = npt.NDArray[Any]

_MAGIC = b"olafring"
_ALIGN = 64
_PAGE = 4096
TRIGGERS = 16
"""At most, on one ring."""
FIRINGS = 64
"""Firings of a trigger that may wait to be taken."""
OVERWRITE, REFUSE = "overwrite", "refuse"


class RingError(OlafError, ValueError):
    """A ring cannot be made, found or written."""


@dataclass(frozen=True)
class Batch:
    """Rows that were gathered. ``batch["obs"]`` has shape ``(rows, *shape of the key)``."""

    columns: Mapping[str, Array]
    intact: npt.NDArray[np.bool_]
    """(rows,) False where a writer has overwritten a row while it was gathered."""

    def __getitem__(self, key: str) -> Array:
        return self.columns[key]

    def __len__(self) -> int:
        return len(self.intact)

    def only(self, which: npt.NDArray[np.bool_]) -> Batch:
        """Copy these rows alone."""
        return Batch({key: column[which] for key, column in self.columns.items()}, self.intact[which])

    def together(self, first: str, last: str) -> Array:
        """Return the keys from ``first`` to ``last`` as one array, (rows, values), without a copy.

        The type of joint rows, and of neighbouring keys of one type. Raises ValueError for others.
        """
        start, stop = self.columns[first], self.columns[last]
        base = start.base if start.base is stop.base else None
        names = list(self.columns)
        kinds = {self.columns[name].dtype for name in names[names.index(first) : names.index(last) + 1]}
        if base is None or len(kinds) != 1:
            raise ValueError(f"{first} … {last} do not lie side by side as one type")
        size = start.dtype.itemsize
        offset = stop.__array_interface__["data"][0] - start.__array_interface__["data"][0]
        width = offset // size + int(np.prod(stop.shape[1:], dtype=int))
        return np.lib.stride_tricks.as_strided(start, (len(start), width), (start.strides[0], size))


class Ring:
    """Rows of several actors: each has a block of its own, a ring that it alone writes.

    Readers see a row by its counter, which the writer moves once the row is complete. What
    is about to be overwritten is announced first. So a process that is killed at any time leaves no torn row,
    and a reader knows which of the rows that it gathered were overwritten meanwhile.
    """

    def __init__(
        self,
        layout: Layout,
        rows: int,
        actors: int = 1,
        *,
        name: str | None = None,
        most: int | None = None,
        full: str = OVERWRITE,
        objects: Mapping[str, int] | None = None,
    ) -> None:
        """Make a ring of ``rows`` rows for each actor.

        With a ``name`` other processes find it by :meth:`open`, and it stays until :meth:`unlink`; without
        one it is this process's own. It can grow to ``most`` actors (by default those at first), whose blocks
        take memory when they are added. When a block is full of rows that a trigger has not used, writing is
        refused, or the oldest are overwritten and counted (``full``). ``objects``: numbers of values of what
        is shared beside the rows, such as a model's weights.

        Raises RingError for a name that is taken, no memory, or numbers below 1.
        """
        most = actors if most is None else most
        if rows < 2 or not 1 <= actors <= most or full not in (OVERWRITE, REFUSE):
            raise RingError(f"a ring of {rows} rows for {actors} of {most} actors, {full!r} when it is full")
        shared = dict(objects or {})
        head = {"layout": layout.describe(), "rows": rows, "most": most, "full": full, "objects": shared}
        text = json.dumps(head).encode()
        plan = _Plan(layout, rows, most, shared, len(_MAGIC) + 8 + len(text))
        path = None if name is None else _find_place(name)
        if path is None:
            try:
                private = memory.make_private(plan.size)
            except (OSError, OverflowError) as error:
                raise RingError(
                    f"no memory for {plan.size} bytes: give fewer rows, or smaller ones"
                ) from error
            self._adopt_memory(None, private, head, plan)
        else:
            try:
                buffer = memory.create_shared(
                    path, _MAGIC + len(text).to_bytes(8, "little") + text, plan.size
                )
            except FileExistsError:
                what = f"{path} is there already: open the ring, or unlink what an earlier run left"
                raise RingError(what) from None
            except OSError as error:
                raise RingError(f"{path}: {error.strerror}") from error
            self._adopt_memory(path, buffer, head, plan)
        try:
            self.grow(actors)
        except RingError:
            self.unlink()
            raise

    @classmethod
    def open(cls, name: str) -> Ring:
        """Open the ring that another process has made. Raises RingError if there is none."""
        path = _find_place(name)
        try:
            buffer = memory.attach_shared(path)
        except (OSError, ValueError) as error:
            raise RingError(f"no ring {name}: {path}: {getattr(error, 'strerror', error)}") from error
        start = len(_MAGIC) + 8
        if buffer[: len(_MAGIC)] != _MAGIC:
            raise RingError(f"{path} is not a ring")
        length = int.from_bytes(buffer[len(_MAGIC) : start], "little")
        try:
            head = json.loads(buffer[start : start + length])
            layout = Layout.described(head["layout"])
            plan = _Plan(layout, head["rows"], head["most"], head["objects"], start + length)
        except (ValueError, KeyError, TypeError) as error:
            raise RingError(f"{path} is not a complete ring: unlink it and make it again") from error
        if len(buffer) < plan.size:
            what = f"{path} has {len(buffer)} bytes of {plan.size}: unlink it and make it again"
            raise RingError(what)
        ring = cls.__new__(cls)
        ring._adopt_memory(path, buffer, head, plan)
        return ring

    @staticmethod
    def is_at(path: Path) -> bool:
        """Return whether the memory at ``path`` is a ring."""
        try:
            with path.open("rb") as file:
                return file.read(len(_MAGIC)) == _MAGIC
        except OSError:
            return False

    def _adopt_memory(self, path: Path | None, buffer: Any, head: Mapping[str, Any], plan: _Plan) -> None:
        self.path, self.layout, self.rows, self.most = path, plan.layout, head["rows"], head["most"]
        self.full = head["full"]
        self.locks = memory.Locks(path)
        self._buffer = buffer
        self._plan = plan
        arrays = {
            each: np.frombuffer(buffer, kind, int(np.prod(shape)), offset).reshape(shape)
            for each, (offset, kind, shape) in plan.places.items()
        }
        self.control = arrays
        self.begun: Integers = arrays["begun"]
        """Per actor: rows before this may be being overwritten, ``rows`` earlier."""
        self.written: Integers = arrays["written"]
        """Per actor and counter: how many of a key's rows are whole."""
        slots = self.most * self.rows
        self.regions = [arrays[f"region {number}"][:slots] for number in range(len(plan.regions))]
        self._columns = {key: region[key] for region in self.regions for key in region.dtype.names or ()}
        self._stretches = [
            np.ndarray((slots,), each, buffer, plan.places[f"region {number}"][0], (region.itemsize,))
            for number, (region, each) in enumerate(zip(plan.regions, plan.stretches))
        ]
        self._counter = {key: number for number, key in enumerate(self.layout.counters)}
        shared = {key: (arrays[f"object {key}"], arrays[f"counts {key}"]) for key in head["objects"]}
        self._objects = Objects(shared)

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        """Open the ring in the process that it is sent to. Raises RingError for one without a name."""
        if self.path is None:
            raise RingError("a ring without a name stays in its process: make it with a name=")
        return Ring.open, (str(self.path),)

    @property
    def objects(self) -> Objects:
        """Objects that are shared besides the rows."""
        self.locks.check()
        return self._objects

    @property
    def actors(self) -> int:
        """How many blocks there are."""
        return int(self.control["actors"][0])

    @property
    def version(self) -> int:
        """The policy's newest version, by which a row's lag counts."""
        self.locks.check()
        return int(self.control["version"][0])

    @version.setter
    def version(self, version: int) -> None:
        self.locks.check()
        self.control["version"][0] = version

    def grow(self, actors: int) -> None:
        """Add blocks up to so many actors, while others write and read. Raises RingError for no room."""
        if actors > self.most:
            raise RingError(f"{actors} actors do not fit into {self.most}: make the ring with most={actors}")
        with self.locks.hold():
            if self.path is not None:
                try:
                    for start, size in self._plan.extents(self.actors, actors):
                        memory.reserve_pages(self.path, start, size)
                except OSError as error:
                    what = f"{self.path}: no memory for {actors} actors: {error.strerror}"
                    raise RingError(what) from error
            self.control["actors"][0] = max(self.actors, actors)

    def populate(self, actor: int) -> None:
        """Have an actor's block in this process's page tables: its first writes are as fast as later ones."""
        if self.path is not None:
            for start, size in self._plan.extents(actor, actor + 1)[1:]:
                memory.populate_pages(self._buffer, start, size)

    def unlink(self) -> None:
        """Remove the name; processes that have the ring keep it."""
        if self.path is not None:
            memory.unlink_memory(str(self.path))

    def column(self, key: str, actor: int | None = None) -> Array:
        """View all slots of a key, ``(slots, *shape)``, or those of one actor, without a copy."""
        column = self._columns[key]
        return column if actor is None else column[actor * self.rows : (actor + 1) * self.rows]

    def count(self, *keys: str) -> Integers:
        """Count how many rows each actor has written of all these keys (actors,); without keys, of whole
        rows."""
        self.locks.check()
        counters = [self._counter[key] for key in keys] if keys else slice(None)
        counts: Integers = self.written[: self.actors, counters].min(axis=1)
        return counts

    def first(self) -> Integers:
        """Return the oldest row of each actor that is whole (actors,); what is being overwritten is not."""
        first: Integers = np.maximum(self.begun[: self.actors] - self.rows, 0)
        return first

    def slots(self, actors: Integers, positions: Integers) -> Integers:
        """Return the slots of an actor's rows ``positions``, which count from 0 on and never wrap."""
        slots: Integers = actors * self.rows + positions % self.rows
        return slots

    def gather(self, actors: Integers, positions: Integers, out: list[Array] | None = None) -> Batch:
        """Copy rows, each given by its actor and its position in the actor's rows.

        ``out``, from :meth:`buffers`, is memory to gather into, used where rows do not overlap: rows of many
        kilobytes are gathered faster into pages that are there. A row that a writer reached meanwhile is
        marked in ``intact``.
        """
        self.locks.check()
        slots = self.slots(actors, positions)
        into = out if out is not None else self.buffers(len(slots))
        columns: dict[str, Array] = {}
        for number, stretch in enumerate(self._stretches):
            if self._plan.overlapping:  # take would first copy all of them
                taken = stretch[slots]
            else:
                taken = stretch.take(slots, out=into[number].view(stretch.dtype), mode="clip")
            rows = taken.view(self._plan.gathered[number])
            columns.update({key: rows[key] for key in rows.dtype.names or ()})
        following = self.layout.following
        if following is not None:
            self._add_successors(slots, actors, columns, following)
        memory.order_stores()
        intact = positions >= self.begun[actors] - self.rows
        return Batch(columns, intact)

    def views(self, actor: int, start: int, stop: int) -> tuple[Mapping[str, Array], ...]:
        """View consecutive rows of an actor where they lie, without a copy: one part, or two where they wrap.

        A ring that refuses what would overwrite them keeps a firing's rows as they are until it is done.
        Raises ValueError for rows that are not there.
        """
        first, last = int(self.first()[actor]), int(self.count()[actor])
        if not first <= start <= stop <= last:
            raise ValueError(f"no rows {start} to {stop} of actor {actor}, which has {first} to {last}")
        split = min(stop, (start // self.rows + 1) * self.rows)
        return tuple(
            {
                key: self.column(key, actor)[begin % self.rows :][: end - begin]
                for key in (*self.layout.keys, *(STAMPS.names or ()))
            }
            for begin, end in ((start, split), (split, stop))
            if end > begin
        )

    def buffers(self, rows: int) -> list[Array]:
        """Allocate memory for so many rows; columns begin with a cache line, or copies take longer."""
        return [_lined_up(0 if self._plan.overlapping else rows, kind) for kind in self._plan.gathered]

    def _add_successors(
        self, slots: Integers, actors: Integers, columns: dict[str, Array], following: str
    ) -> None:
        """Add ``next``; that of joint rows was gathered with the row, but for a block's last slot."""
        column = self._columns[following]
        if not self.layout.joint:
            after = slots + 1
            after[after == (actors + 1) * self.rows] -= self.rows
            columns["next"] = column.take(after, axis=0, mode="clip")
            return
        last = np.flatnonzero(slots == (actors + 1) * self.rows - 1)
        if len(last):
            columns["next"][last] = column[actors[last] * self.rows]

    def read(self, key: str, actors: Integers, positions: Integers) -> tuple[Array, npt.NDArray[np.bool_]]:
        """Copy one key of rows, and tell which of them no writer had reached by then.

        A position is never used again, so it says of which row a slot was read: one that ``begun`` has
        passed by a whole block may by now be another row.
        """
        values = self._columns[key][self.slots(actors, positions)]
        memory.order_stores()
        return values, positions >= self.begun[actors] - self.rows

    def closing(self, actors: Integers, positions: Integers) -> npt.NDArray[np.bool_]:
        """Mark the rows that only close an episode; none that a writer has reached."""
        ends, intact = self.read("end", actors, positions)
        closing: npt.NDArray[np.bool_] = (ends == CLOSING) & intact
        return closing


def _find_place(name: str) -> Path:
    try:
        return memory.path_of(name)
    except ValueError as error:
        raise RingError(str(error)) from None


def _lined_up(rows: int, kind: np.dtype[Any]) -> Array:
    memory = np.empty(rows * kind.itemsize + _ALIGN, np.uint8)
    start = -memory.__array_interface__["data"][0] % _ALIGN
    lined_up: Array = memory[start : start + rows * kind.itemsize].view(kind)
    return lined_up


class _Plan:
    """The places of everything in a ring's memory."""

    def __init__(self, layout: Layout, rows: int, most: int, objects: Mapping[str, int], start: int) -> None:
        self.layout, self.rows, self.regions = layout, rows, layout.regions
        self.places: dict[str, tuple[int, np.dtype[Any], tuple[int, ...]]] = {}
        self._end = start
        number = np.dtype("<i8")
        for name, shape in (
            ("actors", (1,)), ("version", (1,)), ("sampled", (1,)), ("begun", (most,)),
            ("written", (most, len(layout.counters))), ("refused", (most,)), ("overwritten", (most,)),
            ("fired", (TRIGGERS,)), ("taken", (TRIGGERS,)), ("done", (TRIGGERS,)), ("missed", (TRIGGERS,)),
            ("claimed", (TRIGGERS, most)), ("released", (TRIGGERS, most)), ("finished", (TRIGGERS, FIRINGS)),
            ("journal", (TRIGGERS, FIRINGS, most, 2)),
        ):  # fmt: skip
            self._place_array(name, number, shape)
        self._place_array("names", np.dtype("S48"), (TRIGGERS,))
        for name, values in objects.items():
            self._place_array(f"counts {name}", number, (4,))
            self._place_array(f"object {name}", np.dtype("<f4"), (2, values))
        self.overlapping = layout.joint and layout.following is not None
        """Whether a gathered row goes on into the row after it."""
        self.gathered, self.stretches = [], []
        for index, region in enumerate(self.regions):
            self._end = -(-self._end // _PAGE) * _PAGE
            gathered = self._gathered_type(region)
            extra = -(-gathered.itemsize // region.itemsize) - 1
            self._place_array(f"region {index}", region, (most * rows + extra,))
            self.gathered.append(gathered)
            self.stretches.append(np.dtype((np.void, gathered.itemsize)))
        self.size = self._end

    def extents(self, have: int, want: int) -> list[tuple[int, int]]:
        """List the bytes of the blocks from ``have`` to ``want``, and of all before the blocks."""
        head = (0, self.places["region 0"][0])
        return [head] + [
            (self.places[f"region {index}"][0] + have * self.rows * region.itemsize,
             (want - have) * self.rows * region.itemsize)
            for index, region in enumerate(self.regions) if want > have
        ]  # fmt: skip

    def _gathered_type(self, region: np.dtype[Any]) -> np.dtype[Any]:
        """Return the type of a gathered row."""
        following = self.layout.following
        if following is None or not self.overlapping:
            return region
        shape, kind = self.layout.keys[following]
        fields: Any = region.fields
        offset = fields[following][1]
        names = [*(region.names or ()), "next"]
        return np.dtype({
            "names": names,
            "formats": [fields[name][0] for name in names[:-1]] + [(kind, shape)],
            "offsets": [fields[name][1] for name in names[:-1]] + [region.itemsize + offset],
            "itemsize": region.itemsize + offset + np.dtype((kind, shape)).itemsize,
        })  # fmt: skip

    def _place_array(self, name: str, kind: np.dtype[Any], shape: tuple[int, ...]) -> None:
        start = -(-self._end // _ALIGN) * _ALIGN
        self.places[name] = (start, kind, shape)
        self._end = start + kind.itemsize * int(np.prod(shape, dtype=np.int64))


__all__ = ["FIRINGS", "OVERWRITE", "REFUSE", "STAMP", "TRIGGERS", "Batch", "Ring", "RingError", "Taken"]
