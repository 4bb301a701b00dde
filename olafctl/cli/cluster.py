"""``olafctl cluster``: the clusters of a deployment, with a daemon or without."""

import json
from typing import TYPE_CHECKING, Any

import click

from olafctl import quantities
from olafctl.cli import names, numbers
from olafctl.cli.asking import Call, as_dict, asking, connection_options, line, mode_of
from olafctl.cli.output import counted, json_option, print_json, show, table
from olafctl.errors import BadInput, Problem
from olafctl.membership.objective import whole_time
from olafctl.wire.modes import Mode

if TYPE_CHECKING:
    from olafctl.cli.asking import Caller

_MODES = click.Choice([mode.value for mode in Mode])
_CLUSTER = click.argument("cluster", shell_complete=names.clusters)
_SEGMENT = click.option("--segment", type=click.IntRange(0), help="Of this segment alone.")
_TOLD = "Print the cluster as JSON."


@click.group()
def command() -> None:
    """Create, change and watch clusters.

    CLUSTER is a name or a number. Where a daemon keeps the deployment, it makes the changes; where none does,
    this command does. Either way a change is made wholly or not at all, and lasts.
    """


@asking(
    command,
    click.argument("name"),
    click.option("--values", type=click.IntRange(0), default=0, help="Length of the model in values."),
    click.option("--mode", type=_MODES, help="How the queue treats its updates.  [default: the engine's]"),
    click.option("--threshold", type=click.IntRange(0), default=0, help="H of iswitch modes; 0: members."),
    click.option("--reward-threshold", "reward", metavar="THRESHOLD",
                 help="Its reward rule's threshold, or off.  [default: the engine's]"),
    click.option("--staleness-bound", "staleness", metavar="N",
                 help="Versions that an update may be behind, or off.  [default: off]"),
    click.option("--objective", default="", metavar="TEXT",
                 help="Age-of-Model objective that changes must keep: peak<=20ms, loss-free."),
    click.option("--period", metavar="TIME", help="Between two updates of one worker, as 100ms."),
    click.option("--key-file", type=click.File(errors="backslashreplace"),
                 help="File with its control messages' key in hexadecimal."),
    click.option("--open", is_flag=True, help="Control messages need no key."),
    told=_TOLD,
)  # fmt: skip
def create(
    call: Call,
    mode: str | None,
    reward: str | None,
    staleness: str | None,
    period: str | None,
    key_file: Any,
    **asked: Any,
) -> Any:
    """Create cluster NAME: queue indices and a multicast group."""
    asked |= {"mode": _mode(mode), "key": key_file.read().strip() if key_file else ""}
    asked |= {"period": whole_time(period, "--period") if period else 0, **_reward(reward, "reward_off")}
    bound = staleness and numbers.read("--staleness-bound", staleness, quantities.bound)
    return call("CreateCluster", staleness_bound=bound, **asked)


@command.command()
@_CLUSTER
@connection_options
@json_option("Print how many members it had as JSON.")
def delete(client: "Caller", deployment: str, cluster: str, as_json: bool) -> None:
    """Delete CLUSTER and its members."""
    members = client.call("DeleteCluster", deployment=deployment, cluster=cluster).members
    document = {"cluster": cluster, "members": members}
    show(document, f"deleted {cluster}, which had {counted(members, 'member')}", as_json)


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
            (*heads[:-1], ""),
            [[_cell(row, head, len(members.get(row["name"], ()))) for head in heads] for row in shown],
        )
        heads = ("name", "cluster", "number", "ip", "udp_port", "port", "kind", "parent")
        rows = [as_dict(worker) for group in members.values() for worker in group]
        table("members", heads, [[row[head] for head in heads] for row in rows])


@asking(command, _CLUSTER, click.argument("threshold", metavar="H", type=click.IntRange(0)), told=_TOLD)
def seth(call: Call, **asked: Any) -> Any:
    """Set H of CLUSTER, the updates that make a result.

    0: as many as it has members. It applies at once, also to the round that accumulates.
    """
    return call("SetThreshold", **asked)


@asking(command, _CLUSTER, click.argument("mode", type=_MODES), told=_TOLD)
def mode(call: Call, cluster: str, mode: str) -> Any:
    """Set how the queue treats the updates of CLUSTER."""
    return call("SetMode", cluster=cluster, mode=_mode(mode))


@asking(command, _CLUSTER, click.argument("threshold"), told=_TOLD)
def reward(call: Call, cluster: str, threshold: str) -> Any:
    """Set the reward rule of CLUSTER.

    THRESHOLD is a number, `off`, or `engine`: as each engine has it.
    """
    asked = {"engines_own": True} if threshold == "engine" else _reward(threshold, "")
    return call("SetReward", cluster=cluster, **asked)


@asking(
    command,
    _CLUSTER,
    click.option("--bound", metavar="N", help="Versions that an update may be behind; more is dropped."),
    click.option("--off", is_flag=True, help="Drop and weigh none."),
    told=_TOLD,
)
def staleness(call: Call, cluster: str, bound: str | None, off: bool) -> Any:
    """Drop updates of CLUSTER that are too stale, and weigh the others.

    The weights are the engine's (staleness_root in its testbed). It learns versions from the ACKs that pass.
    """
    if (bound is None) != off:
        raise BadInput(Problem("neither --bound nor --off, or both", remedy="give one of the two"))
    asked = {} if bound is None else {"staleness_bound": numbers.read("--bound", bound, quantities.bound)}
    return call("SetStaleness", cluster=cluster, **asked)


@asking(command, _CLUSTER, _SEGMENT, told=_TOLD)
def reset(call: Call, **asked: Any) -> Any:
    """Discard the partial sums and the finished rounds of CLUSTER."""
    return call("Reset", **asked)


@asking(command, _CLUSTER, _SEGMENT, told=_TOLD)
def fbcast(call: Call, **asked: Any) -> Any:
    """Send the partial sums of CLUSTER now.

    They have as many updates as have come.
    """
    return call("FBcast", **asked)


@asking(
    command,
    _CLUSTER,
    click.argument("worker", shell_complete=names.workers),
    click.option("--segment", type=click.IntRange(0, 65534), required=True, help="The segment it lacks."),
    click.option("--round", type=click.IntRange(0, (1 << 32) - 1), required=True, help="The round."),
    told="Print who was asked as JSON.",
    name="help",
    said=lambda answer: f"asked {', '.join(answer.asked) or 'no member: it has no other one'}",
)
def ask(call: Call, **asked: Any) -> Any:
    """Ask the other members of CLUSTER to send WORKER a result."""
    return call("Help", **asked)


@asking(command, _CLUSTER, told=_TOLD)
def halt(call: Call, **asked: Any) -> Any:
    """Suspend CLUSTER: its workers are told, and its updates dropped.

    What is dropped is counted.
    """
    return call("Halt", **asked)


@asking(command, _CLUSTER, told=_TOLD)
def resume(call: Call, **asked: Any) -> Any:
    """Resume CLUSTER, and tell its workers.

    Partial sums are where they were.
    """
    return call("Resume", **asked)


@command.command()
@click.option("--from", "token", default="", metavar="TOKEN", help="Resume after an event seen before.")
@click.option("--count", type=click.IntRange(1), help="End after so many events.")
@connection_options
@json_option("Print each event as a JSON line.")
def watch(client: "Caller", deployment: str, token: str, count: int | None, as_json: bool) -> None:
    """Show changes of clusters and members as they come."""
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

    return None if name is None else olaf_pb2.Mode.Value(name.upper().replace("-", "_"))


def _reward(text: str | None, off: str) -> dict[str, Any]:
    """The fields that ask for a reward rule; ``off`` names the one that says there is none."""
    if text is None:
        return {}
    threshold = numbers.read("THRESHOLD", text, quantities.threshold)
    return {"reward_threshold": threshold} if threshold is not None or not off else {off: True}


def _cell(row: dict[str, Any], head: str, members: int) -> Any:
    if head == "members":
        return members
    if head == "mode":
        return mode_of(row)
    if head == "threshold":
        return row[head] or "members"
    return ("halted" if row[head] else "") if head == "halted" else row[head]
