"""``olafctl worker``: the members of clusters, with a daemon or without."""

from typing import Any

import click

from olafctl.cli import names, numbers
from olafctl.cli.asking import Call, add_verb

_WORKER = click.argument("worker", shell_complete=names.complete_workers)


@click.group()
def command() -> None:
    """Let workers join, leave and move.

    CLUSTER is a name or a number. Where a daemon keeps the deployment, it makes the changes; where none does,
    this command does. Either way a change is made wholly or not at all, and lasts.
    """


@add_verb(
    command,
    click.argument("cluster", shell_complete=names.complete_clusters),
    click.argument("ip"),
    click.option(
        "--port",
        required=True,
        shell_complete=names.complete_ports,
        help="Front port that leads to it: its number, or its name in the testbed.",
    ),
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
        callback=numbers.check_finite,
        help="Seconds of silence after which it leaves.",
    ),
    json_help="Print the member as JSON.",
)
def join(call: Call, port: str, **wish: Any) -> Any:
    """Let the worker at address IP join CLUSTER."""
    return call("Join", port=_port_number(call, port), **wish)


@add_verb(
    command,
    _WORKER,
    json_help="Print what it was as JSON.",
    text=lambda left: f"{left.name} left {left.cluster}",
)
def leave(call: Call, **fields: Any) -> Any:
    """Take WORKER out of its cluster."""
    return call("Leave", **fields)


@add_verb(
    command,
    _WORKER,
    click.argument("cluster", shell_complete=names.complete_clusters, default=""),
    click.option(
        "--port",
        shell_complete=names.complete_ports,
        help="Front port, of any engine, that leads to it then: its number or name.",
    ),
    json_help="Print the member as JSON.",
)
def move(call: Call, cluster: str, port: str | None, **fields: Any) -> Any:
    """Move WORKER to another cluster, front port, or both.

    No frame is lost.
    """
    if not cluster and port is None:
        raise click.UsageError("give a CLUSTER, a --port, or both")
    number = 0 if port is None else _port_number(call, port)
    return call("MoveWorker", cluster=cluster, port=number, **fields)


def _port_number(call: Call, text: str) -> int:
    """Return the number of a front port, which may be named as in the testbed. Raises BadInput."""
    from olafctl.control.deploy import recorded_testbed
    from olafctl.control.store import pick_store
    from olafswitch.errors import BadInput, OlafError, Problem

    if text.isascii() and text.isdigit() and 0 < int(text) < 1 << 16:
        return int(text)
    deployment = getattr(call, "keywords", {}).get("deployment")
    try:
        known = {port.name: port.number for port in recorded_testbed(pick_store(deployment or None)).ports}
    except OlafError:
        what = f"{text!r} is no number, and the names of ports are not known here"
        raise BadInput(Problem(what, "--port", "give the front port's number")) from None
    if text not in known:
        raise BadInput(Problem(f"front port {text!r} does not exist", "--port", f"one of {', '.join(known)}"))
    return known[text]
