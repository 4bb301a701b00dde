"""Makes a circuit to prove something about, from the Verilog as it is.

Every check that the simulations make (``$stop``) becomes an assertion. A module or a wire can be *cut*:
it then has any value in any cycle. What is proved with cuts holds without them too. Registers whose value
at power-up the Verilog leaves open start at 0.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from olafctl import paths
from olafctl.queue.registers import DISPOSITIONS
from olafswitch.errors import OlafError, Problem
from olafswitch.simulation.mapping import find_yosys, run_yosys

TOP = "formal_top"
_VERILOG = Path(__file__).parent / "verilog"
_CYCLES_OF_RESET = 2
"""Cycles from power-up on in which nothing has to hold yet."""
_NOT_AT_SETTLEMENT = ("dropped_reset",)
"""Counters of what commands drop: it was settled before."""


@dataclass(frozen=True)
class Design:
    """A circuit with the properties to prove of it."""

    top: str
    """A file of ``verilog/`` that holds the module ``formal_top``."""
    cut_modules: tuple[str, ...] = ()
    cut_wires: tuple[str, ...] = ()
    """Hierarchical names of wires to cut."""
    assumed: Mapping[str, str] = field(default_factory=dict)
    """An invariant of each module, as a Verilog expression."""
    added: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Files of ``verilog/`` with assertions, by the module inside which they look."""
    words: tuple[str, ...] = ()
    """Modules whose memories ``added`` looks into: the words of memory ``x`` become one wire ``words_x``."""
    without: tuple[str, ...] = ()
    """Parts of the lines of checks that are proved elsewhere."""
    changed: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """A piece of text and its replacement by module, to put a defect back."""


def write_circuit(design: Design, work: Path) -> int:
    """Write the circuit into ``work`` as ``circuit.aig``; returns how many checks it holds.

    Raises MissingTool without Yosys, OlafError when it fails.
    """
    hdl = work / "hdl"
    hdl.mkdir()
    for path in sorted((paths.sources() / "hdl").glob("olaf_*.v*")):
        (hdl / path.name).write_text(_prepare_module(path.stem, path.read_text(), design))
    top = (_VERILOG / design.top).read_text()
    (work / "top.v").write_text(_prepare_module(TOP, top, design))
    where = f"making a circuit of {design.top}"
    run_yosys(find_yosys(), _yosys_script(design), work, "circuit.aig", where)
    return _count_checks(work / "circuit.aig")


def _count_checks(made: Path) -> int:
    """Count the bad states of an AIGER file: the sixth number of its header."""
    with made.open("rb") as circuit:
        return int(circuit.readline().split()[6])


def _prepare_module(module: str, text: str, design: Design) -> str:
    if module in design.changed:
        before, after = design.changed[module]
        if text.count(before) != 1:
            raise OlafError(Problem(f"{before!r} is not in the Verilog once", where=f"hdl/{module}.v"))
        text = text.replace(before, after)
    text = _drop_lines(text, design).replace("$stop;", "assert(1'b0);")
    if module == "olaf_registers":
        text = _check_settlement(text)
    elif module in design.cut_modules:
        text = _cut_module(text)
    if module in design.words:
        text = _with_end(text, _declare_words(text))
    for name in design.added.get(module, ()):
        text = _with_end(text, (_VERILOG / name).read_text())
    if module in design.assumed:
        text = _with_end(text, f"    always @* assume({design.assumed[module]});\n")
    return text


def _with_end(text: str, inside: str) -> str:
    before, end = text.rsplit("endmodule", 1)
    return f"{before}{inside}endmodule{end}"


def _declare_words(text: str) -> str:
    """Declare wires that hold all words of each memory, the first lowest."""
    memories = re.findall(r"^ *reg *(?:\[([^\n]*?):0\])? *(\w+) *\[0:([^\n]*?)\];", text, re.MULTILINE)
    wires = ["    genvar word;\n"]
    for high, name, last in memories:
        width, count = f"({high or 0}+1)", f"({last}+1)"
        wires.append(
            f"    wire [{width}*{count}-1:0] words_{name};\n"
            f"    generate for (word = 0; word < {count}; word = word + 1) begin : each_{name}\n"
            f"        assign words_{name}[word*{width} +: {width}] = {name}[word];\n"
            "    end endgenerate\n"
        )
    return "".join(wires)


def _drop_lines(text: str, design: Design) -> str:
    kept = [line for line in text.splitlines() if not any(part in line for part in design.without)]
    return "\n".join((*kept, ""))


def _cut_module(text: str, body: str = "") -> str:
    """Cut a module down to its ports; its outputs are anything."""
    start = text.index("module ")
    end = text.index(");", start) + 2
    ports = text[:end].replace("output reg ", "output wire")
    outputs = re.findall(r"^ *output wire *(\[[^\n]*\])? *(\w+) *(?:,|$|//)", ports[start:], re.MULTILINE)
    free = "".join(
        f"    (* anyseq *) wire {width} any_{name};\n    assign {name} = any_{name};\n"
        for width, name in outputs
    )
    return f"{ports}\n{free}{body}endmodule\n`default_nettype wire\n"


def _check_settlement(text: str) -> str:
    """Cut the registers, and check that every update is settled as exactly one thing."""
    settled = [name for name in (*DISPOSITIONS, "merged", "appended") if name not in _NOT_AT_SETTLEMENT]
    terms = " + ".join(f"{{5'd0, inc_{name}}}" for name in settled)
    check = f"    always @(posedge clk) if (!queue_rst) assert({{5'd0, inc_in_updates}} == {terms});\n"
    return _cut_module(text, check)


def _yosys_script(design: Design) -> str:
    cuts = [f"cutpoint {' '.join(f'w:{wire}' for wire in design.cut_wires)}"] if design.cut_wires else []
    return "\n".join(
        (
            "read_verilog -formal -Ihdl top.v hdl/olaf_*.v",
            f"prep -flatten -nordff -top {TOP}",
            *cuts,
            "opt_clean -purge",
            "async2sync",
            "chformal -early",
            f"chformal -assert -skip {_CYCLES_OF_RESET}",
            "delete t:$print",
            "memory_map",
            "opt -full",
            "techmap",
            "opt -full",
            "dffunmap",
            "simplemap",
            "setundef -undriven -anyseq",
            "aigmap",
            "write_aiger -zinit circuit.aig",
            "",
        )
    )
