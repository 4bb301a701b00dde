"""The longest register-to-register path of a synthesized netlist, in levels of logic.

Levels are counted as the device has them: a LUT, a wide multiplexer or an asynchronous read of distributed
RAM is one level; an inverter is none (its LUT absorbs it); two CARRY4 in a row are one level, as the device's
carry block is CARRY8.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

_REGISTER_OUTPUTS = {
    **{"FDRE": ("Q",), "FDSE": ("Q",), "FDCE": ("Q",), "FDPE": ("Q",)},
    **{"SRL16E": ("Q",), "SRLC32E": ("Q", "Q31")},
}
_CARRY = "CARRY4"
_FREE = ("INV", "BUFG", "$scopeinfo")
_SYNCHRONOUS = ("RAMB18E2", "RAMB36E2", "URAM288", "DSP48E2")
_DISTRIBUTED = ("RAM32M16", "RAM64M8", "RAM32M", "RAM64M", "RAM32X1D", "RAM64X1D", "RAM128X1D", "RAM256X1D")


@dataclass(frozen=True)
class Route:
    """A path: its levels, and the names of the nets along it, from register to register."""

    levels: int
    nets: tuple[str, ...]


@dataclass(frozen=True)
class Crossing:
    """A combinational path that joins what a clock cycle has no time to join."""

    source: str
    end: str
    what: str


@dataclass
class _Cell:
    name: str
    kind: str
    inputs: dict[str, list[int]] = field(default_factory=dict)
    outputs: dict[str, list[int]] = field(default_factory=dict)
    position: int = 0
    """The place of a CARRY4 in its chain."""


class Netlist:
    """One flattened module, as Yosys' ``write_json`` gives it.

    Raises ValueError on a combinational loop.
    """

    def __init__(self, module: Mapping[str, Any]) -> None:
        self._names: dict[int, str] = {}
        for name, net in module["netnames"].items():
            for index, bit in enumerate(net["bits"]):
                if isinstance(bit, int) and (bit not in self._names or not net["hide_name"]):
                    self._names[bit] = f"{name}[{index}]" if len(net["bits"]) > 1 else name
        self._cells = [_read_cell(name, cell) for name, cell in module["cells"].items()]
        self._driver = {bit: cell for cell in self._cells for bits in cell.outputs.values() for bit in bits}
        self._inputs = {
            bit
            for port in module["ports"].values()
            if port["direction"] == "input"
            for bit in port["bits"]
            if isinstance(bit, int)
        }
        self._place_carries()
        self._levels: dict[int, int] = {}
        self._from: dict[int, int] = {}

    @classmethod
    def load(cls, path: Path, top: str, black: Sequence[str] = ()) -> "Netlist":
        """Load a netlist from a file of ``write_json``, without the cells whose types are in ``black``."""
        module = json.loads(path.read_text())["modules"][top]
        module["cells"] = {name: cell for name, cell in module["cells"].items() if cell["type"] not in black}
        return cls(module)

    @property
    def cells(self) -> Counter[str]:
        """The number of cells of each kind."""
        return Counter(cell.kind for cell in self._cells)

    def longest_path(self) -> Route:
        """Return the longest path from a register's or block memory's output to an input of one."""
        self._solve_levels()
        ends = {
            bit
            for cell in self._cells
            if _is_end(cell)
            for bit in _list_ends(cell)
            if self._levels.get(bit, -1) >= 0
        }
        worst = max(ends, key=lambda bit: self._levels[bit])
        nets = [worst]
        while nets[-1] in self._from:
            nets.append(self._from[nets[-1]])
        return Route(self._levels[worst], tuple(self._names.get(bit, "?") for bit in reversed(nets)))

    def find_crossings(self, ready: str, adder: re.Pattern[str]) -> list[Crossing]:
        """Return paths that pass more than one of: a block memory's read, an adder's stage, the input
        ``ready``.

        A path passes an adder's stage when it ends in a register whose name ``adder`` finds, and a block
        memory's read when it begins at a block memory's output.
        """
        found = []
        adders = {id(cell) for cell in self._cells if self._is_of(cell, adder)}
        for bit in self._inputs:
            if self._names.get(bit) == ready:
                found += [
                    Crossing(ready, self._name_of(end), "output ready to a memory or an adder's stage")
                    for end in self._find_reached(bit)
                    if id(end) in adders or end.kind in _SYNCHRONOUS
                ]
        for memory in self._cells:
            if memory.kind not in _SYNCHRONOUS:
                continue
            for bit in (bit for bits in memory.outputs.values() for bit in bits):
                found += [
                    Crossing(
                        self._names.get(bit, "?"),
                        self._name_of(end),
                        "block memory's read to an adder's stage",
                    )
                    for end in self._find_reached(bit)
                    if id(end) in adders
                ]
        return found

    def _find_reached(self, source: int) -> Iterator[_Cell]:
        """Yield the registers and memories at the ends of the paths from a net."""
        pending, seen, ends = [source], {source}, set()
        while pending:
            bit = pending.pop()
            for cell, port in self._find_readers.get(bit, ()):
                if _is_end(cell) and bit in set(_list_ends(cell)) and id(cell) not in ends:
                    ends.add(id(cell))
                    yield cell
                if _is_start(cell):
                    continue
                for output, driven in cell.outputs.items():
                    if _leads_within_cycle(cell, port, output):
                        pending += [each for each in driven if each not in seen]
                        seen.update(driven)

    @cached_property
    def _find_readers(self) -> dict[int, list[tuple[_Cell, str]]]:
        readers: dict[int, list[tuple[_Cell, str]]] = {}
        for cell in self._cells:
            for port, bits in cell.inputs.items():
                for bit in bits:
                    readers.setdefault(bit, []).append((cell, port))
        return readers

    def _is_of(self, cell: _Cell, names: re.Pattern[str]) -> bool:
        return cell.kind in _REGISTER_OUTPUTS and names.search(self._name_of(cell)) is not None

    def _name_of(self, cell: _Cell) -> str:
        """Return a register's name after its output, and any other cell's own name."""
        if cell.kind in _REGISTER_OUTPUTS:
            return next((self._names.get(bit, cell.name) for bit in cell.outputs.get("Q", ())), cell.name)
        return cell.name

    def _place_carries(self) -> None:
        """Number each carry chain's blocks from its start."""
        carries = [cell for cell in self._cells if cell.kind == _CARRY]
        after = {cell.inputs["CI"][0]: cell for cell in carries if cell.inputs.get("CI")}
        for cell in carries:
            place = cell if self._cells_before(cell) is None else None
            position = 0
            while place is not None:
                place.position = position
                position += 1
                carry_out = place.outputs.get("CO", [])
                place = after.get(carry_out[-1]) if carry_out else None

    def _cells_before(self, cell: _Cell) -> _Cell | None:
        carry_in = cell.inputs.get("CI")
        driver = self._driver.get(carry_in[0]) if carry_in else None
        return driver if driver is not None and driver.kind == _CARRY else None

    def _solve_levels(self) -> None:
        """Compute the most levels to every net; -1 where only input ports or constants lead to it."""
        order = self._sort_cells()
        for cell in self._cells:
            if _is_start(cell):
                for bits in cell.outputs.values():
                    for bit in bits:
                        self._levels[bit] = 0
        for cell in order:
            for output, driven in cell.outputs.items():
                best, source = -1, None
                for port, bits in cell.inputs.items():
                    for bit in bits if _leads_within_cycle(cell, port, output) else ():
                        level = self._levels.get(bit, -1)
                        if level >= 0 and level + self._cost_of(cell, port) > best:
                            best, source = level + self._cost_of(cell, port), bit
                for bit in driven:
                    self._levels[bit] = best
                    if source is not None:
                        self._from[bit] = source

    def _cost_of(self, cell: _Cell, port: str) -> int:
        if cell.kind in _FREE:
            return 0
        return 0 if cell.kind == _CARRY and port == "CI" and cell.position % 2 else 1

    def _sort_cells(self) -> Iterator[_Cell]:
        """Yield the combinational cells, each after those that drive it. Raises ValueError for a loop."""
        through = [cell for cell in self._cells if not _is_start(cell) and cell.outputs]
        waits = {
            id(cell): {id(driver) for driver in self._find_drivers(cell) if not _is_start(driver)}
            for cell in through
        }
        readers: dict[int, list[_Cell]] = {}
        for cell in through:
            for driver in waits[id(cell)]:
                readers.setdefault(driver, []).append(cell)
        ready = [cell for cell in through if not waits[id(cell)]]
        done = 0
        while ready:
            cell = ready.pop()
            done += 1
            yield cell
            for reader in readers.get(id(cell), ()):
                waits[id(reader)].discard(id(cell))
                if not waits[id(reader)]:
                    ready.append(reader)
        if done != len(through):
            raise ValueError("the netlist has a combinational loop")

    def _find_drivers(self, cell: _Cell) -> Iterator[_Cell]:
        for port, bits in cell.inputs.items():
            if any(_leads_within_cycle(cell, port, output) for output in cell.outputs):
                for bit in bits:
                    if bit in self._driver:
                        yield self._driver[bit]


def _read_cell(name: str, cell: Mapping[str, Any]) -> _Cell:
    made = _Cell(name, cell["type"])
    for port, bits in cell["connections"].items():
        wires = [bit for bit in bits if isinstance(bit, int)]
        (made.outputs if cell["port_directions"][port] == "output" else made.inputs)[port] = wires
    return made


def _is_start(cell: _Cell) -> bool:
    return cell.kind in _REGISTER_OUTPUTS or cell.kind in _SYNCHRONOUS


def _is_end(cell: _Cell) -> bool:
    return _is_start(cell) or cell.kind in _DISTRIBUTED


def _list_ends(cell: _Cell) -> Iterator[int]:
    """Yield the nets at which paths end: a register's inputs, a memory's write port."""
    for port, bits in cell.inputs.items():
        if cell.kind not in _DISTRIBUTED or not any(
            _leads_within_cycle(cell, port, output) for output in cell.outputs
        ):
            yield from bits


def _leads_within_cycle(cell: _Cell, port: str, output: str) -> bool:
    """Return whether an input reaches an output within a cycle: in distributed RAM, a read address does."""
    if cell.kind not in _DISTRIBUTED:
        return True
    if output in ("SPO", "DPO"):
        return port.startswith("A" if output == "SPO" else "DPRA")
    return port == f"ADDR{output[2:]}"
