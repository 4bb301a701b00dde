"""``p4c`` and ``p4c-bm2-ss``, with the options of p4lang's that have a meaning for BMv2 and v1model."""

import re
import sys
from pathlib import Path
from typing import Any, NoReturn

import click

from olafswitch import __version__
from olafswitch.console.output import print_document, print_lines
from olafswitch.dropin.options import ignore_options, list_ignored, refuse_options, run_command

_FLAGS = ("--emit-externs", "--ndebug", "--parser-inline-opt", "--loopsUnroll", "-v", "-g", "--debug",
          "--testJson", "--doNotEmitIncludes", "--nocpp", "-W")  # fmt: skip
_VALUED = ("--top4", "-T", "--maxErrorCount", "--excludeFrontendPasses", "--excludeMidendPasses",
           "--disable-annotations", "-O", "-Xp4c", "-Xpreprocessor")  # fmt: skip
_NO_PASSES = "this compiler has no passes of p4c's"
_NO_DEPENDENCIES = "no file of dependencies is written"
_REFUSED_FLAGS = {
    **dict.fromkeys(("--listFrontendPasses", "--listMidendPasses"), _NO_PASSES),
    **dict.fromkeys(("-M", "-MD", "-MG", "-MP"), _NO_DEPENDENCIES),
    "--parser-only": _NO_PASSES,
}
_REFUSED_VALUED = {
    **dict.fromkeys(("--toJSON", "--fromJSON", "--dump"), "this compiler does not write or read p4c's IR"),
    "--pp": "no P4 is written; -E prints the preprocessed program",
    "--metrics": "no metrics are written",
    **dict.fromkeys(("--p4runtime-entries-files", "--p4runtime-entries-file"),
                    "entries of the program stay in it, and P4Runtime reads them from the switch"),
    **dict.fromkeys(("-MF", "-MT", "-MQ"), _NO_DEPENDENCIES),
}  # fmt: skip
_DIAGNOSTICS = re.compile(r"--W(disable|info|warn|error)(=.*)?")
_P4_14 = re.compile(r"^\s*(header_type\s+\w+|field_list\s+\w+|parser\s+\w+)\s*\{", re.MULTILINE)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="The JSON file; for p4c also its folder."
)
@click.option(
    "-I", "include", type=click.Path(path_type=Path), multiple=True, help="Look for included files there too."
)
@click.option("-D", "defines", multiple=True, metavar="MACRO[=VALUE]", help="Define a macro.")
@click.option("--p4runtime-files", "--p4runtime-file", "infos", multiple=True, metavar="FILE[,FILE]",
              help="Write the P4Info: text, .json, or .bin.")  # fmt: skip
@click.option(
    "--p4runtime-format", type=click.Choice(["text", "json", "binary"]), help="Format of every P4Info file."
)
@click.option("-b", "--target", type=click.Choice(["bmv2"]), default="bmv2", help="bmv2 alone.")
@click.option("-a", "--arch", type=click.Choice(["v1model"]), default="v1model", help="v1model alone.")
@click.option("--std", "-x", "--p4v", "standard", default="p4-16", help="p4-16, or 16, alone.")
@click.option("-E", "only_preprocess", is_flag=True, help="Print the preprocessed program only.")
@click.version_option(__version__, "--version", "-V", message="%(prog)s of olafswitch %(version)s")
@click.option("-U", "undefined", multiple=True, metavar="MACRO", help="Undefine a macro.")
@ignore_options(_FLAGS, _VALUED)
@refuse_options(_REFUSED_FLAGS, _REFUSED_VALUED)
def compiler(
    file: Path, output: Path | None, include: tuple[Path, ...], defines: tuple[str, ...],
    infos: tuple[str, ...], p4runtime_format: str | None, target: str, arch: str, standard: str,
    only_preprocess: bool, undefined: tuple[str, ...], **unused: Any,
) -> None:  # fmt: skip
    """Compile the P4_16 program FILE for v1model, for Olaf's simple_switch and simple_switch_grpc.

    Options of p4lang's compiler that are not listed here and concern its passes and warnings are taken, and
    named once as without effect; those that would write a file are refused.
    """
    from olafswitch.errors import BadInput, Problem
    from olafswitch.p4.check.bmv2 import find_differences
    from olafswitch.p4.check.program import check_program
    from olafswitch.p4.compiler import compile_text
    from olafswitch.p4.device_config import as_json
    from olafswitch.p4.syntax.parse import parse_program
    from olafswitch.p4.syntax.preprocess import parse_defines, preprocess_file

    if standard not in ("p4-16", "p4_16", "16"):
        what = f"--std {standard} is not supported: Olaf compiles P4_16"
        raise BadInput(Problem(what, str(file), "translate the program to P4_16"))
    if not file.is_file():
        raise BadInput(Problem("no such file", str(file)))
    if dropped := list_ignored(unused):
        print_lines(f"without effect here: {', '.join(dropped)}", err=True)
    macros = {**parse_defines(defines), **dict.fromkeys(undefined)}
    text = preprocess_file(file, include, macros)
    if only_preprocess:
        print_document(text)
        return
    _check_version(text, file)
    for pos, what in find_differences(check_program(parse_program(text), str(file))):
        print_lines(f"{pos}: note: {what}, this compiler as P4_16 says", err=True)
    program = compile_text(text, file=str(file))
    if program.architecture != arch:
        raise BadInput(Problem(f"the program is for {program.architecture}, not {arch}", str(file)))
    written = {Path(name): _as_info(program.p4info, name, p4runtime_format) for given in infos
               for name in given.split(",")}  # fmt: skip
    json_file = _json_file(click.get_current_context().info_name or "", output, file)
    if json_file is not None:
        written[json_file] = as_json(program.device_config, str(file)).encode()
    for path, data in written.items():
        path.write_bytes(data)


def _json_file(name: str, output: Path | None, file: Path) -> Path | None:
    """Return where to write the program: p4c takes a folder or a file, p4c-bm2-ss a file or nothing."""
    if name == "p4c" and (output is None or output.is_dir() or output.suffix != ".json"):
        folder = output or Path()
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{file.stem}.json"
    return output


def _check_version(text: str, file: Path) -> None:
    """Raise BadInput for a declaration of P4_14, which the grammar would report as something else."""
    from olafswitch.errors import BadInput, Problem

    found = _P4_14.search(text)
    if found:
        what = f"this is P4_14 ({found[0].split()[0]}); Olaf compiles P4_16"
        raise BadInput(Problem(what, str(file), "translate the program to P4_16"))


def _as_info(info: Any, name: str, chosen: str | None) -> bytes:
    from google.protobuf import json_format

    from olafswitch.p4.compiler import as_text

    kind = chosen or {".json": "json", ".bin": "binary"}.get(Path(name).suffix, "text")
    if kind == "binary":
        data: bytes = info.SerializeToString()
        return data
    if kind == "json":
        text: str = json_format.MessageToJson(info)
        return f"{text}\n".encode()
    return as_text(info).encode()


def main(name: str) -> NoReturn:
    """Be ``p4c`` or ``p4c-bm2-ss``."""
    run_command(compiler, name, [word for word in sys.argv[1:] if not _DIAGNOSTICS.fullmatch(word)])
