"""The stand-in for VitisNetP4's driver, built for a program: what the agent loads with a simulated card."""

from collections.abc import Mapping
from pathlib import Path

from olafctl.targets.opennic import plugin
from olafctl.templates import fill_in
from olaflab.opennic.ip_registers import PAGE, action_list
from olaflab.opennic.stand_ins import TEMPLATES
from olafswitch import cache
from olafswitch.p4runtime.dataplane import P4Info
from olafswitch.p4runtime.program import MatchKind, Program, Table
from olafswitch.toolchain import cxx, run

_SHIM = plugin.DRIVER
_FAKE = Path(__file__).resolve().parent / "driver"
_FLAGS = ("-std=c++17", "-O1", "-fPIC", "-shared", "-fvisibility-inlines-hidden", "-x", "c++")
_TINY = 32
"""Entries up to which VitisNetP4 makes a Tiny CAM."""


def build(name: str, info: P4Info, build_info: int) -> Path:
    """The driver library of the IP ``name``, from the cache or built now.

    Raises MissingTool without a C++ compiler, OlafError when it fails.
    """
    config = fill_in(
        TEMPLATES, "fake_driver_config.cpp.j2", name=name, build_info=build_info, **_layout(info)
    )
    compiler = cxx()
    sources = [*sorted(_SHIM.iterdir()), *sorted(_FAKE.iterdir())]
    key = cache.digest([str(compiler), repr(_FLAGS), config, name, *sources])

    def make(folder: Path) -> None:
        made = folder / "config.cpp"
        made.write_text(config)
        units = [made, _SHIM / "olaf_driver.c", _FAKE / "fake_driver.cpp"]
        command = [*compiler.command, *_FLAGS, f"-DOLAF_IP={name}", f"-I{_SHIM}", f"-I{_FAKE}"]
        output = ["-o", str(folder / f"{name}.so")]
        run([*command, *map(str, units), *output], where=f"building the driver's stand-in of {name}")

    folder, _ = cache.build_once("opennic-driver", key, make)
    return folder / f"{name}.so"


def _layout(info: P4Info) -> Mapping[str, object]:
    program = Program(info)
    tables = [_table(table, PAGE * page) for page, table in enumerate(program.tables.values(), 1)]
    counters = [
        {"name": _short(counter.name), "base": PAGE * page, "size": counter.size}
        for page, counter in enumerate(program.counters.values(), 1 + len(tables))
    ]
    return {"tables": tables, "counters": counters}


def _table(table: Table, base: int) -> Mapping[str, object]:
    actions = [
        {"name": _short(action.name), "bits": sum(param.bits for param in action.params)}
        for action in action_list(table)
    ]
    return {
        "name": _short(table.name),
        "mode": _mode(table),
        "base": base,
        "key_bits": sum(each.bits for each in table.fields),
        "params_bits": max(sum(param.bits for param in each.params) for each in action_list(table)),
        "entries": table.size,
        "actions": actions,
    }


def _mode(table: Table) -> str:
    """As UG1308's Compiler Table Selection has it."""
    small = table.size <= _TINY
    kinds = {each.kind for each in table.fields}
    if kinds == {MatchKind.EXACT}:
        return "TINY_BCAM" if small else "BCAM"
    if small:
        return "TINY_TCAM"
    return "STCAM" if kinds <= {MatchKind.EXACT, MatchKind.LPM} else "TCAM"


def _short(name: str) -> str:
    """Without the top control's name."""
    return name.partition(".")[2] or name
