"""Names of deployed objects, for the shell to complete."""

from collections.abc import Iterator
from contextlib import suppress

import click

from olafctl.cli.naming import filter_names
from olafswitch.errors import OlafError


def complete_hosts(context: click.Context, argument: click.Parameter, begun: str) -> list[str]:
    """Return the deployment's hosts whose names begin with ``begun``; none where they have no namespaces."""
    from olafctl.control.hosts import deployed
    from olafctl.control.store import pick_store

    # No error is shown in the middle of a command line.
    with suppress(OlafError):
        return filter_names(begun, deployed.host_names(pick_store(context.params.get("deployment")).folder))
    return []


def complete_ports(context: click.Context, argument: click.Parameter, begun: str) -> list[str]:
    """Return the deployment's front ports whose names begin with ``begun``."""
    from olafctl.control.deploy import recorded_testbed
    from olafctl.control.store import pick_store

    with suppress(OlafError):
        testbed = recorded_testbed(pick_store(context.params.get("deployment")))
        return filter_names(begun, (port.name for port in testbed.ports))
    return []


def complete_clusters(context: click.Context, argument: click.Parameter, begun: str) -> list[str]:
    """Return the clusters whose names begin with ``begun``."""
    return filter_names(begun, _list_names("clusters"))


def complete_workers(context: click.Context, argument: click.Parameter, begun: str) -> list[str]:
    """Return the workers whose names begin with ``begun``."""
    return filter_names(begun, _list_names("workers"))


def _list_names(kind: str) -> Iterator[str]:
    from olafctl.cli.asking import reach_deployment

    with suppress(OlafError), reach_deployment(None, "") as (client, _):
        for deployment in client.call("GetStatus").deployments:
            yield from (row.name for row in getattr(deployment, kind))
