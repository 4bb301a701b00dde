"""``olafctl worker``: the members of clusters, with a daemon or without."""

from typing import TYPE_CHECKING, Any

import click

from olafctl.cli import numbers
from olafctl.cli.output import json_option, print_json
from olafctl.daemon.api.command_line import as_dict, cluster_names, connection_options, line, worker_names

if TYPE_CHECKING:
    from olafctl.daemon.api.command_line import Caller


@click.group()
def command() -> None:
    """Let workers join, leave and move.

    CLUSTER is a name or a number. Where a daemon keeps the deployment, it makes the changes; where none does,
    this command does. Either way a change is made wholly or not at all, and lasts.
    """


@command.command()
@click.argument("cluster", shell_complete=cluster_names)
@click.argument("ip")
@click.option("--port", required=True, type=click.IntRange(1), help="Front port that leads to it.")
@click.option("--udp-port", type=click.IntRange(1, 65535), help="Its UDP port.  [default: the testbed's]")
@click.option("--name", help="Its name.  [default: its address]")
@click.option("--mac", help="Its MAC address.  [default: made from its address]")
@click.option("--id", "worker_id", type=click.IntRange(0), help="Worker id.  [default: from its addresses]")
@click.option("--values", type=click.IntRange(0), help="Length of its model, to be checked.")
@click.option("--mtu", type=click.IntRange(0), help="Largest IPv4 packet on its way, to be checked.")
@click.option(
    "--lease",
    type=click.FloatRange(0),
    callback=numbers.finite,
    help="Seconds of silence after which it leaves.",
)
@connection_options
@json_option("Print the member as JSON.")
def join(client: "Caller", deployment: str, cluster: str, ip: str, as_json: bool, **wish: Any) -> None:
    """Let the worker at address IP join CLUSTER."""
    _show(client.call("Join", deployment=deployment, cluster=cluster, ip=ip, **wish), as_json)


@command.command()
@click.argument("worker", shell_complete=worker_names)
@connection_options
@json_option("Print what it was as JSON.")
def leave(client: "Caller", deployment: str, worker: str, as_json: bool) -> None:
    """Take WORKER out of its cluster."""
    left = client.call("Leave", deployment=deployment, worker=worker)
    if as_json:
        print_json(as_dict(left))
    else:
        click.echo(f"{left.name} left {left.cluster}")


@command.command()
@click.argument("worker", shell_complete=worker_names)
@click.argument("cluster", shell_complete=cluster_names, default="")
@click.option("--port", type=click.IntRange(1), help="Front port, of any engine, that leads to it then.")
@connection_options
@json_option("Print the member as JSON.")
def move(
    client: "Caller", deployment: str, worker: str, cluster: str, port: int | None, as_json: bool
) -> None:
    """Move WORKER to another cluster, front port, or both.

    No frame is lost.
    """
    if not cluster and port is None:
        raise click.UsageError("give a CLUSTER, a --port, or both")
    asked = {"deployment": deployment, "worker": worker, "cluster": cluster, "port": port or 0}
    _show(client.call("MoveWorker", **asked), as_json)


def _show(worker: Any, as_json: bool) -> None:
    row = as_dict(worker)
    if as_json:
        print_json(row)
    else:
        click.echo(f"{worker.name}: {line(row)}")
