"""``olafctl cluster``: the clusters of a deployment, with a daemon or without."""

import json
from typing import TYPE_CHECKING, Any

import click

from olafctl import quantities
from olafctl.cli import names, numbers
from olafctl.cli.asking import Call, add_verb, as_dict, connection_options, describe_row, mode_of
from olafctl.membership.objective import whole_time
from olafctl.wire.modes import Mode
from olafswitch.console.output import (
    count_noun,
    json_option,
    print_json,
    print_lines,
    print_table,
    show_result,
)
from olafswitch.errors import BadInput, Problem

if TYPE_CHECKING:
    from olafctl.cli.asking import Caller

_MODES = click.Choice([mode.value for mode in Mode])
_CLUSTER = click.argument("cluster", shell_complete=names.complete_clusters)
_SEGMENT = click.option("--segment", type=click.IntRange(0), help="Segment to act on.  [default: all]")
_JSON = "Print the cluster as JSON."


@click.group()
def command() -> None:
    """Create, change and watch clusters.

    CLUSTER is a name or a number. Where a daemon keeps the deployment, it makes the changes; where none does,
    this command does. Either way a change is made wholly or not at all, and lasts.
    """


@add_verb(
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
    json_help=_JSON,
)  # fmt: skip
def create(
    call: Call,
    mode: str | None,
    reward: str | None,
    staleness: str | None,
    period: str | None,
    key_file: Any,
    **options: Any,
) -> Any:
    """Create cluster NAME: queue indices and a multicast group."""
    options |= {"mode": _read_mode(mode), "key": key_file.read().strip() if key_file else ""}
    options |= {
        "period": whole_time(period, "--period") if period else 0,
        **_read_reward(reward, "reward_off"),
    }
    bound = staleness and numbers.read_quantity("--staleness-bound", staleness, quantities.bound)
    return call("CreateCluster", staleness_bound=bound, **options)


@command.command()
@_CLUSTER
@connection_options
@json_option("Print how many members it had as JSON.")
def delete(client: "Caller", deployment: str, cluster: str, as_json: bool) -> None:
    """Delete CLUSTER and its members."""
    members = client.call("DeleteCluster", deployment=deployment, cluster=cluster).members
    document = {"cluster": cluster, "members": members}
    show_result(document, f"deleted {cluster}, which had {count_noun(members, 'member')}", as_json)


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
        print_lines(f"{each.name}: {_describe_state(each)}")
        members: dict[str, list[Any]] = {}
        for worker in each.workers:
            members.setdefault(worker.cluster, []).append(worker)
        shown = [as_dict(cluster) for cluster in each.clusters]
        heads = ("name", "members", "first", "segments", "mode", "threshold", "epoch", "halted")
        print_table(
            "clusters",
            (*heads[:-1], ""),
            [[_format_cell(row, head, len(members.get(row["name"], ()))) for head in heads] for row in shown],
        )
        heads = ("name", "cluster", "number", "ip", "udp_port", "port", "kind", "parent")
        rows = [as_dict(worker) for group in members.values() for worker in group]
        print_table("members", heads, [[row[head] for head in heads] for row in rows])


def _describe_state(deployment: Any) -> str:
    if deployment.ready:
        return "ready"
    if deployment.problem:
        return str(deployment.problem)
    return f"this daemon follows the leader at {deployment.leader}" if deployment.leader else "no one leads"


@add_verb(
    command, _CLUSTER, click.argument("threshold", metavar="H", type=click.IntRange(0)), json_help=_JSON
)
def threshold(call: Call, **options: Any) -> Any:
    """Set H of CLUSTER, the updates that make a result.

    0: as many as it has members. It applies at once, also to the round that accumulates.
    """
    return call("SetThreshold", **options)


@add_verb(command, _CLUSTER, click.argument("mode", type=_MODES), json_help=_JSON)
def mode(call: Call, cluster: str, mode: str) -> Any:
    """Set how the queue treats the updates of CLUSTER."""
    return call("SetMode", cluster=cluster, mode=_read_mode(mode))


@add_verb(command, _CLUSTER, click.argument("threshold"), json_help=_JSON)
def reward(call: Call, cluster: str, threshold: str) -> Any:
    """Set the reward rule of CLUSTER.

    THRESHOLD is a number, `off`, or `engine`: as each engine has it.
    """
    options = {"engines_own": True} if threshold == "engine" else _read_reward(threshold, "")
    return call("SetReward", cluster=cluster, **options)


@add_verb(
    command,
    _CLUSTER,
    click.option("--bound", metavar="N", help="Versions that an update may be behind; more is dropped."),
    click.option("--off", is_flag=True, help="Drop and weigh none."),
    json_help=_JSON,
)
def staleness(call: Call, cluster: str, bound: str | None, off: bool) -> Any:
    """Drop updates of CLUSTER that are too stale, and weigh the others.

    The weights are the engine's (staleness_root in its testbed). It learns versions from the ACKs that pass.
    """
    if (bound is None) != off:
        raise BadInput(Problem("neither --bound nor --off, or both", remedy="give one of the two"))
    options = (
        {}
        if bound is None
        else {"staleness_bound": numbers.read_quantity("--bound", bound, quantities.bound)}
    )
    return call("SetStaleness", cluster=cluster, **options)


@add_verb(command, _CLUSTER, _SEGMENT, json_help=_JSON)
def reset(call: Call, **options: Any) -> Any:
    """Discard the partial sums and the finished rounds of CLUSTER."""
    return call("Reset", **options)


@add_verb(command, _CLUSTER, _SEGMENT, json_help=_JSON)
def fbcast(call: Call, **options: Any) -> Any:
    """Send the partial sums of CLUSTER now.

    They have as many updates as have come.
    """
    return call("FBcast", **options)


@add_verb(
    command,
    _CLUSTER,
    click.argument("worker", shell_complete=names.complete_workers),
    click.option("--segment", type=click.IntRange(0, 65534), required=True, help="The segment it lacks."),
    click.option("--round", type=click.IntRange(0, (1 << 32) - 1), required=True, help="The round."),
    json_help="Print the members that were asked as JSON.",
    name="help",
    text=lambda answer: f"asked {', '.join(answer.asked) or 'no member: the cluster has no other'}",
)
def ask(call: Call, **options: Any) -> Any:
    """Ask the other members of CLUSTER to send WORKER a result."""
    return call("Help", **options)


@add_verb(command, _CLUSTER, json_help=_JSON)
def halt(call: Call, **options: Any) -> Any:
    """Suspend CLUSTER: notify its workers, drop its updates.

    What is dropped is counted.
    """
    return call("Halt", **options)


@add_verb(command, _CLUSTER, json_help=_JSON)
def resume(call: Call, **options: Any) -> Any:
    """Resume CLUSTER, and notify its workers.

    Partial sums are where they were.
    """
    return call("Resume", **options)


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
            print_lines(json.dumps(row))
        else:
            now = row.get(event.kind)
            print_lines(
                f"{event.resume_token} {event.kind} {event.name} {describe_row(now) if now else 'removed'}"
            )
        if seen == count:
            return


def _read_mode(name: str | None) -> int | None:
    from olafctl.daemon.api import olaf_pb2

    return None if name is None else olaf_pb2.Mode.Value(name.upper().replace("-", "_"))


def _read_reward(text: str | None, off: str) -> dict[str, Any]:
    """Return the fields of a reward rule in a request; ``off`` names the field for no rule."""
    if text is None:
        return {}
    threshold = numbers.read_quantity("THRESHOLD", text, quantities.threshold)
    return {"reward_threshold": threshold} if threshold is not None or not off else {off: True}


def _format_cell(row: dict[str, Any], head: str, members: int) -> Any:
    if head == "members":
        return members
    if head == "mode":
        return mode_of(row)
    if head == "threshold":
        return row[head] or "members"
    return ("halted" if row[head] else "") if head == "halted" else row[head]
