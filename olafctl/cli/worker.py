"""``olafctl worker``: the members of clusters, with a daemon or without."""

from typing import Any

import click

from olafctl.cli import names, numbers
from olafctl.cli.asking import Call, asking

_WORKER = click.argument("worker", shell_complete=names.workers)


@click.group()
def command() -> None:
    """Let workers join, leave and move.

    CLUSTER is a name or a number. Where a daemon keeps the deployment, it makes the changes; where none does,
    this command does. Either way a change is made wholly or not at all, and lasts.
    """


@asking(
    command,
    click.argument("cluster", shell_complete=names.clusters),
    click.argument("ip"),
    click.option("--port", required=True, type=click.IntRange(1), help="Front port that leads to it."),
    click.option("--udp-port", type=click.IntRange(1, 65535), help="Its UDP port.  [default: the testbed's]"),
    click.option("--name", help="Its name.  [default: its address]"),
    click.option("--mac", help="Its MAC address.  [default: made from its address]"),
    click.option(
        "--id", "worker_id", type=click.IntRange(0), help="Worker id.  [default: from its addresses]"
    ),
    click.option("--values", type=click.IntRange(0), help="Length of its model, to be checked."),
    click.option("--mtu", type=click.IntRange(0), help="Largest IPv4 packet on its way, to be checked."),
    click.option(
        "--lease",
        type=click.FloatRange(0),
        callback=numbers.finite,
        help="Seconds of silence after which it leaves.",
    ),
    json_help="Print the member as JSON.",
)
def join(call: Call, **wish: Any) -> Any:
    """Let the worker at address IP join CLUSTER."""
    return call("Join", **wish)


@asking(
    command,
    _WORKER,
    json_help="Print what it was as JSON.",
    text=lambda left: f"{left.name} left {left.cluster}",
)
def leave(call: Call, **fields: Any) -> Any:
    """Take WORKER out of its cluster."""
    return call("Leave", **fields)


@asking(
    command,
    _WORKER,
    click.argument("cluster", shell_complete=names.clusters, default=""),
    click.option("--port", type=click.IntRange(1), help="Front port, of any engine, that leads to it then."),
    json_help="Print the member as JSON.",
)
def move(call: Call, cluster: str, port: int | None, **fields: Any) -> Any:
    """Move WORKER to another cluster, front port, or both.

    No frame is lost.
    """
    if not cluster and port is None:
        raise click.UsageError("give a CLUSTER, a --port, or both")
    return call("MoveWorker", cluster=cluster, port=port or 0, **fields)
