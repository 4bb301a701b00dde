"""``olafctl cluster``: the clusters that the daemon keeps."""

from typing import TYPE_CHECKING, Any

import click

from olafctl.cli.output import json_option, print_json, table
from olafctl.daemon.api.command_line import as_dict, cluster_names, connection_options, line
from olafctl.wire.modes import Mode

if TYPE_CHECKING:
    from olafctl.daemon.api.client import Client

_MODES = click.Choice([mode.value for mode in Mode])


@click.group()
def command() -> None:
    """Create, change and watch clusters through `olafctl daemon`."""


@command.command()
@click.argument("name")
@click.option("--values", type=click.IntRange(0), default=0, help="Length of the model in values.")
@click.option("--mode", type=_MODES, help="How the queue treats its updates.  [default: the engine's]")
@click.option("--threshold", type=click.IntRange(0), default=0, help="H of iswitch mode; 0: all members.")
@click.option("--reward-threshold", type=float, help="Switch the reward rule on, with this threshold.")
@click.option(
    "--key-file", type=click.File(errors="backslashreplace"),
    help="File with its control messages' key in hexadecimal.",
)  # fmt: skip
@click.option("--open", "is_open", is_flag=True, help="Control messages need no key.")
@connection_options
@json_option("Print the cluster as JSON.")
def create(
    client: "Client", deployment: str, name: str, values: int, mode: str | None, threshold: int,
    reward_threshold: float | None, key_file: Any, is_open: bool, as_json: bool,
) -> None:  # fmt: skip
    """Create cluster NAME: queue indices and a multicast group."""
    key = key_file.read().strip() if key_file else ""
    made = client.call(
        "CreateCluster", deployment=deployment, name=name, values=values, mode=_mode(mode),
        threshold=threshold, reward_threshold=reward_threshold, key=key, open=is_open,
    )  # fmt: skip
    _show(made, as_json)


@command.command()
@click.argument("name", shell_complete=cluster_names)
@connection_options
@json_option("Print how many members it had as JSON.")
def delete(client: "Client", deployment: str, name: str, as_json: bool) -> None:
    """Delete cluster NAME and its members."""
    members = client.call("DeleteCluster", deployment=deployment, cluster=name).members
    if as_json:
        print_json({"cluster": name, "members": members})
    else:
        click.echo(f"deleted {name}, which had {members} members")


@command.command("list")
@connection_options
@json_option("Print the status as JSON.")
def list_all(client: "Client", deployment: str, as_json: bool) -> None:
    """Show every cluster with its members."""
    status = client.call("GetStatus", deployment=deployment)
    if as_json:
        print_json(as_dict(status)["deployments"])
        return
    for each in status.deployments:
        click.echo(f"{each.name}: {'ready' if each.ready else each.problem}")
        members: dict[str, list[Any]] = {}
        for worker in each.workers:
            members.setdefault(worker.cluster, []).append(worker)
        shown = [as_dict(cluster) for cluster in each.clusters]
        heads = ("name", "members", "first", "segments", "mode", "threshold", "epoch", "halted")
        table(
            "clusters",
            heads,
            [
                [len(members.get(row["name"], ())) if head == "members" else row[head] for head in heads]
                for row in shown
            ],
        )
        heads = ("name", "cluster", "number", "ip", "udp_port", "port", "kind", "parent")
        rows = [as_dict(worker) for group in members.values() for worker in group]
        table("members", heads, [[row[head] for head in heads] for row in rows])


@command.command()
@click.argument("name", shell_complete=cluster_names)
@click.argument("threshold", type=click.IntRange(0))
@connection_options
@json_option("Print the cluster as JSON.")
def threshold(client: "Client", deployment: str, name: str, threshold: int, as_json: bool) -> None:
    """Set H of cluster NAME to THRESHOLD worker updates.

    0 follows the number of members.
    """
    _show(client.call("SetThreshold", deployment=deployment, cluster=name, threshold=threshold), as_json)


@command.command()
@click.argument("name", shell_complete=cluster_names)
@click.argument("mode", type=_MODES)
@connection_options
@json_option("Print the cluster as JSON.")
def mode(client: "Client", deployment: str, name: str, mode: str, as_json: bool) -> None:
    """Set how the queue treats the updates of cluster NAME."""
    _show(client.call("SetMode", deployment=deployment, cluster=name, mode=_mode(mode)), as_json)


@command.command()
@click.argument("name", shell_complete=cluster_names)
@click.argument("threshold")
@connection_options
@json_option("Print the cluster as JSON.")
def reward(client: "Client", deployment: str, name: str, threshold: str, as_json: bool) -> None:
    """Set the reward rule of cluster NAME to THRESHOLD, or `off`."""
    from olafctl.errors import BadInput, Problem
    from olafctl.testbed import quantities

    try:
        value = quantities.threshold(threshold)
    except quantities.Unreadable as error:
        raise BadInput(Problem(error.what, "THRESHOLD", error.remedy)) from None
    _show(client.call("SetReward", deployment=deployment, cluster=name, reward_threshold=value), as_json)


@command.command()
@click.argument("name", shell_complete=cluster_names)
@click.option("--segment", type=click.IntRange(0), help="Of this segment alone.")
@connection_options
@json_option("Print the cluster as JSON.")
def reset(client: "Client", deployment: str, name: str, segment: int | None, as_json: bool) -> None:
    """Discard what the queue has accumulated for cluster NAME."""
    _show(client.call("Reset", deployment=deployment, cluster=name, segment=segment), as_json)


@command.command()
@click.argument("name", shell_complete=cluster_names)
@connection_options
@json_option("Print the cluster as JSON.")
def halt(client: "Client", deployment: str, name: str, as_json: bool) -> None:
    """Suspend cluster NAME: the queue drops its updates."""
    _show(client.call("Halt", deployment=deployment, cluster=name), as_json)


@command.command()
@click.argument("name", shell_complete=cluster_names)
@connection_options
@json_option("Print the cluster as JSON.")
def resume(client: "Client", deployment: str, name: str, as_json: bool) -> None:
    """Let the queue take the updates of cluster NAME again."""
    _show(client.call("Resume", deployment=deployment, cluster=name), as_json)


@command.command()
@click.option("--from", "token", default="", metavar="TOKEN", help="Resume after an event seen before.")
@click.option("--count", type=click.IntRange(1), help="End after so many events.")
@connection_options
@json_option("Print each event as a JSON line.")
def watch(client: "Client", deployment: str, token: str, count: int | None, as_json: bool) -> None:
    """Show changes of clusters and members as they come."""
    import json

    for seen, event in enumerate(client.watch(deployment, token), 1):
        row = as_dict(event)
        if as_json:
            click.echo(json.dumps(row, ensure_ascii=False))
        else:
            now = row.get(event.kind)
            click.echo(f"{event.resume_token} {event.kind} {event.name} {line(now) if now else 'removed'}")
        if seen == count:
            return


def _mode(name: str | None) -> int | None:
    from olafctl.daemon.api import olaf_pb2

    return None if name is None else olaf_pb2.Mode.Value(name.upper())


def _show(cluster: Any, as_json: bool) -> None:
    row = as_dict(cluster)
    if as_json:
        print_json(row)
    else:
        click.echo(f"{cluster.name}: {line(row)}")
