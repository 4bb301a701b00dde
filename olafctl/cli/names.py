"""Names of what is deployed, for the shell to complete."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

import click

from olafctl.errors import OlafError


def deployment_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option ``--deployment`` of a verb whose argument is something else."""
    return click.option(
        "--deployment", "--name", metavar="NAME", shell_complete=deployments,
        help="The deployment, when there are several.",
    )(command)  # fmt: skip


def deployments(context: click.Context, argument: click.Parameter, begun: str) -> list[str]:
    """Deployments whose names begin so."""
    from olafctl.control.store import all_names

    return _beginning(begun, all_names())


def hosts(context: click.Context, argument: click.Parameter, begun: str) -> list[str]:
    """Hosts of the deployment whose names begin so; none where they have no namespaces."""
    from olafctl.control.hosts import deployed
    from olafctl.control.store import pick

    # No error is shown in the middle of a command line.
    with suppress(OlafError):
        return _beginning(begun, deployed.names(pick(context.params.get("deployment")).folder))
    return []


def ports(context: click.Context, argument: click.Parameter, begun: str) -> list[str]:
    """Front ports of the deployment whose names begin so."""
    from olafctl.control.deploy import recorded
    from olafctl.control.store import pick

    with suppress(OlafError):
        testbed = recorded(pick(context.params.get("deployment")))
        return _beginning(begun, (port.name for port in testbed.ports))
    return []


def clusters(context: click.Context, argument: click.Parameter, begun: str) -> list[str]:
    """Clusters whose names begin so."""
    return _beginning(begun, _told("clusters"))


def workers(context: click.Context, argument: click.Parameter, begun: str) -> list[str]:
    """Workers whose names begin so."""
    return _beginning(begun, _told("workers"))


def _told(kind: str) -> Iterator[str]:
    from olafctl.cli.asking import reached

    with suppress(OlafError), reached(None, "") as (client, _):
        for deployment in client.call("GetStatus").deployments:
            yield from (row.name for row in getattr(deployment, kind))


def _beginning(begun: str, names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if name.startswith(begun))
