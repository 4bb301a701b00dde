"""What follows from the register map and the header layouts: Verilog, C++ and a documentation table."""

from pathlib import Path

from olafctl.queue.registers import ADDRESS_BITS, DISPOSITIONS, REGISTERS, Access, Command, Register
from olafctl.templates import fill
from olaflab.sources import verilog
from olaflab.sources.internals import (
    DISPOSITION_BITS,
    END_BITS,
    FAULT_BITS,
    IS_DROP,
    KEPT,
    META,
    PATCH,
    SETTINGS,
    Disposition,
    Fault,
    FrameEnd,
)

_NOTE = "Generated from olafctl/{source} by `olaflab generate`: do not edit."


_USE = """\
The queue takes one beat a cycle, but at least four cycles for each update (256 bytes). Updates and
other frames take turns at the output, frame by frame, when both wait.

Mode, threshold H, reward rule, staleness rule and halt belong to an index, that is one segment of one
cluster. To change them, write the `set_…` registers and the range, then SET to `command`, and wait until
`command_busy` is 0. A command is applied to one index after the other, to each between two updates,
while traffic flows. A command that is refused changes nothing and sets `command_error`: an unknown
code, a range that is not within the indices, a mode, an H or a bound that does not exist, or another command
still at work. One that comes while the tables are cleared after reset waits until they are, and is busy
until then.

With the staleness rule an index learns the newest version from the ACKs that pass, and updates that are not
AGGREGATED are dropped beyond `set_stale_bound`, or scaled by 2^-k (docs/staleness.md). SET and RESET forget
what was learnt.

In FIFO mode every update is appended, and none is merged.

In ISWITCH mode an index sums one contribution of each member to the round in `seq`. The sum leaves
once, as a RESULT, when the counts in it reach H.

In ISWITCH_ASYNC mode an index sums whatever contributions come until the counts reach H. The sum leaves
once, as a RESULT whose `seq` is the index' next result number: 1 for the first after RESET, or after SET
from another mode, then one more each. A member's contributions have numbers of its own in `seq`; each is
taken once. Of each member the queue knows the highest number it took and which of the 16 before it.

SET applies a new H at once. SET to another mode discards the partial sum, and the index begins afresh: no
round is finished, no contribution known. A halted index keeps its partial sum until it goes on, FBCAST or
RESET.
""".splitlines()


def generate_files() -> dict[Path, str]:
    """Return every generated file's text, by its place relative to the sources' root."""
    return {
        Path("hdl/olaf_registers.v"): _register_lines(),
        Path("hdl/olaf_layout.vh"): verilog.layout_file(),
        Path("hdl/olaf_geometry.vh"): verilog.bounds_file(),
        Path("hdl/olaf_meta.vh"): _meta_lines(),
        Path("hdl/olaf_dispositions.vh"): _disposition_lines(),
        Path("olafctl/queue/native/registers.h"): _offset_lines(),
    }


def pages() -> dict[str, str]:
    """Make the site's page of registers."""
    return {"docs/registers": _register_table()}


def _generated_note(access: Access) -> list[Register]:
    return [register for register in REGISTERS if register.access is access]


def _register_lines() -> str:
    counted = [register for register in _generated_note(Access.COUNTER) if register.name != "cycle"]
    index = {register.name: at for at, register in enumerate(counted)}
    acts = [*_generated_note(Access.PULSE), *_generated_note(Access.COMMAND)]
    disposed = {"out_updates", "merged", *DISPOSITIONS}
    return fill(
        "verilog/olaf_registers.v.j2",
        fixed=[register for register in _generated_note(Access.FIXED) if register.reset is None],
        as_built=[register for register in _generated_note(Access.SETTING) if register.reset is None],
        commands=_generated_note(Access.COMMAND),
        live=_generated_note(Access.LIVE),
        constants=[register for register in _generated_note(Access.FIXED) if register.reset is not None],
        settings=_generated_note(Access.SETTING),
        pulses=_generated_note(Access.PULSE),
        acts=", ".join(f"{ADDRESS_BITS}'h{register.offset:03x}" for register in acts),
        status=_generated_note(Access.STATUS),
        counted=counted,
        increments=verilog.format_rows(f"inc_{name}" for name in reversed(index)),
        index=index,
        named=(
            *("in_updates", "out_updates", "in_bypass", "out_bypass"),
            *("appended", "dropped_bypass", "dropped_reset"),
        ),
        dispositions=f"{len(counted)}'b" + "".join(str(int(name in disposed)) for name in reversed(index)),
        residents=("resident_updates", "resident_bypass"),
        first=counted[0].offset - 8,
        last=counted[-1].offset + 4,
        address_bits=ADDRESS_BITS,
        hex=lambda offset: f"{ADDRESS_BITS}'h{offset:03x}",
    )


def _meta_lines() -> str:
    return verilog.guard_file(
        "olaf_meta",
        "lab/olaflab/sources/internals.py",
        [
            *verilog.pack_vector("OLAF_META", META),
            "",
            *verilog.pack_vector("OLAF_KEPT", KEPT),
            "",
            *verilog.pack_vector("OLAF_PATCH", PATCH),
            "",
            *verilog.pack_vector("OLAF_SETTINGS", SETTINGS),
            *verilog.mode_numbers(),
            *verilog.enum_codes("OLAF_COMMAND", Command, 8),
        ],
    )


def _disposition_lines() -> str:
    lines = [
        "// What becomes of an update.",
        f"`define OLAF_DISPOSITION_BITS {DISPOSITION_BITS}",
        f"`define OLAF_IS_DROP {IS_DROP}",
        *verilog.enum_codes("OLAF", Disposition, DISPOSITION_BITS),
        "",
        "// What is wrong with its headers.",
        f"`define OLAF_FAULT_BITS {FAULT_BITS}",
        *verilog.enum_codes("OLAF_FAULT", Fault, FAULT_BITS),
        "",
        "// How it arrived to its end.",
        f"`define OLAF_END_BITS {END_BITS}",
        *verilog.enum_codes("OLAF_END", FrameEnd, END_BITS),
    ]
    return verilog.guard_file("olaf_dispositions", "lab/olaflab/sources/internals.py", lines)


def _offset_lines() -> str:
    enumerations = [
        ("register", "OLAF_REGISTER", {register.name: register.offset for register in REGISTERS}),
        ("command", "OLAF_COMMAND", {command.name: command.value for command in Command}),
    ]
    counters = _generated_note(Access.COUNTER)
    constants = {
        register.name: register.reset
        for register in _generated_note(Access.FIXED)
        if register.reset is not None
    }
    resets = {
        register.name: register.reset
        for register in _generated_note(Access.SETTING)
        if register.reset is not None
    }
    lines = [
        "// Generated by `olaflab generate` from olafctl/queue/registers.py: edit that file instead.",
        "#pragma once",
        "",
        "enum { OLAF_COUNTERS_AT = " + f"{counters[0].offset:#x}, OLAF_COUNTERS = {len(counters)} }};",
        "",
    ]
    for name, prefix, values in enumerations:
        lines += [
            f"enum olaf_{name} {{",
            *(f"    {prefix}_{key.upper()} = {value:#x}," for key, value in values.items()),
            "};",
            "",
        ]
    for name, prefix, values in (("reset value", "OLAF_RESET", resets), ("value", "OLAF_FIXED", constants)):
        lines += [f"// The {name} of each that has one.", "enum {"]
        lines += [f"    {prefix}_{key.upper()} = {value:#x}," for key, value in values.items()] + ["};", ""]
    return "\n".join(lines[:-1]) + "\n"


def _register_table() -> str:
    lines = [
        "# OlafQueue's registers",
        "",
        f"<!-- {_NOTE.format(source='queue/registers.py')} -->",
        "",
        "32-bit AXI4-Lite registers, byte offsets. Status and counters show the last snapshot: write 1 to",
        "`snapshot`, then read. A counter's high word is at its offset + 4. At every instant",
        "",
        "    in_updates = out_updates + merged + replaced_… + dropped_… (of updates) + resident_updates",
        "    in_bypass = out_bypass + dropped_bypass + resident_bypass",
        "",
        *_USE,
        "",
        "| offset | name | access | reset | meaning |",
        "|---|---|---|---|---|",
    ]
    for register in REGISTERS:
        reset = "as built" if register.reset is None else f"{register.reset:#x}"
        lines.append(
            f"| 0x{register.offset:03x} | `{register.name}` | {register.access.value} | {reset} "
            f"| {register.meaning} |"
        )
    return "\n".join([*lines, ""])
