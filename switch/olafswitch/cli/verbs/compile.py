"""``olafswitch compile``: a P4 program to P4Info, device config, C++ and a shared library."""

from pathlib import Path

import click

from olafswitch.console.output import json_option, print_json, print_lines


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("-o", "--output", type=click.Path(file_okay=False, path_type=Path), help="Folder to fill.")
@click.option("-I", "--include", "include", type=click.Path(file_okay=False, path_type=Path), multiple=True,
              help="Look for included files there too.")  # fmt: skip
@click.option("-D", "--define", "defines", multiple=True, metavar="MACRO[=VALUE]", help="Define a macro.")
@click.option("--verilog", type=click.Path(file_okay=False, path_type=Path),
              help="Write the program as Verilog to this folder; without -o only that.")  # fmt: skip
@click.option("--extern", "externs", multiple=True, metavar="NAME=HASH",
              help="The hash that a user extern computes, for --verilog; crc32 for example.")  # fmt: skip
@click.option("--map", "with_map", is_flag=True,
              help="With --verilog: report what Yosys makes of it, size and levels (minutes).")  # fmt: skip
@json_option("Print what was written as JSON.")
def command(
    file: Path,
    output: Path | None,
    include: tuple[Path, ...],
    defines: tuple[str, ...],
    verilog: Path | None,
    externs: tuple[str, ...],
    with_map: bool,
    as_json: bool,
) -> None:
    """Compile the P4_16 program FILE for v1model or XSA.

    Writes p4info.txtpb, device_config.p4i (what a P4Runtime client pushes), and the program as C++ and as a
    shared library; with --verilog as a Verilog-2005 module too, with the library that it is made of, its
    P4Info, what a driver must know of its tables, and a report: `simulate` runs it. A program that is wrong,
    or uses what is not supported, is refused with its place and exit code 2; nothing is written then.
    """
    from olafswitch.p4.compiler import as_text, compile_text, p4info_of
    from olafswitch.p4.syntax.preprocess import parse_defines, preprocess_file

    if output is None and verilog is None:
        raise click.UsageError("give -o, --verilog, or both")
    macros = parse_defines(defines)
    functions = {name: kind for name, _, kind in (each.partition("=") for each in externs)}
    files: list[Path] = []
    fresh, module = True, None
    if verilog is not None or functions:
        # Late, as it takes long to load.
        from olafswitch.p4.verilog.compile import HASHES, compile_module, write_module

        if unknown := set(functions.values()) - set(HASHES):
            what = f"{unknown.pop()!r} is none of {', '.join(HASHES)}"
            raise click.BadParameter(what, param_hint="--extern")
    text = preprocess_file(file, include, macros)
    if verilog is not None:
        module = compile_module(text, str(file), functions=functions)
    if output is None:
        info = as_text(p4info_of(text, str(file)))
    else:
        program = compile_text(text, lambda step: print_lines(f"{file}: {step}", err=True), file=str(file))
        info = as_text(program.p4info)
        output.mkdir(parents=True, exist_ok=True)
        written = {
            output / "p4info.txtpb": info.encode(),
            output / "device_config.p4i": program.device_config,
            output / f"{file.stem}.cpp": program.cpp.read_bytes(),
            output / f"{file.stem}.so": program.library.read_bytes(),
        }
        for path, data in written.items():
            path.write_bytes(data)
        files, fresh = [*written], program.fresh
    if module is not None and verilog is not None:
        files += write_module(module, info, verilog, with_map)
    if as_json:
        print_json({"files": [str(path) for path in files], "compiled": fresh})
    else:
        print_lines(*(f"wrote {path}" for path in files))
