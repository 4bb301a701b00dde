"""A P4 program's Verilog as a switch: Verilated, with its tables written over its registers."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from olaflab.opennic.bench import Bench, Received, Signals
from olaflab.opennic.verilate import build
from olafswitch.errors import OlafError, Problem
from olafswitch.p4.hardware.driver import Driver, Table
from olafswitch.p4.verilog.compile import compile_module, library
from olafswitch.p4runtime.dataplane import (
    ActionCall,
    CounterData,
    Exact,
    Key,
    Lpm,
    Match,
    Optional,
    Range,
    Replica,
    TableFull,
    Ternary,
    Unsupported,
)
from olafswitch.p4runtime.program import Program

PERIOD = 4000
"""ps of a clock cycle."""
_QUIET = 400
_LIMIT = 1_000_000


@dataclass
class _Entry:
    rows: list[tuple[int, int]]
    rank: int
    totals: CounterData = field(default_factory=lambda: CounterData(0, 0))


class Programmed:
    """A module's tables and counters, by the ids of its P4Info; keys are P4Runtime's."""

    def __init__(self, driver: Driver, info: Program) -> None:
        self.driver, self._info = driver, info
        self._entries: dict[tuple[int, Key, int], _Entry] = {}
        self._totals: dict[tuple[int, int], CounterData] = {}
        for table in driver.tables.values():
            table.set_default(None)

    def insert(self, table_id: int, key: Key, priority: int, action: ActionCall) -> None:
        """Add an entry; one that matches a range takes several places. Raises TableFull."""
        table = self._table(table_id)
        if table is None:
            return
        fields = self._info.tables[table_id].fields
        parts = [_rows(match, of.bits) for match, of in zip(key, fields, strict=True)]
        rows = []
        for choice in product(*parts):
            value = mask = 0
            for (one, bits), of in zip(choice, fields, strict=True):
                value, mask = value << of.bits | one, mask << of.bits | bits
            rows.append((value, mask))
        rank = -priority
        for match, of in zip(key, fields, strict=True):
            if isinstance(match, Lpm) and not priority:
                rank = of.bits - match.prefix_len
        number, params = self._action(table, action)
        done: list[tuple[int, int]] = []
        try:
            for row in rows:
                table.insert(*row, rank, number, params)
                done.append(row)
        except TableFull:
            for row in done:
                table.delete(*row, self._ranked(table, row, rank))
            raise
        self._entries[table_id, key, priority] = _Entry(rows, rank)

    def delete(self, table_id: int, key: Key, priority: int) -> None:
        """Remove an entry."""
        table = self._table(table_id)
        entry = self._entries.pop((table_id, key, priority))
        for row in entry.rows:
            if table is not None:
                table.delete(*row, self._ranked(table, row, entry.rank))

    @staticmethod
    def _ranked(table: Table, row: tuple[int, int], rank: int) -> int | None:
        return None if table.is_hashed(row[1]) else rank

    def set_default(self, table_id: int, action: ActionCall | None) -> None:
        """Set the default action; None restores the program's own."""
        table = self._table(table_id)
        if table is not None:
            table.set_default(self._action(table, action) if action is not None else None)

    def _table(self, table_id: int) -> Table | None:
        """None of a table that nothing in the module depends on."""
        return self.driver.tables.get(self._info.tables[table_id].name)

    def _action(self, table: Table, action: ActionCall) -> tuple[int, int]:
        number = table.action([self._info.actions[action.action_id].name])
        return number, table.packed(number, action.params)

    # --- counters

    def counter(self, counter_id: int, index: int) -> CounterData:
        """One cell of a counter, since it was reset."""
        number = self.driver.counter([self._info.counters[counter_id].name])
        packets, total = self.driver.read_counter(number, index)
        before = self._totals.get((number, index), CounterData(0, 0))
        now = CounterData(before.packets + packets, before.bytes + total)
        self._totals[number, index] = now
        return now

    def direct_counter(self, table_id: int, key: Key, priority: int) -> CounterData:
        """An entry's own counter."""
        table, entry = self._table(table_id), self._entries[table_id, key, priority]
        if table is None:
            raise Unsupported("nothing in the module depends on this table")
        number = self.driver.counter([table.name])
        for row in entry.rows:
            packets, total = self.driver.read_counter(
                number, table.slot(*row, self._ranked(table, row, entry.rank))
            )
            entry.totals = CounterData(entry.totals.packets + packets, entry.totals.bytes + total)
        return entry.totals


class VerilatedSwitch(Programmed):
    """Programs and processes as :class:`olafctl.p4.switch.native.NativeSwitch` does; keys are P4Runtime's."""

    def __init__(
        self, text: str, info: Program, functions: Mapping[str, str] | None = None, seed: int = 1
    ) -> None:
        """``text`` is the preprocessed program. Raises Refused where it is outside of the subset."""
        made = compile_module(text, "program.p4", "p4_program", functions)
        self.about = made.description
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "p4_program.v"
            path.write_text(made.text)
            self.bench = Bench(build("p4_program", {}, [path, *library()]), {"clk": PERIOD}, seed)
        bench = self.bench
        side = [
            [(f"{end}_axis_{name}", bits) for name, bits in self.about[f"sideband_{way}"].items()]
            for end, way in (("s", "in"), ("m", "out"))
        ]
        self.source = bench.source(Signals.axis("s_axis", side[0]))
        self.sink = bench.sink(Signals.axis("m_axis", side[1]))
        axil = bench.axil("s_axi_")
        bench["rst"] = 1
        bench.run(10)
        bench["rst"] = 0
        bench.run(10)
        driver = Driver(
            self.about, lambda at: axil.read(at)[0], lambda at, value: _sent(axil.write(at, value))
        )
        super().__init__(driver, info)
        self._groups: dict[int, Sequence[Replica]] = {}

    def close(self) -> None:
        """Free the model."""
        self.bench.close()

    # --- replication, frames

    def set_multicast_group(self, group_id: int, replicas: Sequence[Replica] | None) -> None:
        """The copies are made behind the module: here."""
        self._groups[group_id] = replicas or ()

    def send(self, frame: bytes, *side: int) -> None:
        """Queue a frame with what comes with it."""
        self.source.send(frame, side)

    def received(self) -> list[Received]:
        """Run until all that was sent is through; what left since the last call."""
        frames, quiet, before = self.sink.frames(), 0, -1
        for _ in range(_LIMIT // 100):
            self.bench.run(100)
            frames += self.sink.frames()
            passed = self.source.beats + self.sink.beats
            quiet = quiet + 100 if passed == before and not self.source.pending else 0
            before = passed
            if quiet >= _QUIET:
                return frames
        raise OlafError(Problem(f"the module did not become idle within {_LIMIT} cycles"))

    def process(self, port: int, frame: bytes, now_us: int = 0) -> list[tuple[int, bytes]]:
        """One frame through a v1model program: port and frame of what leaves."""
        self.send(frame, port, len(frame), now_us)
        return [each for out in self.received() for each in self.leaving(out)]

    def leaving(self, out: Received) -> list[tuple[int, bytes]]:
        """Where what left a v1model program goes: to a port, or to each of a group."""
        port, group = out.user
        if not group:
            return [(port, out.data)]
        return [(replica.egress_port, out.data) for replica in self._groups.get(group, ())]


def _sent(response: int) -> None:
    if response:
        raise OlafError(Problem(f"a register write was answered with response {response}"))


def _rows(match: Match, bits: int) -> list[tuple[int, int]]:
    """Values and masks that together match what ``match`` does."""
    full = (1 << bits) - 1
    match match:
        case None:
            return [(0, 0)]
        case Exact(value) | Optional(value):
            return [(value, full)]
        case Lpm(value, length):
            return [(value, full ^ full >> length)]
        case Ternary(value, mask):
            return [(value, mask)]
        case Range(low, high):
            return _prefixes(low, high, full)


def _prefixes(low: int, high: int, full: int) -> list[tuple[int, int]]:
    """A range as the fewest prefixes."""
    rows = []
    while low <= high:
        size = low & -low or full + 1
        while low + size - 1 > high:
            size >>= 1
        rows.append((low, full & ~(size - 1)))
        low += size
    return rows
