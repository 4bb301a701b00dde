"""``olafctl control``: drive a running cluster's job, as iSwitch's control messages do."""

from typing import TYPE_CHECKING, Any

import click

from olafctl.cli.output import json_option, print_json

if TYPE_CHECKING:
    from olafctl.control.store import Store

_DEPLOYMENT = click.option("--deployment", metavar="NAME", help="The deployment, when there are several.")
_SEGMENT = click.option(
    "--segment", type=click.IntRange(0), help="One segment of the model; all when left out."
)
_JSON = json_option("Print what was done as JSON.")


@click.group()
def command() -> None:
    """Control a running cluster: H, halt, partial sums, lost results."""


@command.command()
@click.argument("cluster")
@click.argument("threshold", metavar="H", type=int)
@_DEPLOYMENT
@_JSON
def seth(cluster: str, threshold: int, deployment: str | None, as_json: bool) -> None:
    """Set H of CLUSTER, the worker updates that make a result.

    CLUSTER is a name or a number. H applies at once, also to the round that accumulates, and lasts: a later
    deploy of the same testbed keeps it.
    """
    from olafctl.control.jobs import set_threshold

    if _by_daemon(deployment, "SetThreshold", cluster, threshold=threshold) is not None:
        _tell(as_json, f"H of {cluster} is {threshold}", changes=[])
        return
    changes = set_threshold(_store(deployment), cluster, threshold)
    _tell(as_json, f"H of {cluster} is {threshold}", changes=list(changes.lines()))


@command.command()
@click.argument("cluster")
@_DEPLOYMENT
@_JSON
def halt(cluster: str, deployment: str | None, as_json: bool) -> None:
    """Halt CLUSTER: tell its workers, and drop what they still send.

    What is dropped is counted.
    """
    _halt(cluster, True, deployment, as_json)


@command.command()
@click.argument("cluster")
@_DEPLOYMENT
@_JSON
def resume(cluster: str, deployment: str | None, as_json: bool) -> None:
    """Resume CLUSTER, and tell its workers.

    Partial sums are where they were.
    """
    _halt(cluster, False, deployment, as_json)


@command.command()
@click.argument("cluster")
@_SEGMENT
@_DEPLOYMENT
@_JSON
def fbcast(cluster: str, segment: int | None, deployment: str | None, as_json: bool) -> None:
    """Send the partial sums of CLUSTER now.

    They have as many updates as have come.
    """
    from olafctl.control.jobs import release

    if _by_daemon(deployment, "FBcast", cluster, segment=segment) is None:
        release(_store(deployment), cluster, segment)
    _tell(as_json, f"released the partial sums of {_part(cluster, segment)}")


@command.command()
@click.argument("cluster")
@_SEGMENT
@_DEPLOYMENT
@_JSON
def reset(cluster: str, segment: int | None, deployment: str | None, as_json: bool) -> None:
    """Discard the partial sums and the finished round of CLUSTER."""
    from olafctl.control.jobs import discard

    if _by_daemon(deployment, "Reset", cluster, segment=segment) is None:
        discard(_store(deployment), cluster, segment)
    _tell(as_json, f"discarded the partial sums of {_part(cluster, segment)}")


@command.command(name="help")
@click.argument("cluster")
@click.argument("worker")
@click.option("--segment", type=click.IntRange(0, 65534), required=True, help="The segment it lacks.")
@click.option("--round", "round_", type=click.IntRange(0, (1 << 32) - 1), required=True, help="The round.")
@_DEPLOYMENT
@_JSON
def ask(cluster: str, worker: str, segment: int, round_: int, deployment: str | None, as_json: bool) -> None:
    """Ask the other members of CLUSTER to send WORKER a result."""
    from olafctl.control.jobs import ask_for_help

    told = _by_daemon(deployment, "Help", cluster, worker=worker, segment=segment, round=round_)
    if told is not None:
        asked = tuple(told.asked)
    else:
        asked = ask_for_help(_store(deployment), cluster, segment, round_, worker)
    _tell(as_json, f"asked {', '.join(asked)}", asked=list(asked))


def _halt(cluster: str, halted: bool, deployment: str | None, as_json: bool) -> None:
    from olafctl.control.jobs import set_halted

    changes: list[str] = []
    if _by_daemon(deployment, "Halt" if halted else "Resume", cluster) is None:
        changes = list(set_halted(_store(deployment), cluster, halted).lines())
    _tell(as_json, f"{cluster} is {'halted' if halted else 'running'}", changes=changes)


def _by_daemon(deployment: str | None, call: str, cluster: str, **fields: Any) -> Any:
    """The answer of the daemon that keeps the deployment; None when none does."""
    from olafctl.daemon.keeper import cluster_of, keeper

    folder = _store(deployment).folder
    with keeper(folder) as daemon:
        if daemon is None:
            return None
        [status] = daemon.call("GetStatus", deployment=folder.name).deployments
        found = cluster_of(status, cluster)
        return daemon.call(call, deployment=folder.name, cluster=found.name, **fields)


def _store(deployment: str | None) -> "Store":
    from olafctl.control.store import pick

    return pick(deployment)


def _part(cluster: str, segment: int | None) -> str:
    return cluster if segment is None else f"segment {segment} of {cluster}"


def _tell(as_json: bool, done: str, **more: Any) -> None:
    if as_json:
        print_json({"done": done, **more})
    else:
        click.echo(done)
