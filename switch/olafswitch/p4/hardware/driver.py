"""A compiled Verilog module's tables and counters by name, over :file:`p4/verilog/hdl/p4_config.v`."""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from olafswitch.errors import OlafError, Problem
from olafswitch.p4.hardware.slots import Hashed, Ordered, Row
from olafswitch.p4runtime.dataplane import DeviceRefused, TableFull

ID, DIGEST, TARGET, SLOT, COMMAND, COUNT, WORDS = 0x00, 0x08, 0x10, 0x14, 0x18, 0x20, 0x40
SET, CLEAR, SET_DEFAULT, TAKE, READ_CELL, WRITE_CELL = 1, 2, 3, 4, 5, 6
SWEEP = 8
"""A flag of a command that applies it to the given slot and every slot below."""
MAGIC = 0x50345254
_BYTES_OF_COUNT = 35
_POLLS = 1_000_000


class DriverTable:
    """A table. Keys, masks and parameters are numbers, their first field on top; the lowest rank wins."""

    def __init__(self, driver: "Driver", number: int, about: Mapping[str, Any], counter: int | None) -> None:
        """Create the table; ``counter`` is the counter in whose cells entries are counted, by place."""
        self._driver, self._number, self._about, self._counter = driver, number, about, counter
        self.name: str = about["name"]
        self.key_bits: int = about["key_bits"]
        self.params_bits: int = about["action_low"]
        self._full = (1 << self.key_bits) - 1
        self._first_small = about["ways"] << about["row_bits"]
        self.actions: list[str] = [each["name"] for each in about["actions"]]
        self.declared: Sequence[Mapping[str, Any]] = about["entries"]
        """The program's own entries."""
        self._forget_entry()

    def _forget_entry(self) -> None:
        masks = [int(mask, 16) for mask in self._about["hashes"]]
        self._hashed = Hashed(self._about["ways"], self._about["row_bits"], masks)
        self._small = Ordered(self._about["small"], self._first_small)
        self._content: dict[Row, int] = {}
        self._counted: dict[Row, tuple[int, int]] = {}
        """The counts of entries in places that they had before."""

    def room(self, mask: int) -> int:
        """Return how many more entries with this mask have free places; hash ways may be full before."""
        return self._home_of(mask).room

    def reset(self) -> None:
        """Remove every entry, known or not, and restore the program's own default action."""
        with self._driver.lock:
            if slots := self._first_small + self._about["small"]:
                self._driver.command(CLEAR | SWEEP, self._number, slots - 1, ())
            self._forget_entry()
            self.set_default(None)

    def insert(self, key: int, mask: int, rank: int, action: int, params: int) -> None:
        """Add an entry. Raises TableFull, DeviceRefused."""
        row = (key & mask, mask, 0 if self.is_hashed(mask) else rank)
        with self._driver.lock:
            if row in self._content:
                raise DeviceRefused("ALREADY_EXISTS", f"table {self.name} has an entry with this match")
            entry = self._pack_entry(action, params)
            moves = self._home_of(mask).plan(row)
            if moves is None:
                raise TableFull(f"table {self.name} has no place for this entry")
            self._content[row] = entry
            for other, place in moves:
                self._write_row(other, place)
                if self._counter is not None and other != row:
                    self._leave_place(other)
                self._home_of(mask).put(other, place)

    def replace(self, rows: Iterable[tuple[int, int]]) -> None:
        """Make exactly these keys and masks match, whatever their action. Raises TableFull."""
        wanted = {(value & mask, mask, 0) for value, mask in rows}
        with self._driver.lock:
            for row in set(self._content) - wanted:
                self.delete(*row)
            for row in wanted - set(self._content):
                self.insert(*row, 0, 0)

    def _leave_place(self, row: Row) -> None:
        """Take the counts of an entry from a place that it leaves next: no frame hits it there after."""
        place = self._home_of(row[1])[row]
        assert self._counter is not None
        self._driver.command(CLEAR, self._number, place, ())
        self._driver.quiesce()
        packets, total = self._driver.read_counter(self._counter, place)
        before = self._counted.get(row, (0, 0))
        self._counted[row] = (before[0] + packets, before[1] + total)

    def update(self, key: int, mask: int, action: int, params: int, rank: int | None = None) -> None:
        """Replace an entry's action in one cycle; ``rank`` None is any rank. Raises DeviceRefused."""
        row = self._known_entry(key, mask, rank)
        with self._driver.lock:
            self._content[row] = self._pack_entry(action, params)
            self._write_row(row, self._home_of(mask)[row])

    def delete(self, key: int, mask: int, rank: int | None = None) -> None:
        """Remove an entry. Raises DeviceRefused."""
        row = self._known_entry(key, mask, rank)
        with self._driver.lock:
            if self._counter is not None:
                self._leave_place(row)
                del self._counted[row]
            else:
                self._driver.command(CLEAR, self._number, self._home_of(mask)[row], ())
            self._home_of(mask).remove(row)
            del self._content[row]

    def set_default(self, action: tuple[int, int] | None) -> None:
        """Set the action and parameters for when no entry matches; None restores the program's own."""
        if action is None:
            default = self._about["default"]
            action = (default["action"], self.packed(default["action"], default["data"]))
        self._driver.command(SET_DEFAULT, self._number, 0, self._pack_words(self._pack_entry(*action)))

    def packed(self, action: int, values: Sequence[int]) -> int:
        """Return parameters as one number."""
        params = self._about["actions"][action]["params"]
        return sum(v << int(p["low"]) for p, v in zip(params, values, strict=True))

    def counted(self, key: int, mask: int, rank: int | None = None) -> tuple[int, int]:
        """Take an entry's packets and bytes in the table's own counter since the last call."""
        row = self._known_entry(key, mask, rank)
        with self._driver.lock:
            before = self._counted.pop(row, (0, 0))
            if self._counter is None:
                return before
            packets, total = self._driver.read_counter(self._counter, self._home_of(mask)[row])
        return before[0] + packets, before[1] + total

    def is_hashed(self, mask: int) -> bool:
        """Return whether an entry with this mask is in a hash way, where ranks do not count."""
        return bool(self._about["ways"]) and mask == self._full

    def _home_of(self, mask: int) -> Hashed | Ordered:
        return self._hashed if self.is_hashed(mask) else self._small

    def _known_entry(self, key: int, mask: int, rank: int | None) -> Row:
        rank = 0 if self.is_hashed(mask) else rank
        for row in self._content if rank is None else [(key & mask, mask, rank)]:
            if row[:2] == (key & mask, mask) and row in self._content:
                return row
        raise DeviceRefused("NOT_FOUND", f"table {self.name} has no entry with this match")

    def _pack_entry(self, action: int, params: int) -> int:
        return action << self.params_bits | params

    def _write_row(self, row: Row, place: int) -> None:
        bits = self._about["entry_bits"]
        number = self._content[row] | row[0] << bits | row[1] << bits + self.key_bits
        self._driver.command(SET, self._number, place, self._pack_words(number))

    def _pack_words(self, number: int) -> list[int]:
        return [number >> 32 * at & 0xFFFFFFFF for at in range(self._about["words"])]


class Driver:
    """A module whose registers ``read(offset)`` and ``write(offset, value)`` access."""

    def __init__(
        self, about: Mapping[str, Any], read: Callable[[int], int], write: Callable[[int, int], None]
    ) -> None:
        """Create a driver for the module that ``about``, which the compiler wrote, describes.

        Raises OlafError when the registers are another module's.
        """
        self.lock = threading.RLock()
        self._read, self._write = read, write
        self.module, self.digest = about["module"], about["digest"]
        self._cell_words = about["cell_words"]
        found = (read(ID), read(DIGEST))
        if found != (MAGIC, int(about["digest"], 16)):
            what = f"the registers are not those of {self.module}: id {found[0]:#x}, digest {found[1]:08x}"
            raise OlafError(Problem(what, remedy="use the description that was written with this module"))
        direct = {each["name"]: at for at, each in enumerate(about["counters"]) if each["direct"]}
        made = [
            DriverTable(self, at, each, direct.get(each["name"])) for at, each in enumerate(about["tables"])
        ]
        self._tables = made
        self.tables = {each.name: each for each in made[: len(made) - about["value_set_tables"]]}
        self.value_sets: dict[str, list[DriverTable]] = {}
        """Tables by name: one for each place where a parser looks a set up."""
        for each in made[len(self.tables) :]:
            self.value_sets.setdefault(each.name, []).append(each)
        self.registers = {each["name"]: at for at, each in enumerate(about["registers"])}
        self.counters = {each["name"]: at for at, each in enumerate(about["counters"])}
        self._swept = [
            (what, at, each["cells"])
            for what, kind in ((TAKE, "counters"), (WRITE_CELL, "registers"))
            for at, each in enumerate(about[kind])
        ]
        self._sent: dict[int, int] = {}

    def reset(self) -> None:
        """Remove every entry of every table and every member of a value set; zero counters and registers."""
        for table in self._tables:
            table.reset()
        for what, target, cells in self._swept:
            self.command(what | SWEEP, target, cells - 1, (0, 0)[: self._cell_words])

    def read_cell(self, register: int, index: int) -> int:
        """Read a register's cell."""
        return self._ask_command(READ_CELL, register, index)

    def write_cell(self, register: int, index: int, value: int) -> None:
        """Write a register's cell between two frames."""
        self.command(WRITE_CELL, register, index, (value & 0xFFFFFFFF, value >> 32)[: self._cell_words])

    def read_counter(self, counter: int, index: int) -> tuple[int, int]:
        """Take the packets and bytes since the last call."""
        value = self._ask_command(TAKE, counter, index)
        return value >> _BYTES_OF_COUNT, value & (1 << _BYTES_OF_COUNT) - 1

    def _ask_command(self, what: int, target: int, index: int) -> int:
        with self.lock:
            self.command(what, target, index, ())
            return self._read(COUNT) | self._read(COUNT + 4) << 32

    def command(self, what: int, target: int, slot: int, words: Sequence[int]) -> None:
        """Write an entry's words and make them take effect in one cycle."""
        with self.lock:
            given = {TARGET: target, SLOT: slot, **{WORDS + 4 * at: word for at, word in enumerate(words)}}
            for offset, value in given.items():
                if self._sent.get(offset) != value:
                    self._write(offset, value)
                    self._sent[offset] = value
            self._write(COMMAND, what)
            if what & SWEEP:
                self._sent[SLOT] = 0
                self.quiesce()

    def quiesce(self) -> None:
        """Wait until no frame is left that saw the state before the last command. Raises DeviceRefused."""
        for _ in range(_POLLS):
            if not self._read(COMMAND):
                return
        what = f"frames in {self.module} still follow the state before, for its output takes none"
        raise DeviceRefused("UNAVAILABLE", what)
