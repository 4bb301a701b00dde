"""What follows from the box's register map and the metadata's layout: Verilog and a documentation page."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from olafctl.queue.registers import Access, Register
from olafctl.targets.opennic.metadata import bus_width, list_fields
from olafctl.targets.opennic.registers import (
    ADDRESS_BITS,
    BOX_BASE,
    BOX_BYTES,
    HOST_ETHER_TYPE,
    HOST_SOURCE,
    PORTS,
    REGISTERS,
    WINDOWS,
)
from olafctl.templates import fill
from olafctl.wire.layouts import CPU_PORT, TUSER, FrameKind
from olaflab.sources import verilog

_OF_A_PORT = re.compile(r"^(\w*port\w*?)_\d+$")


def generate_files() -> dict[Path, str]:
    """Return every generated file's text, by its place relative to the sources' root."""
    metadata = list_fields()
    return {
        Path("hdl/opennic/olaf_box_registers.v"): _register_lines(),
        Path("hdl/opennic/olaf_box_map.vh"): fill(
            "opennic/olaf_box_map.vh.j2",
            windows=WINDOWS,
            ether_type=HOST_ETHER_TYPE,
            source=HOST_SOURCE,
            cpu_port=CPU_PORT,
            ports=PORTS,
            kinds=FrameKind,
        ),
        Path("hdl/opennic/olaf_box_metadata.vh"): fill(
            "opennic/olaf_box_metadata.vh.j2",
            fields=metadata,
            bits=bus_width(metadata),
            tuser=[field.name.upper() for field in TUSER.fields],
        ),
    }


def pages() -> dict[str, str]:
    """Make the site's page of the box's registers."""
    given = {"windows": WINDOWS, "registers": REGISTERS, "box_base": BOX_BASE, "box_bytes": BOX_BYTES}
    return {"docs/opennic-registers": fill("opennic/registers.md.j2", **given)}


def _generated_note(access: Access) -> list[Register]:
    return [register for register in REGISTERS if register.access is access]


def _array_ports(registers: Sequence[Register]) -> dict[str, int]:
    """Count what there is one of for each port: ``in_port`` for ``in_port_0``, ``in_port_1`` and so on."""
    found = Counter(match[1] for each in registers if (match := _OF_A_PORT.match(each.name)))
    return dict(found)


def _single_ports(registers: Sequence[Register]) -> list[Register]:
    return [each for each in registers if not _OF_A_PORT.match(each.name)]


def _increment_of(counter: str) -> str:
    """Return what increments a counter: an input of its own, or a port's bit of one."""
    match = _OF_A_PORT.match(counter)
    return f"inc_{match[1]}[{counter.removeprefix(match[1] + '_')}]" if match else f"inc_{counter}"


def _register_lines() -> str:
    fixed = _generated_note(Access.FIXED)
    pulses = _generated_note(Access.PULSE)
    settings, counters = _generated_note(Access.SETTING), _generated_note(Access.COUNTER)
    return fill(
        "opennic/olaf_box_registers.v.j2",
        fixed=[register for register in fixed if register.reset is None],
        constants=[register for register in fixed if register.reset is not None],
        settings=settings,
        single_settings=_single_ports(settings),
        setting_arrays=_array_ports(settings),
        pulses=pulses,
        acts=", ".join(f"{ADDRESS_BITS}'h{register.offset:03x}" for register in pulses),
        commands=[register for register in pulses if register.name.startswith("write_")],
        counters=counters,
        increments=verilog.format_rows(_increment_of(register.name) for register in reversed(counters)),
        first=counters[0].offset,
        last=counters[-1].offset + 4,
        single_counters=_single_ports(counters),
        counter_arrays=_array_ports(counters),
        address_bits=ADDRESS_BITS,
        hex=lambda offset: f"{ADDRESS_BITS}'h{offset:03x}",
    )
