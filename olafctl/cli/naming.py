"""How every verb that is about a deployment lets it be named."""

from collections.abc import Callable, Iterable
from typing import Any

import click


def deployment_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return the option ``--deployment`` of every verb that is about one."""
    return click.option(
        "-d", "--deployment", metavar="NAME", shell_complete=complete_deployments,
        help="The deployment, when there are several.",
    )(command)  # fmt: skip


def complete_deployments(context: click.Context, argument: click.Parameter, begun: str) -> list[str]:
    """Deployments whose names begin so."""
    from olafctl.control.store import all_names

    return filter_names(begun, all_names())


def filter_names(begun: str, names: Iterable[str]) -> list[str]:
    """Return those of ``names`` that begin so, sorted."""
    return sorted(name for name in names if name.startswith(begun))
