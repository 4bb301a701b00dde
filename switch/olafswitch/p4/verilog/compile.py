"""Compile a program to a folder of Verilog: module, library, and the description that a driver needs."""

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from olafswitch.errors import OlafError, Problem
from olafswitch.p4.check.program import check_program
from olafswitch.p4.refuse import Refused
from olafswitch.p4.syntax.parse import parse_program
from olafswitch.p4.verilog.module import Module, build_module
from olafswitch.p4.verilog.pipeline import Pipeline, build_pipeline
from olafswitch.simulation import mapping

HASHES = ("crc32", "crc16", "csum16", "xor16", "identity")
"""The functions that a user extern may compute."""

_WORDS = (
    "always assign begin bit buf case cell class config default design disable edge else end event final for"
    " force function generate if initial inside instance int interface join large library local logic loop"
    " medium module net new or output package packed parameter primitive priority process program property"
    " pure rand real ref reg release repeat return scalared sequence signed small solve static strong struct"
    " super supply0 supply1 table tagged task this throughout time tri type union unique use var vectored"
    " virtual void wait while wire with within xor"
)
_KEYWORDS = frozenset(_WORDS.split())
"""Words of Verilog and SystemVerilog, which a module cannot have as its name."""


_MARK = re.compile(r'\s*#\s*line\s+(\d+)(?:\s+"([^"]*)")?')
_LIBRARY = "p4_"
"""The beginning of the names of the library's modules, and of no program's."""


def list_library() -> list[Path]:
    """Return the Verilog files that every module is made of."""
    return sorted((Path(__file__).parent / "hdl").glob("*.v"))


def compile_module(
    text: str, file: str, name: str = "", functions: Mapping[str, str] | None = None
) -> Module:
    """Compile a preprocessed program to Verilog; ``functions`` names the hash of each user extern.

    Raises Refused, with the place, where the program is wrong or outside of the subset.
    """
    name = name or re.sub(r"\W", "_", Path(file).stem, flags=re.ASCII)
    if name in _KEYWORDS or not name[0].isalpha() or name.lower().startswith(_LIBRARY):
        name = f"program_{name}"
    try:
        made = build_pipeline(check_program(parse_program(text), file), functions)
        require_memory(made)
        return build_module(name, made, source_lines(text, file))
    except OlafError:
        raise
    except RecursionError:
        raise OlafError(Problem("the program is nested too deeply", file)) from None
    except Exception as error:
        what = f"the P4 compiler failed: {type(error).__name__}: {error}"
        raise OlafError(Problem(what, file, "this is a defect of Olaf's P4 compiler")) from error


def write_module(made: Module, p4info: str, folder: Path, with_map: bool = False) -> list[Path]:
    """Write the module, its library, ``NAME.json``, the P4Info and the report ``NAME.txt``; return the files.

    With ``with_map`` the report also holds Yosys' figures of the module. Raises MissingTool without Yosys.
    """
    mapped = _map_module(made) if with_map else ""
    folder.mkdir(parents=True, exist_ok=True)
    written = {
        folder / f"{made.name}.v": made.text,
        folder / f"{made.name}.json": json.dumps(made.description, indent=1) + "\n",
        folder / f"{made.name}.p4info.txtpb": p4info,
        folder / f"{made.name}.txt": describe_module(made) + mapped,
    }
    for path, text in written.items():
        path.write_text(text)
    return [*written, *(Path(shutil.copy(path, folder)) for path in list_library())]


def describe_module(made: Module) -> str:
    """Describe a module for people."""
    about = made.description
    lines = [
        f"module {made.name}",
        f"  header pipeline: {about['cycles']} cycles, one frame a cycle; looks at {about['window']} bytes",
        f"  its registers keep {about['carried_bits']} bits",
        f"  comes with a frame: {_list_widths(about['sideband_in'])};"
        f" leaves: {_list_widths(about['sideband_out'])}",
        f"  writes {len(about['written'])} bytes of a frame, in {len(about['shifts'])} lengths",
    ]
    for table in about["tables"]:
        held, small = table["ways"] << table["row_bits"], table["small"]
        bits = (table["key_bits"] + table["entry_bits"] + 1) * held
        where = f"{held + small} places, {small} of them in registers; {bits / 1024:.0f} kbit of memory"
        lines.append(f"  table {table['name']}: {table['engine']}, {where}")
    for counter in about["counters"]:
        kind = "direct counter" if counter["direct"] else "counter"
        lines.append(f"  {kind} {counter['name']}: {counter['cells']} cells of 64 bits")
    for register in about["registers"]:
        lines.append(f"  register {register['name']}: {register['cells']} cells of {register['bits']} bits")
    return "\n".join(lines) + "\n"


def source_lines(text: str, file: str) -> dict[tuple[str, int], str]:
    """Find each line of a preprocessed program as its author wrote it, by file and number."""
    lines: dict[tuple[str, int], str] = {}
    number = 1
    for line in text.splitlines():
        if mark := _MARK.match(line):
            number, file = int(mark[1]), mark[2] or file
        else:
            lines.setdefault((file, number), line)
            number += 1
    return lines


def require_memory(made: Pipeline) -> None:
    """Raise Refused, naming the largest part, where a program's memory is more than the card has."""
    parts = [(each.memory_bits, f"table {each.table.name}", each.table.pos) for each in made.tables]
    parts += [(each.cells * each.bits, f"register {each.name}", each.pos) for each in made.registers]
    parts += [(64 * each.cells, f"counter {each.counter.name}", each.counter.pos) for each in made.counts]
    total = sum(bits for bits, _, _ in parts)
    if total > mapping.MEMORY_BITS:
        bits, what, pos = max(parts)
        why = (
            f"takes {bits / 1e6:,.0f} Mbit; with all other memory that is {total / 1e6:,.0f} Mbit,"
            f" and a card (XCU55C) has {mapping.MEMORY_BITS / 1e6:,.0f}"
        )
        raise Refused(pos, what, why)


def _map_module(made: Module) -> str:
    files = {path.name: path.read_text() for path in list_library()} | {f"{made.name}.v": made.text}
    netlist = mapping.map_module(made.name, files)
    taken = mapping.count_resources(netlist)
    counts = ", ".join(f"{taken[name.lower()]:,} {name}" for name in mapping.DEVICE)
    levels = f"{netlist.longest_path().levels} levels of logic"
    return f"  mapped to UltraScale+ by {mapping.mapper_version()}: {counts}; {levels}\n"


def _list_widths(fields: Mapping[str, int]) -> str:
    return ", ".join(f"{name} ({bits} bits)" for name, bits in fields.items())
