"""``olafctl regroup``: move a worker to another cluster while traffic flows."""

from typing import TYPE_CHECKING

import click

from olafctl.cli.output import json_option, print_json

if TYPE_CHECKING:
    from olafctl.daemon.api.client import Client


@click.command()
@click.argument("worker")
@click.argument("cluster")
@click.option("--deployment", metavar="NAME", help="The deployment, when there are several.")
@json_option("Print the changes as JSON.")
def command(worker: str, cluster: str, deployment: str | None, as_json: bool) -> None:
    """Move WORKER into CLUSTER without losing a frame.

    CLUSTER is a name or an index. The worker is a member of both clusters for a moment, and of CLUSTER alone
    when this returns. A later deploy of the same testbed keeps the move. Where a daemon keeps the deployment,
    it makes the move.
    """
    from olafctl.control.regroup import regroup
    from olafctl.control.store import pick
    from olafctl.daemon.keeper import keeper

    store = pick(deployment)
    with keeper(store.folder) as daemon:
        if daemon is not None:
            _by(daemon, store.folder.name, worker, cluster, as_json)
            return
    changes = regroup(store, worker, cluster)
    if as_json:
        print_json({"worker": worker, "cluster": cluster, "changes": list(changes.lines())})
    elif changes.size:
        click.echo(f"moved {worker} to {cluster}: {changes.size} changes programmed and verified")
    else:
        click.echo(f"{worker} is in {cluster} already; nothing changed")


def _by(daemon: "Client", deployment: str, worker: str, cluster: str, as_json: bool) -> None:
    from olafctl.daemon.keeper import cluster_of

    [status] = daemon.call("GetStatus", deployment=deployment).deployments
    to = cluster_of(status, cluster).name
    here = any(each.name == worker and each.cluster == to for each in status.workers)
    daemon.call("MoveWorker", deployment=deployment, worker=worker, cluster=to)
    if as_json:
        changes = [] if here else [f"~ member {worker} => {to}"]
        print_json({"worker": worker, "cluster": cluster, "changes": changes})
    elif here:
        click.echo(f"{worker} is in {cluster} already; nothing changed")
    else:
        click.echo(f"moved {worker} to {cluster} by the daemon at {daemon.address}")
