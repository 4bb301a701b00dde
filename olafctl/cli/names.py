"""Names of what is deployed, for the shell to complete."""

from collections.abc import Iterator
from contextlib import suppress

import click

from olafctl.cli.naming import beginning
from olafswitch.errors import OlafError


def hosts(context: click.Context, argument: click.Parameter, begun: str) -> list[str]:
    """Hosts of the deployment whose names begin so; none where they have no namespaces."""
    from olafctl.control.hosts import deployed
    from olafctl.control.store import pick

    # No error is shown in the middle of a command line.
    with suppress(OlafError):
        return beginning(begun, deployed.names(pick(context.params.get("deployment")).folder))
    return []


def ports(context: click.Context, argument: click.Parameter, begun: str) -> list[str]:
    """Front ports of the deployment whose names begin so."""
    from olafctl.control.deploy import recorded
    from olafctl.control.store import pick

    with suppress(OlafError):
        testbed = recorded(pick(context.params.get("deployment")))
        return beginning(begun, (port.name for port in testbed.ports))
    return []


def clusters(context: click.Context, argument: click.Parameter, begun: str) -> list[str]:
    """Clusters whose names begin so."""
    return beginning(begun, _shown("clusters"))


def workers(context: click.Context, argument: click.Parameter, begun: str) -> list[str]:
    """Workers whose names begin so."""
    return beginning(begun, _shown("workers"))


def _shown(kind: str) -> Iterator[str]:
    from olafctl.cli.asking import reached

    with suppress(OlafError), reached(None, "") as (client, _):
        for deployment in client.call("GetStatus").deployments:
            yield from (row.name for row in getattr(deployment, kind))
