"""One program as a Verilog module: intake, header pipeline with its tables, join, counters and registers."""

from dataclasses import dataclass
from typing import Any

from olafswitch.p4.verilog import describe
from olafswitch.p4.verilog.graph import Node
from olafswitch.p4.verilog.parsing import BYTES, FRAME
from olafswitch.p4.verilog.pipeline import Pipeline
from olafswitch.p4.verilog.registers import LATENCY, operands
from olafswitch.p4.verilog.schedule import Schedule
from olafswitch.p4.verilog.text import Writer, concatenation, instance, number, vector

BEAT = 64
STREAM_IN = (("s_axis_tdata", 512), ("s_axis_tkeep", 64), ("s_axis_tlast", 1), ("s_axis_tvalid", 1))
_AXIL = """input  wire [11:0] s_axi_awaddr
input  wire s_axi_awvalid
output wire s_axi_awready
input  wire [31:0] s_axi_wdata
input  wire s_axi_wvalid
output wire s_axi_wready
output wire [1:0] s_axi_bresp
output wire s_axi_bvalid
input  wire s_axi_bready
input  wire [11:0] s_axi_araddr
input  wire s_axi_arvalid
output wire s_axi_arready
output wire [31:0] s_axi_rdata
output wire [1:0] s_axi_rresp
output wire s_axi_rvalid
input  wire s_axi_rready""".splitlines()
_ENGINES = {"ternary": "p4_ternary", "exact": "p4_exact", "lpm": "p4_lpm", "none": "p4_default"}


@dataclass
class Module:
    """A program's Verilog, and what a driver and a report need to know of it."""

    name: str
    text: str
    description: dict[str, Any]
    cycles: int
    """From a frame's last looked-at beat in to its result."""


class _Builder:
    def __init__(self, name: str, pipeline: Pipeline) -> None:
        self.name, self.p = name, pipeline
        self.beats = max(1, -(-pipeline.reach // BEAT))
        self.result = self._result()
        lookups = self._lookups([*self.result.values(), *(each.value for each in pipeline.registers)])
        self.lookups = {each.attr: each for each in lookups}
        self.engines = [each for each in pipeline.tables if each in self.lookups]
        self.engines.sort(key=lambda each: each.is_value_set)
        self.s = Schedule(self.result.values(), pipeline.registers)
        self.w = Writer(self.s, BEAT * self.beats)
        self.credit_bits = max(4, (self.s.length + 2 * self.beats + 8).bit_length())
        self.store_bits = max(5, (self.s.length + 3 * self.beats + 16).bit_length())
        self.cell_words = max([1, *(-(-each.bits // 32) for each in pipeline.registers)])
        self.about = {
            "tables": [describe.table(each) for each in self.engines],
            "counters": [describe.counter(each) for each in pipeline.counts],
            "registers": [describe.register(each) for each in pipeline.registers],
        }
        self.digest = describe.digest(*self.about.values())
        self.words = max([self.cell_words, *(each.words for each in self.engines)])

    def _result(self) -> dict[str, Node]:
        """What leaves the header pipeline for each frame, by name."""
        p = self.p
        made: dict[str, Node] = {"drop": p.drop}
        made |= {f"out_{name}": node for name, node in p.sideband_out.items()}
        for number_, condition in enumerate(p.edits.shifts.values()):
            made[f"shift_{number_}"] = condition
        for at, (condition, data) in p.edits.changed.items():
            made[f"write_{at}"] = condition
            made[f"byte_{at}"] = data
        for number_, count in enumerate(p.counts):
            made[f"count_{number_}"] = count.condition
            made[f"cell_{number_}"] = count.index
        return made

    @staticmethod
    def _lookups(roots: list[Node]) -> list[Node]:
        found: dict[Node, None] = {}
        stack, seen = roots, set[Node]()
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            if node.op == "lookup":
                found[node] = None
            stack += operands(node)
        return sorted(found, key=lambda node: node.number)

    # --- text

    def lines(self) -> list[str]:
        lines = ["`default_nettype none", f"module {self.name} ("]
        lines += [f"    {port}," for port in self._ports()]
        lines[-1] = lines[-1].rstrip(",")
        body = [
            *self._intake(),
            *self._pipeline(),
            *self._tables(),
            *self._registers(),
            *self._join(),
            *self._counters(),
            *self._config(),
        ]
        return [*lines, ");", *(f"    {line}" for line in body), "endmodule", "`default_nettype wire", ""]

    def _ports(self) -> list[str]:
        ports = ["input  wire clk", "input  wire rst"]
        ports += [f"input  wire {vector(bits)}{name}" for name, bits in STREAM_IN]
        ports += ["output wire s_axis_tready"]
        ports += [f"input  wire {vector(bits)}s_axis_{name}" for name, bits in self.p.sideband_in.items()]
        ports += [f"output wire {vector(bits)}{name.replace('s_', 'm_', 1)}" for name, bits in STREAM_IN]
        ports += ["input  wire m_axis_tready"]
        ports += [
            f"output wire {vector(node.width)}m_axis_{name}" for name, node in self.p.sideband_out.items()
        ]
        return ports + _AXIL

    def _intake(self) -> list[str]:
        side = list(self.p.sideband_in)
        bits = sum(self.p.sideband_in.values())
        size = BEAT * self.beats
        lines = [
            f"wire {vector(8 * size)}window;",
            f"wire [15:0] in_{BYTES};",
            f"wire {vector(bits)}window_side;",
            "wire window_valid, store_valid, beat_valid, beat_ready, done, hold;",
            f"wire [519:0] stored, beat;\nwire [{self.store_bits}:0] store_level;",
            *instance(
                "p4_intake", "intake",
                {"BEATS": self.beats, "SIDE": bits, "STORE_BITS": self.store_bits,
                 "CREDIT_BITS": self.credit_bits},
                {"clk": "clk", "rst": "rst", **{n: f"s_axis_{n[2:]}" for n in
                    ("s_tdata", "s_tkeep", "s_tlast", "s_tvalid", "s_tready")},
                 "s_side": concatenation([f"s_axis_{name}" for name in side]), "window": "window",
                 "window_bytes": f"in_{BYTES}", "window_side": "window_side", "window_valid": "window_valid",
                 "store": "stored", "store_valid": "store_valid", "store_level": "store_level",
                 "leave": "done", "pause": "cell_ask"},
            ),
            *instance(
                "p4_fifo", "frames", {"WIDTH": 520, "BITS": self.store_bits},
                {"clk": "clk", "rst": "rst", "s_data": "stored", "s_valid": "store_valid", "m_data": "beat",
                 "m_valid": "beat_valid", "m_ready": "beat_ready", "level": "store_level"},
            ),
            f"wire {vector(8 * size)}in_{FRAME};",
            "genvar i;",
            f"generate for (i = 0; i < {size}; i = i + 1) begin : reversed_",
            f"    assign in_{FRAME}[8*({size - 1}-i) +: 8] = window[8*i +: 8];",
            "end endgenerate",
        ]  # fmt: skip
        lines += [f"wire {vector(width)}in_{name};" for name, width in self.p.sideband_in.items()]
        lines.append(f"assign {concatenation([f'in_{name}' for name in side])} = window_side;")
        return lines

    def _pipeline(self) -> list[str]:
        length = self.s.length
        declared = [line for line in self.w.wires if line.startswith("reg")]
        wires = [line for line in self.w.wires if not line.startswith("reg")]
        known = {f"in_{name}" for name in (*self.p.sideband_in, FRAME, BYTES)}
        lookups = [
            f"wire {vector(node.width)}{self.w.at(node, self.s.cycle[node])};"
            for node in (*self.lookups.values(), *(each.value for each in self.p.registers))
        ]
        unused = sorted(known | {name for name in self.w.partly if not name[0].isdigit()})
        return [
            f"reg {vector(length)}valid;" if length else "",
            f"wire [{length}:0] reached = {{{'valid, ' if length else ''}window_valid}};",
            *declared, *lookups, *wires,
            "always @(posedge clk) begin",
            f"    valid <= rst ? {number(0, length)} : reached[{length - 1}:0];" if length else "",
            *(f"    {line}" for line in self.w.registers),
            "end",
            f"wire unused = &{{1'b0, window, {', '.join(unused)}}};",
        ]  # fmt: skip

    def _tables(self) -> list[str]:
        lines: list[str] = []
        for number_, engine in enumerate(self.engines):
            node = self.lookups[engine]
            start = self.s.cycle[node] - engine.latency
            result, key = self.w.at(node, self.s.cycle[node]), self.w.at(node.args[0], start)
            bits, entry = engine.key_bits, engine.entry_bits
            mine = f"cfg_target == 8'd{number_}"
            low = entry
            ports = {"clk": "clk"}
            parameters: dict[str, object] = {"ENTRY": entry}
            if engine.kind == "none":
                ports["entry"] = f"{result}[{entry - 1}:0]"
                top = engine.result_bits - entry
                lines.append(f"assign {result}[{engine.result_bits - 1}:{entry}] = {number(0, top)};")
            else:
                parameters = {"KEY": bits, "ENTRY": entry}
                if engine.kind != "ternary":
                    width = bits * engine.row_bits * engine.ways
                    masks = sum(mask << bits * at for at, mask in enumerate(describe.hashes(engine)))
                    parameters |= {
                        "WAYS": engine.ways,
                        "ROW": engine.row_bits,
                        "HASHES": number(masks, width),
                    }
                if engine.kind != "exact":
                    parameters["SIZE"] = engine.small
                parameters["SLOT"] = engine.slot_bits
                ports |= {
                    "key": key, "hit": f"{result}[{engine.result_bits - 1}]",
                    "slot": f"{result}[{entry + engine.slot_bits - 1}:{entry}]",
                    "entry": f"{result}[{entry - 1}:0]",
                    "write": f"(cfg_set || cfg_clear) && {mine}",
                    "write_slot": f"cfg_slot[{engine.slot_bits - 1}:0]",
                    "write_valid": "cfg_set", "write_key": f"cfg_words[{low + bits - 1}:{low}]",
                }  # fmt: skip
                if engine.kind != "exact":
                    ports["write_mask"] = f"cfg_words[{low + 2 * bits - 1}:{low + bits}]"
            ports |= {"write_entry": f"cfg_words[{entry - 1}:0]", "write_default": f"cfg_default && {mine}"}
            lines += [
                f"// {engine.table.name}",
                *instance(_ENGINES[engine.kind], f"table_{number_}", parameters, ports),
            ]
        return lines

    def _registers(self) -> list[str]:
        lines: list[str] = []
        for number_, each in enumerate(self.p.registers):
            cycle = self.s.cycle[each.value]
            mine = f"cell_ask && cfg_target == 8'd{number_}"
            lines += [
                f"wire cell_taken_{number_};\nwire {vector(each.bits)}cell_{number_};",
                f"// {each.name}",
                *instance(
                    "p4_cells", f"register_{number_}",
                    {"WIDTH": each.bits, "INDEX": each.index_bits, "CELLS": each.cells},
                    {"clk": "clk", "rst": "rst", "enter": f"reached[{cycle - LATENCY}]",
                     "index": self.w.at(each.index, cycle - LATENCY), "value": self.w.at(each.value, cycle),
                     "write": f"reached[{cycle}] && {self.w.at(each.write, cycle)}",
                     "data": self.w.at(each.data, cycle), "ask": mine, "ask_write": "cell_write",
                     "ask_index": f"cfg_slot[{each.index_bits - 1}:0]",
                     "ask_data": f"cfg_words[{each.bits - 1}:0]", "taken": f"cell_taken_{number_}",
                     "answer": f"cell_{number_}"},
                ),
            ]  # fmt: skip
        numbers = range(len(self.p.registers))
        taken = " || ".join(f"cell_taken_{each}" for each in numbers) or "1'b0"
        padded = (f"{{{number(0, 64 - each.bits)}, cell_{at}}}" if each.bits < 64 else f"cell_{at}"
                  for at, each in enumerate(self.p.registers))  # fmt: skip
        value = (
            " | ".join(f"({{64{{cell_taken_{at}}}}} & {cell})" for at, cell in enumerate(padded)) or "64'd0"
        )
        return [*lines, f"assign cell_taken = {taken};", f"assign cell_value = {value};"]

    def _join(self) -> list[str]:
        length, names = self.s.length, list(self.result)
        values = [self.w.at(self.result[name], length) for name in names]
        width = sum(self.result[name].width for name in names)
        lines = [f"wire {vector(width)}result = {concatenation(values)};", f"wire {vector(width)}made;"]
        lines += [
            f"wire [{self.credit_bits}:0] results_level;",
            "wire made_valid;",
            "wire [15:0] frame_length;",
        ]
        lines += instance(
            "p4_fifo", "results", {"WIDTH": width, "BITS": self.credit_bits},
            {"clk": "clk", "rst": "rst",
             "s_data": "result", "s_valid": f"reached[{length}]", "m_data": "made",
             "m_valid": "made_valid", "m_ready": "done", "level": "results_level"},
        )  # fmt: skip
        low = width
        for name in names:
            bits = self.result[name].width
            low -= bits
            picked = f"made[{low + bits - 1}:{low}]" if bits > 1 else f"made[{low}]" if width > 1 else "made"
            lines.append(f"wire {vector(bits)}r_{name} = {picked};")
        edits, beats = self.p.edits, self.p.edits.beats
        changed = [
            (f"r_write_{at}", f"r_byte_{at}") if at in edits.changed else ("1'b0", "8'd0")
            for at in reversed(range(BEAT * beats))
        ]
        shifts = [f"r_shift_{at}" for at in reversed(range(len(edits.shifts)))] or ["1'b0"]
        splits = sum(split << 16 * at for at, (split, _) in enumerate(edits.shifts))
        deltas = sum((delta & 0xFFFF) << 16 * at for at, (_, delta) in enumerate(edits.shifts))
        out = list(self.p.sideband_out)
        lines += instance(
            "p4_join", "join_",
            {"BEATS": beats, "SIDE": sum(node.width for node in self.p.sideband_out.values()),
             "SHIFTS": len(shifts), "SPLITS": number(splits, 16 * len(shifts)),
             "DELTAS": number(deltas, 16 * len(shifts))},
            {"clk": "clk", "rst": "rst",
             "beat": "beat", "beat_valid": "beat_valid", "beat_ready": "beat_ready",
             "written": concatenation([each for each, _ in changed]),
             "bytes": concatenation([each for _, each in changed]), "shift": concatenation(shifts),
             "drop": "r_drop", "side": concatenation([f"r_out_{name}" for name in out]),
             "result_valid": "made_valid", "done": "done", "length": "frame_length", "hold": "hold",
             "m_side": concatenation([f"m_axis_{name}" for name in out]),
             **{n: f"m_axis_{n[2:]}" for n in ("m_tdata", "m_tkeep", "m_tlast", "m_tvalid", "m_tready")}},
        )  # fmt: skip
        return [
            *lines,
            "wire unused2 = &{1'b0, results_level, frame_length, cfg_slot, cfg_words, cell_write,",
            "    cfg_set, cfg_clear, cfg_default, cfg_target};",
        ]

    def _counters(self) -> list[str]:
        """A counter is taken in a cycle in which no frame may count."""
        lines = ["wire taking = cfg_take;", "assign hold = taking;"]
        for number_, count in enumerate(self.p.counts):
            bits = count.index.width
            mine = f"taking && cfg_target == 8'd{number_}"
            lines += [
                f"wire taken_{number_};\nwire [63:0] value_{number_};",
                *instance(
                    "p4_counters", f"counter_{number_}", {"INDEX": bits, "CELLS": count.cells},
                    {"clk": "clk", "rst": "rst", "count": f"done && r_count_{number_}", "take": mine,
                     "index": f"{mine} ? cfg_slot[{bits - 1}:0] : r_cell_{number_}", "length": "frame_length",
                     "taken": f"taken_{number_}", "value": f"value_{number_}"},
                ),
            ]  # fmt: skip
        numbers = range(len(self.p.counts))
        taken = " || ".join(f"taken_{each}" for each in numbers) or "1'b0"
        value = " | ".join(f"({{64{{taken_{each}}}}} & value_{each})" for each in numbers) or "64'd0"
        return [*lines, f"wire cfg_taken = {taken};", f"wire [63:0] cfg_value = {value};"]

    def _config(self) -> list[str]:
        ports = {"clk": "clk", "rst": "rst"}
        for line in _AXIL:
            name = line.split()[-1]
            ports[name.removeprefix("s_axi_")] = name
        ports |= {"set": "cfg_set", "clear": "cfg_clear", "set_default": "cfg_default", "take": "cfg_take",
                  "target": "cfg_target", "slot": "cfg_slot", "words": "cfg_words", "taken": "cfg_taken",
                  "value": "cfg_value", "cell_ask": "cell_ask", "cell_write": "cell_write",
                  "cell_taken": "cell_taken", "cell_value": "cell_value"}  # fmt: skip
        parameters: dict[str, object] = {
            "WORDS": self.words, "TABLES": len(self.engines), "COUNTERS": len(self.p.counts),
            "DRAIN": self.s.length + 2, "DIGEST": number(int(self.digest, 16), 32),
        }  # fmt: skip
        return instance("p4_config", "config_", parameters, ports)

    def declared(self) -> list[str]:
        """Signals that are used in front of where their instance stands."""
        return [
            "wire cell_ask, cell_write, cell_taken;",
            "wire [63:0] cell_value;",
            "wire cfg_set, cfg_clear, cfg_default, cfg_take;",
            "wire [7:0] cfg_target;",
            "wire [31:0] cfg_slot;",
            f"wire [{32 * self.words - 1}:0] cfg_words;",
        ]


def module(name: str, pipeline: Pipeline) -> Module:
    """A program's pipeline as the module ``name``."""
    builder = _Builder(name, pipeline)
    lines = builder.lines()
    at = lines.index(");") + 1
    lines[at:at] = [f"    {line}" for line in builder.declared()]
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
    return Module(
        name, "\n".join(line for line in lines if line.strip()) + "\n", description, builder.s.length
    )
