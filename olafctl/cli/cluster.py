"""``olafctl cluster``: the clusters of a deployment, with a daemon or without."""

from typing import TYPE_CHECKING, Any

import click

from olafctl import quantities
from olafctl.cli import numbers
from olafctl.cli.output import json_option, print_json, table
from olafctl.daemon.api.command_line import as_dict, cluster_names, connection_options, line, worker_names
from olafctl.membership.objective import whole_time
from olafctl.wire.modes import Mode

if TYPE_CHECKING:
    from olafctl.daemon.api.command_line import Caller

_MODES = click.Choice([mode.value for mode in Mode])


@click.group()
def command() -> None:
    """Create, change and watch clusters.

    CLUSTER is a name or a number. Where a daemon keeps the deployment, it makes the changes; where none does,
    this command does. Either way a change is made wholly or not at all, and lasts.
    """


@command.command()
@click.argument("name")
@click.option("--values", type=click.IntRange(0), default=0, help="Length of the model in values.")
@click.option("--mode", type=_MODES, help="How the queue treats its updates.  [default: each engine's]")
@click.option("--threshold", type=click.IntRange(0), default=0, help="H of iswitch mode; 0: all members.")
@click.option("--reward-threshold", "reward", metavar="THRESHOLD",
              help="Its reward rule's threshold, or off.  [default: each engine's]")  # fmt: skip
@click.option("--objective", default="", metavar="TEXT",
              help="Age-of-Model objective that changes must keep: peak<=20ms, loss-free.")  # fmt: skip
@click.option("--period", metavar="TIME", help="Between two updates of one worker, as 100ms.")
@click.option(
    "--key-file", type=click.File(errors="backslashreplace"),
    help="File with its control messages' key in hexadecimal.",
)  # fmt: skip
@click.option("--open", "is_open", is_flag=True, help="Control messages need no key.")
@connection_options
@json_option("Print the cluster as JSON.")
def create(
    client: "Caller", deployment: str, name: str, values: int, mode: str | None, threshold: int,
    reward: str | None, objective: str, period: str | None, key_file: Any, is_open: bool, as_json: bool,
) -> None:  # fmt: skip
    """Create cluster NAME: queue indices and a multicast group."""
    key = key_file.read().strip() if key_file else ""
    made = client.call(
        "CreateCluster", deployment=deployment, name=name, values=values, mode=_mode(mode), key=key,
        open=is_open, threshold=threshold, objective=objective,
        period=whole_time(period, "--period") if period else 0, **_reward(reward, "reward_off"),
    )  # fmt: skip
    _show(made, as_json)


@command.command()
@click.argument("name", metavar="CLUSTER", shell_complete=cluster_names)
@connection_options
@json_option("Print how many members it had as JSON.")
def delete(client: "Caller", deployment: str, name: str, as_json: bool) -> None:
    """Delete CLUSTER and its members."""
    members = client.call("DeleteCluster", deployment=deployment, cluster=name).members
    if as_json:
        print_json({"cluster": name, "members": members})
    else:
        click.echo(f"deleted {name}, which had {members} members")


@command.command("list")
@connection_options
@json_option("Print the status as JSON.")
def list_all(client: "Caller", deployment: str, as_json: bool) -> None:
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
            [[_cell(row, head, len(members.get(row["name"], ()))) for head in heads] for row in shown],
        )
        heads = ("name", "cluster", "number", "ip", "udp_port", "port", "kind", "parent")
        rows = [as_dict(worker) for group in members.values() for worker in group]
        table("members", heads, [[row[head] for head in heads] for row in rows])


@command.command()
@click.argument("name", metavar="CLUSTER", shell_complete=cluster_names)
@click.argument("threshold", metavar="H", type=click.IntRange(0))
@connection_options
@json_option("Print the cluster as JSON.")
def seth(client: "Caller", deployment: str, name: str, threshold: int, as_json: bool) -> None:
    """Set H of CLUSTER, the updates that make a result.

    0: as many as it has members. It applies at once, also to the round that accumulates.
    """
    _show(client.call("SetThreshold", deployment=deployment, cluster=name, threshold=threshold), as_json)


@command.command()
@click.argument("name", metavar="CLUSTER", shell_complete=cluster_names)
@click.argument("mode", type=_MODES)
@connection_options
@json_option("Print the cluster as JSON.")
def mode(client: "Caller", deployment: str, name: str, mode: str, as_json: bool) -> None:
    """Set how the queue treats the updates of CLUSTER."""
    _show(client.call("SetMode", deployment=deployment, cluster=name, mode=_mode(mode)), as_json)


@command.command()
@click.argument("name", metavar="CLUSTER", shell_complete=cluster_names)
@click.argument("threshold")
@connection_options
@json_option("Print the cluster as JSON.")
def reward(client: "Caller", deployment: str, name: str, threshold: str, as_json: bool) -> None:
    """Set the reward rule of CLUSTER.

    THRESHOLD is a number, `off`, or `engine`: as each engine has it.
    """
    asked = {"engines_own": True} if threshold == "engine" else _reward(threshold, "")
    _show(client.call("SetReward", deployment=deployment, cluster=name, **asked), as_json)


@command.command()
@click.argument("name", metavar="CLUSTER", shell_complete=cluster_names)
@click.option("--segment", type=click.IntRange(0), help="Of this segment alone.")
@connection_options
@json_option("Print the cluster as JSON.")
def reset(client: "Caller", deployment: str, name: str, segment: int | None, as_json: bool) -> None:
    """Discard the partial sums and the finished rounds of CLUSTER."""
    _show(client.call("Reset", deployment=deployment, cluster=name, segment=segment), as_json)


@command.command()
@click.argument("name", metavar="CLUSTER", shell_complete=cluster_names)
@click.option("--segment", type=click.IntRange(0), help="Of this segment alone.")
@connection_options
@json_option("Print the cluster as JSON.")
def fbcast(client: "Caller", deployment: str, name: str, segment: int | None, as_json: bool) -> None:
    """Send the partial sums of CLUSTER now.

    They have as many updates as have come.
    """
    _show(client.call("FBcast", deployment=deployment, cluster=name, segment=segment), as_json)


@command.command("help")
@click.argument("name", metavar="CLUSTER", shell_complete=cluster_names)
@click.argument("worker", shell_complete=worker_names)
@click.option("--segment", type=click.IntRange(0, 65534), required=True, help="The segment it lacks.")
@click.option("--round", "round_", type=click.IntRange(0, (1 << 32) - 1), required=True, help="The round.")
@connection_options
@json_option("Print who was asked as JSON.")
def ask(
    client: "Caller", deployment: str, name: str, worker: str, segment: int, round_: int, as_json: bool
) -> None:
    """Ask the other members of CLUSTER to send WORKER a result."""
    asked = list(
        client.call(
            "Help", deployment=deployment, cluster=name, worker=worker, segment=segment, round=round_
        ).asked
    )
    if as_json:
        print_json({"asked": asked})
    else:
        click.echo(f"asked {', '.join(asked) or 'no member: it has no other one'}")


@command.command()
@click.argument("name", metavar="CLUSTER", shell_complete=cluster_names)
@connection_options
@json_option("Print the cluster as JSON.")
def halt(client: "Caller", deployment: str, name: str, as_json: bool) -> None:
    """Suspend CLUSTER: its workers are told, and its updates dropped.

    What is dropped is counted.
    """
    _show(client.call("Halt", deployment=deployment, cluster=name), as_json)


@command.command()
@click.argument("name", metavar="CLUSTER", shell_complete=cluster_names)
@connection_options
@json_option("Print the cluster as JSON.")
def resume(client: "Caller", deployment: str, name: str, as_json: bool) -> None:
    """Resume CLUSTER, and tell its workers.

    Partial sums are where they were.
    """
    _show(client.call("Resume", deployment=deployment, cluster=name), as_json)


@command.command()
@click.option("--from", "token", default="", metavar="TOKEN", help="Resume after an event seen before.")
@click.option("--count", type=click.IntRange(1), help="End after so many events.")
@connection_options
@json_option("Print each event as a JSON line.")
def watch(client: "Caller", deployment: str, token: str, count: int | None, as_json: bool) -> None:
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


def _reward(text: str | None, off: str) -> dict[str, Any]:
    """The fields that ask for a reward rule; ``off`` names the one that says there is none."""
    if text is None:
        return {}
    threshold = numbers.read("THRESHOLD", text, quantities.threshold)
    return {"reward_threshold": threshold} if threshold is not None or not off else {off: True}


def _cell(row: dict[str, Any], head: str, members: int) -> Any:
    if head == "members":
        return members
    return "each engine's" if row[head] is None else row[head]


def _show(cluster: Any, as_json: bool) -> None:
    row = as_dict(cluster)
    if as_json:
        print_json(row)
    else:
        click.echo(f"{cluster.name}: {line(row)}")
