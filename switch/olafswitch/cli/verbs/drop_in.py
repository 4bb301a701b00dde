"""``olafswitch drop-in``: p4c's and BMv2's commands, in a folder for PATH, done by Olaf."""

import stat
import sys
from pathlib import Path

import click

from olafswitch.console.output import print_lines

_COMMANDS = {
    "p4c": "compilers",
    "p4c-bm2-ss": "compilers",
    "simple_switch": "switches",
    "simple_switch_grpc": "switches",
    "simple_switch_CLI": "runtime_cli",
}
_SCRIPT = """#!{python} -EP
{note} {name}.
from olafswitch.dropin import {module}

{module}.main({name!r})
"""


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--force", is_flag=True, help="Also where PATH has the real commands, which these would hide.")
def command(folder: Path, force: bool) -> None:
    """Write stand-ins for p4c and BMv2 into FOLDER.

    They are p4c, p4c-bm2-ss, simple_switch, simple_switch_grpc and simple_switch_CLI. With FOLDER first on
    PATH, what calls p4lang's compiler and BMv2 calls Olaf. FOLDER/python holds P4Runtime's messages as
    BMv2's controllers import them, for any protobuf: for PYTHONPATH.

    Where PATH has a real one already, nothing is written without --force.
    """
    from olafswitch.dropin.p4_package import write_package
    from olafswitch.engine.compile import engine_library
    from olafswitch.errors import BadInput, Problem
    from olafswitch.p4.stand_ins import NOTE, find_real, is_stand_in

    problems = []
    if set(sys.executable) & set(" \t"):
        what = "has a space in its path: no script can name it"
        problems.append(Problem(what, sys.executable, "install olafswitch elsewhere"))
    for name in _COMMANDS:
        if not force and (found := find_real(name)):
            what = "is on PATH and would be hidden"
            problems.append(Problem(what, str(found), "add --force if that is wanted"))
        if (folder / name).exists() and not is_stand_in(folder / name):
            problems.append(Problem("exists and is not Olaf's", str(folder / name), "choose another folder"))
    package = folder / "python" / "p4" / "__init__.py"
    if package.exists() and not is_stand_in(package):
        problems.append(Problem("exists and is not Olaf's", str(package), "choose another folder"))
    if problems:
        raise BadInput(*problems)
    engine_library()  # now, as Mininet gives a switch ten seconds to start
    folder.mkdir(parents=True, exist_ok=True)
    for name, module in _COMMANDS.items():
        script = folder / name
        script.write_text(_SCRIPT.format(python=sys.executable, note=NOTE, name=name, module=module))
        script.chmod(script.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    write_package(folder / "python", NOTE)
    print_lines(f"wrote {', '.join(_COMMANDS)}")
    print_lines(f'export PATH="{folder.absolute()}:$PATH"')
    print_lines(f'export PYTHONPATH="{(folder / "python").absolute()}"')
