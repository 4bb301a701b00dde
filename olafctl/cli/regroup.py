"""``olafctl regroup``: move a worker to another cluster while traffic flows."""

import click

from olafctl.cli.output import json_option, print_json


@click.command()
@click.argument("worker")
@click.argument("cluster")
@click.option("--deployment", metavar="NAME", help="The deployment, when there are several.")
@json_option("Print the changes as JSON.")
def command(worker: str, cluster: str, deployment: str | None, as_json: bool) -> None:
    """Move WORKER into CLUSTER (its name or index), without losing a frame.

    The worker is a member of both clusters for a moment, and of CLUSTER alone when this returns. A later
    deploy of the same testbed keeps the move.
    """
    from olafctl.control.regroup import regroup
    from olafctl.control.store import pick

    changes = regroup(pick(deployment), worker, cluster)
    if as_json:
        print_json({"worker": worker, "cluster": cluster, "changes": list(changes.lines())})
    elif changes.size:
        click.echo(f"moved {worker} to {cluster}: {changes.size} changes programmed and verified")
    else:
        click.echo(f"{worker} is in {cluster} already; nothing changed")
