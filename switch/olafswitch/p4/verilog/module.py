"""Write a program as a Verilog module: intake, header pipeline with tables, join, counters, registers."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from string import Template
from typing import Any

from olafswitch.p4.ir import nodes as ir
from olafswitch.p4.verilog import describe
from olafswitch.p4.verilog.graph import Node
from olafswitch.p4.verilog.parsing import BYTES, FRAME
from olafswitch.p4.verilog.pipeline import Pipeline
from olafswitch.p4.verilog.registers import LATENCY, list_operands
from olafswitch.p4.verilog.schedule import Schedule
from olafswitch.p4.verilog.tables import LookupEngine
from olafswitch.p4.verilog.text import VerilogWriter, format_instance, format_number, format_vector, wrap_line

BEAT = 64
_TEMPLATE = Path(__file__).with_suffix(".v")
_ENGINES = {"ternary": "p4_ternary", "exact": "p4_exact", "lpm": "p4_lpm", "none": "p4_default"}


@dataclass
class Module:
    """A program's Verilog, with the facts that a driver and a report need."""

    name: str
    text: str
    description: dict[str, Any]


def _find_lookups(roots: list[Node]) -> dict[LookupEngine, Node]:
    found: dict[LookupEngine, Node] = {}
    stack, seen = roots, set[Node]()
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            if node.op == "lookup":
                found[node.attr] = node
            stack += list_operands(node)
    return dict(sorted(found.items(), key=lambda item: item[1].number))


def _one_of(kind: str, values: list[str]) -> tuple[str, str]:
    """Return whether any of these values was taken, and the taken value in 64 bits."""
    taken = [f"{kind}_{at}" for at in range(len(values))]
    value = " | ".join(f"({{64{{{each}}}}} & {one})" for each, one in zip(taken, values, strict=True))
    return " || ".join(taken) or "1'b0", value or "64'd0"


class _Builder:
    def __init__(self, name: str, pipeline: Pipeline, lines: Mapping[tuple[str, int], str]) -> None:
        self.name, self.p = name, pipeline
        self.beats = max(1, -(-pipeline.reach // BEAT))
        self.result = self._collect_result()
        self.lookups = _find_lookups([*self.result.values(), *(each.value for each in pipeline.registers)])
        self.engines = [each for each in pipeline.tables if each in self.lookups]
        self.engines.sort(key=lambda each: each.is_value_set)
        self.s = Schedule(self.result.values(), pipeline.registers)
        self.w = VerilogWriter(self.s, BEAT * self.beats, lines)
        self.cell_words = max([1, *(-(-each.bits // 32) for each in pipeline.registers)])
        self.about = {
            "tables": [describe.describe_table(each) for each in self.engines],
            "counters": [
                {"name": each.counter.name, "direct": isinstance(each.counter, ir.Table), "cells": each.cells}
                for each in pipeline.counts
            ],
            "registers": [
                {"name": each.name, "cells": each.cells, "bits": each.bits} for each in pipeline.registers
            ],
        }
        self.digest = describe.digest_tables(*self.about.values())

    def _collect_result(self) -> dict[str, Node]:
        """Collect what leaves the header pipeline for each frame, by name."""
        p = self.p
        made = {"drop": p.drop, **{f"out_{name}": node for name, node in p.sideband_out.items()}}
        made |= {f"shift_{at}": condition for at, condition in enumerate(p.edits.shifts.values())}
        for at, (condition, data) in p.edits.changed.items():
            made |= {f"write_{at}": condition, f"byte_{at}": data}
        for at, count in enumerate(p.counts):
            made |= {f"count_{at}": count.condition, f"cell_{at}": count.index}
        return made

    def write_text(self) -> str:
        p, s, length = self.p, self.s, self.s.length
        credit_bits = max(4, (length + 2 * self.beats + 8).bit_length())
        words = max([self.cell_words, *(each.words for each in self.engines)])
        side_in, side_out = p.sideband_in, {name: node.width for name, node in p.sideband_out.items()}
        wide = sum(node.width for node in self.result.values())
        edits, shifts = p.edits, max(1, len(p.edits.shifts))
        written = {at: at in edits.changed for at in reversed(range(BEAT * edits.beats))}
        inner = [*self.lookups.values(), *(each.value for each in p.registers)]
        known = {f"in_{name}" for name in (*side_in, FRAME, BYTES)}
        lists = {
            "inputs": [f"input  wire {format_vector(bits)}s_axis_{name}," for name, bits in side_in.items()],
            "outputs": [
                f"output wire {format_vector(bits)}m_axis_{name}," for name, bits in side_out.items()
            ],
            "side_in_wires": [f"wire {format_vector(bits)}in_{name};" for name, bits in side_in.items()],
            "valid": [f"reg {format_vector(length)}valid;"] if length else [],
            "declared": [
                *self.w.kept,
                *(f"wire {format_vector(node.width)}{self.w.at(node, s.cycle[node])};" for node in inner),
                *self.w.wires,
            ],
            "clocked": [
                *(
                    [f"valid <= rst ? {format_number(0, length)} : reached[{length - 1}:0];"]
                    if length
                    else ()
                ),
                *self.w.registers,
            ],
            "tables": [line for at, each in enumerate(self.engines) for line in self._write_table(at, each)],
            "registers": self._write_registers(),
            "picked": self._split_result(wide),
            "counters": self._write_counters(),
        }
        rows = {
            "side_in": [f"s_axis_{name}" for name in side_in],
            "side_in_names": [f"in_{name}" for name in side_in],
            "reached": ["valid"] * bool(length) + ["window_valid"],
            "unused": sorted(known | {name for name in self.w.partly if not name[0].isdigit()}),
            "result": [self.w.at(node, length) for node in self.result.values()],
            "written": [f"r_write_{at}" if changed else "1'b0" for at, changed in written.items()],
            "bytes": [f"r_byte_{at}" if changed else "8'd0" for at, changed in written.items()],
            "shift": [f"r_shift_{at}" for at in reversed(range(len(edits.shifts)))] or ["1'b0"],
            "side_made": [f"r_out_{name}" for name in side_out],
            "side_out": [f"m_axis_{name}" for name in side_out],
        }
        splits = sum(split << 16 * at for at, (split, _) in enumerate(edits.shifts))
        deltas = sum((delta & 0xFFFF) << 16 * at for at, (_, delta) in enumerate(edits.shifts))
        text = Template(_TEMPLATE.read_text()).substitute(
            {name: "\n    ".join(lines) for name, lines in lists.items()},
            **{name: ", ".join(row) for name, row in rows.items()},
            name=self.name,
            length=length,
            beats=self.beats,
            credit_bits=credit_bits,
            words=words,
            shifts=shifts,
            store_bits=max(5, (length + 3 * self.beats + 16).bit_length()),
            frames=credit_bits + 1,
            window_vector=format_vector(8 * BEAT * self.beats),
            window_bytes=BEAT * self.beats,
            last_byte=BEAT * self.beats - 1,
            words_vector=format_vector(32 * words),
            side_in_bits=sum(side_in.values()),
            side_in_vector=format_vector(sum(side_in.values())),
            side_out_bits=sum(side_out.values()),
            result_bits=wide,
            result_vector=format_vector(wide),
            edited_beats=edits.beats,
            splits=format_number(splits, 16 * shifts),
            deltas=format_number(deltas, 16 * shifts),
            table_count=len(self.engines),
            counter_count=len(p.counts),
            digest=format_number(int(self.digest, 16), 32),
        )
        return "\n".join(wrap_line(line) for line in text.splitlines() if line.strip()) + "\n"

    def _split_result(self, wide: int) -> list[str]:
        """Return each part of a result as it leaves the store."""
        widths = [node.width for node in self.result.values()]
        lows = [wide - below for below in accumulate(widths)]
        return [
            f"wire {format_vector(bits)}r_{name} = made{_slice_bits(low, bits) if bits < wide else ''};"
            for name, low, bits in zip(self.result, lows, widths, strict=True)
        ]

    def _write_table(self, number_: int, engine: LookupEngine) -> list[str]:
        node = self.lookups[engine]
        cycle, entry, bits = self.s.cycle[node], engine.entry_bits, engine.key_bits
        result, mine = self.w.at(node, cycle), f"cfg_target == 8'd{number_}"
        module, name, kind = _ENGINES[engine.kind], f"table_{number_}", engine.kind
        new = {"write_entry": f"cfg_words[{entry - 1}:0]", "write_default": f"cfg_default && {mine}"}
        lines = [f"// {engine.table.name}"]
        if kind == "none":
            rest = engine.result_bits - entry
            lines = [f"assign {result}{_slice_bits(entry, rest)} = {format_number(0, rest)};", *lines]
            ports = {"clk": "clk", "entry": f"{result}[{entry - 1}:0]"}
            return [*lines, *format_instance(module, name, {"ENTRY": entry}, ports | new)]
        parameters: dict[str, object] = {"KEY": bits, "ENTRY": entry}
        if kind != "ternary":
            masks = sum(mask << bits * at for at, mask in enumerate(describe.make_hashes(engine)))
            masks_text = format_number(masks, bits * engine.row_bits * engine.ways)
            parameters |= {"WAYS": engine.ways, "ROW": engine.row_bits, "HASHES": masks_text}
        parameters |= {"SIZE": engine.small} if kind != "exact" else {}
        parameters |= {"MASKED": int(engine.masked)} if kind == "ternary" else {}
        ports = {
            "clk": "clk", "key": self.w.at(node.args[0], cycle - engine.latency),
            "hit": f"{result}[{engine.result_bits - 1}]",
            "slot": f"{result}[{entry + engine.slot_bits - 1}:{entry}]", "entry": f"{result}[{entry - 1}:0]",
            "write": f"(cfg_set || cfg_clear) && {mine}", "write_slot": f"cfg_slot[{engine.slot_bits - 1}:0]",
            "write_valid": "cfg_set", "write_key": f"cfg_words[{entry + bits - 1}:{entry}]",
        }  # fmt: skip
        mask = {"write_mask": f"cfg_words[{entry + 2 * bits - 1}:{entry + bits}]"} if kind != "exact" else {}
        return [
            *lines,
            *format_instance(module, name, parameters | {"SLOT": engine.slot_bits}, ports | mask | new),
        ]

    def _write_registers(self) -> list[str]:
        lines: list[str] = []
        for number_, each in enumerate(self.p.registers):
            cycle = self.s.cycle[each.value]
            ports = {
                "clk": "clk", "rst": "rst", "enter": f"reached[{cycle - LATENCY}]",
                "index": self.w.at(each.index, cycle - LATENCY), "value": self.w.at(each.value, cycle),
                "write": f"reached[{cycle}] && {self.w.at(each.write, cycle)}",
                "data": self.w.at(each.data, cycle), "ask": f"cell_ask && cfg_target == 8'd{number_}",
                "ask_write": "cell_write", "ask_index": f"cfg_slot[{each.index_bits - 1}:0]",
                "ask_data": f"cfg_words[{each.bits - 1}:0]", "taken": f"cell_taken_{number_}",
                "answer": f"cell_{number_}",
            }  # fmt: skip
            sizes = {"WIDTH": each.bits, "INDEX": each.index_bits, "CELLS": each.cells}
            lines += [
                f"wire cell_taken_{number_};",
                f"wire {format_vector(each.bits)}cell_{number_};",
                f"// {each.name}",
                *format_instance("p4_cells", f"register_{number_}", sizes, ports),
            ]
        held = [
            f"{{{format_number(0, 64 - each.bits)}, cell_{at}}}" if each.bits < 64 else f"cell_{at}"
            for at, each in enumerate(self.p.registers)
        ]
        taken, value = _one_of("cell_taken", held)
        return [*lines, f"assign cell_taken = {taken};", f"assign cell_value = {value};"]

    def _write_counters(self) -> list[str]:
        lines: list[str] = []
        for number_, count in enumerate(self.p.counts):
            bits, mine = count.index.width, f"taking && cfg_target == 8'd{number_}"
            ports = {
                "clk": "clk", "rst": "rst", "count": f"done && r_count_{number_}", "take": mine,
                "index": f"{mine} ? cfg_slot[{bits - 1}:0] : r_cell_{number_}", "length": "frame_length",
                "taken": f"taken_{number_}", "value": f"value_{number_}",
            }  # fmt: skip
            lines += [
                f"wire taken_{number_};",
                f"wire [63:0] value_{number_};",
                *format_instance(
                    "p4_counters", f"counter_{number_}", {"INDEX": bits, "CELLS": count.cells}, ports
                ),
            ]
        taken, value = _one_of("taken", [f"value_{at}" for at in range(len(self.p.counts))])
        return [*lines, f"wire cfg_taken = {taken};", f"wire [63:0] cfg_value = {value};"]


def _slice_bits(low: int, bits: int) -> str:
    return f"[{low + bits - 1}:{low}]" if bits > 1 else f"[{low}]"


def build_module(name: str, pipeline: Pipeline, lines: Mapping[tuple[str, int], str]) -> Module:
    """Write a program's pipeline as the module ``name``, with ``lines`` of its source as comments."""
    builder = _Builder(name, pipeline, lines)
    description = {
        "module": name,
        "digest": builder.digest,
        **builder.about,
        "value_set_tables": sum(each.is_value_set for each in builder.engines),
        "cell_words": builder.cell_words,
        "sideband_in": pipeline.sideband_in,
        "sideband_out": {side: node.width for side, node in pipeline.sideband_out.items()},
        "cycles": builder.s.length,
        "carried_bits": builder.s.carried,
        "window": BEAT * builder.beats,
        "shifts": [list(each) for each in pipeline.edits.shifts],
        "written": sorted(pipeline.edits.changed),
    }
    return Module(name, builder.write_text(), description)
