"""The naming of a deployment, which all verbs about one share."""

from collections.abc import Callable, Iterable
from typing import Any

import click


def deployment_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option ``--deployment`` of every verb about a deployment."""
    return click.option(
        "-d", "--deployment", metavar="NAME", shell_complete=complete_deployments,
        help="The deployment, when there are several.",
    )(command)  # fmt: skip


def complete_deployments(context: click.Context, argument: click.Parameter, begun: str) -> list[str]:
    """Return the deployments whose names begin with ``begun``."""
    from olafctl.control.store import all_names

    return filter_names(begun, all_names())


def filter_names(begun: str, names: Iterable[str]) -> list[str]:
    """Return the ``names`` that begin with ``begun``, sorted."""
    return sorted(name for name in names if name.startswith(begun))
