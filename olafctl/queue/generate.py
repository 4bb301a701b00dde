"""What follows from the register map and the header layouts: Verilog and a documentation table."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from olafctl import paths
from olafctl.queue.registers import ADDRESS_BITS, FATES, REGISTERS, Access, Register
from olafctl.wire.layouts import ETHERNET, IPV4, OLAF, TUSER, UDP

_NOTE = "Generated from olafctl/{source} by `olafctl generate`: do not edit."


def generated() -> dict[Path, str]:
    """Every generated file's text, by its place relative to the sources' root."""
    return {
        Path("hdl/olaf_registers.v"): _registers(),
        Path("hdl/olaf_layout.vh"): _layout(),
        Path("docs/registers.md"): _table(),
    }


def _of(access: Access) -> list[Register]:
    return [register for register in REGISTERS if register.access is access]


def _registers() -> str:
    environment = Environment(
        loader=FileSystemLoader(paths.sources() / "templates" / "verilog"),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    return environment.get_template("olaf_registers.v.j2").render(
        fixed=[register for register in _of(Access.FIXED) if register.reset is None],
        constants=[register for register in _of(Access.FIXED) if register.reset is not None],
        settings=_of(Access.SETTING),
        pulses=_of(Access.PULSE),
        status=_of(Access.STATUS),
        counters=_of(Access.COUNTER),
        drops=[name for name in FATES if name.startswith("dropped_")],
        restart={
            "in_updates": "{32'd0, resident_updates_next}",
            "in_bypass": "{32'd0, resident_bypass_next}",
        },
        residents=("resident_updates", "resident_bypass"),
        address_bits=ADDRESS_BITS,
        hex=lambda offset: f"{ADDRESS_BITS}'h{offset:03x}",
    )


def _layout() -> str:
    """Every tuser field as a part select, and every Olaf header field as one of a frame's first beat."""
    lines = [
        f"// {_NOTE.format(source='wire/layouts.py')}",
        "// A header field of more than one byte is in network order: its first byte is its lowest here.",
        "`ifndef OLAF_LAYOUT_VH",
        "`define OLAF_LAYOUT_VH",
        "",
        f"`define OLAF_TUSER_BITS {TUSER.bits}",
    ]
    position = 0
    for field in TUSER.fields:
        lines.append(f"`define OLAF_TUSER_{field.name.upper()} {position} +: {field.bits}")
        lines.append(f"`define OLAF_TUSER_{field.name.upper()}_LOW {position}")
        position += field.bits
    lines.append("")
    start = ETHERNET.bits + IPV4.bits + UDP.bits
    for field in OLAF.fields:
        offset = start + OLAF.offset(field.name)
        low = offset // 8 * 8 + (8 - offset % 8 - field.bits if field.bits < 8 else 0)
        lines.append(f"`define OLAF_OLAF_{field.name.upper()} {low} +: {field.bits}")
        lines.append(f"`define OLAF_OLAF_{field.name.upper()}_LOW {low}")
    return "\n".join([*lines, "", "`endif", ""])


def _table() -> str:
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
