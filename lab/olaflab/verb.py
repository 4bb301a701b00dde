"""Verbs declared once: a function's parameters are the options, and the report that it returns is printed."""

import inspect
import types
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import click

from olafctl.cli.numbers import check_finite
from olafswitch.console.output import json_option, print_json, print_table
from olafswitch.errors import OlafError, Problem


class TextTable(NamedTuple):
    """A titled table."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class VerbReport:
    """What a verb found. With ``failed`` or any problem the exit code is 1."""

    document: Any
    """Printed for ``--json``."""
    parts: Sequence[str | TextTable] = ()
    """Printed without ``--json``, in this order."""
    problems: Sequence[str | Problem] = ()
    failed: bool = False


@dataclass(frozen=True)
class _Declared:
    default: Any
    help: str | None
    names: tuple[str, ...]
    argument: bool
    least: float | None
    most: float | None
    above: bool
    choices: Sequence[str]
    more: dict[str, Any]


def option(
    default: Any,
    help: str,
    *names: str,
    least: float | None = None,
    most: float | None = None,
    above: bool = False,
    choices: Sequence[str] = (),
    **more: Any,
) -> Any:
    """Declare an option as the default of a parameter; ``...`` as default makes it required.

    ``names`` replace the name that follows from the parameter; ``above`` excludes ``least`` itself; ``more``
    goes to click.
    """
    return _Declared(default, help, names, False, least, most, above, choices, more)


def argument(default: Any = ..., *names: str, **more: Any) -> Any:
    """Declare an argument as the default of a parameter; ``...`` as default makes it required."""
    return _Declared(default, None, names, True, None, None, False, (), more)


def verb(
    json: str = "Print the figures as JSON.",
) -> Callable[[Callable[..., VerbReport | None]], click.Command]:
    """Make a command of a function whose parameters are declared by :func:`option` and :func:`argument`.

    A parameter ``as_json`` tells the function whether JSON is wanted; a function that returns None has
    printed its results itself.
    """

    def made(function: Callable[..., VerbReport | None]) -> click.Command:
        parameters = inspect.signature(function).parameters
        tells = "as_json" in parameters

        def command(as_json: bool, **values: Any) -> None:
            report = function(**values, **({"as_json": as_json} if tells else {}))
            if report is not None:
                show_report(report, as_json)

        decorated: Any = json_option(json)(command)
        for name, parameter in reversed([*parameters.items()]):
            if name != "as_json":
                decorated = _make_decorator(name, parameter)(decorated)
        command.__doc__ = function.__doc__
        return click.command("command")(decorated)

    return made


def show_report(report: VerbReport, as_json: bool) -> None:
    """Print a report; raise OlafError for its problems, or SystemExit where it failed without any."""
    if as_json:
        print_json(report.document)
    else:
        for part in report.parts:
            if isinstance(part, TextTable):
                print_table(*part)
            else:
                click.echo(part)
    if report.problems:
        raise OlafError(*report.problems)
    if report.failed:
        raise SystemExit(1)


def _make_decorator(name: str, parameter: inspect.Parameter) -> Callable[[Any], Any]:
    declared = parameter.default
    assert isinstance(declared, _Declared), f"{name} is not declared by option() or argument()"
    kind, many = parameter.annotation, False
    if isinstance(kind, types.UnionType):
        [kind] = (each for each in typing.get_args(kind) if each is not type(None))
    if typing.get_origin(kind) is tuple:
        kind, many = typing.get_args(kind)[0], True
    more = dict(declared.more)
    if "type" not in more and not (kind is bool or "flag_value" in more):
        more["type"] = _choose_type(kind, declared)
    if declared.default is ...:
        more["required"] = True
    elif not many:
        more["default"] = declared.default
    if declared.argument:
        names = (name, *declared.names)
        return click.argument(*names, **(more | {"nargs": -1} if many else more))
    if kind is bool:
        more["is_flag"] = True
    if kind is float:
        more.setdefault("callback", check_finite)
    if many:
        more |= {"multiple": True} | ({"default": declared.default} if declared.default else {})
    more.setdefault("show_default", kind is not bool and declared.default not in (None, ..., ()))
    names = declared.names or (f"--{name.replace('_', '-')}",)
    return click.option(name, *names, help=declared.help, **more)


def _choose_type(kind: Any, declared: _Declared) -> Any:
    if declared.choices:
        return click.Choice(declared.choices)
    if kind is Path:
        return click.Path(path_type=Path)
    if declared.least is None and declared.most is None:
        return kind
    if kind is int:
        return click.IntRange(declared.least, declared.most)  # type: ignore[arg-type]
    return click.FloatRange(declared.least, declared.most, min_open=declared.above)


FILE = click.Path(dir_okay=False, path_type=Path)
EXISTING_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
EXISTING_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
