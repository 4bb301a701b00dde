"""Rows of the membership and wishes, as messages of the API."""

from ipaddress import AddressValueError, IPv4Address
from typing import Any

from olafctl.daemon.api import olaf_pb2
from olafctl.daemon.controller import Status
from olafctl.daemon.model import Cluster, Kind, Member, Row, placed
from olafctl.daemon.operations import ClusterWish, MemberWish
from olafctl.daemon.store.interface import Event
from olafctl.errors import BadInput, Problem
from olafctl.testbed import model as testbed
from olafctl.wire.modes import WORDS, Mode


def cluster_message(row: Row) -> Any:
    """A cluster as :meth:`Cluster.shown` shows it."""
    return olaf_pb2.Cluster(**{**_present(row), "mode": _number(olaf_pb2.Mode, row["mode"])})


def worker_message(row: Row) -> Any:
    """A member's row."""
    return olaf_pb2.Worker(**{**row, "kind": _number(olaf_pb2.Kind, row["kind"])})


def event_messages(event: Event) -> list[Any]:
    """What a watcher is told of one row's change: nothing of rows that are the daemon's own."""
    room, _, name = event.key.partition("/")
    token = str(event.revision)
    if room == "cluster":
        row = event.row and cluster_message(Cluster.from_row(event.row).shown())
        return [olaf_pb2.Event(resume_token=token, kind="cluster", name=name, cluster=row)]
    if room == "member":
        row = event.row and worker_message(event.row)
        return [olaf_pb2.Event(resume_token=token, kind="worker", name=name, worker=row)]
    return []


def status_message(status: Status) -> Any:
    """A deployment's status."""
    return olaf_pb2.Deployment(
        name=status.name,
        ready=status.ready,
        problem=status.problem,
        term=status.term,
        leader=status.leader,
        resume_token=str(status.revision),
        clusters=[cluster_message(row) for row in status.clusters],
        workers=[worker_message(row) for row in status.members],
    )


def cluster_wish(request: Any) -> ClusterWish:
    """What a CreateClusterRequest asks for."""
    return ClusterWish(
        name=request.name,
        values=request.values,
        mode=mode_of(request) if request.mode else None,
        threshold=request.threshold,
        reward_threshold=reward_of(request),
        key=request.key.lower(),
        open=request.open,
        objective=request.objective,
        period=request.period,
    )


def member_wish(request: Any, udp_port: int) -> MemberWish:
    """What a JoinRequest asks for; ``udp_port`` if it does not say. Raises BadInput."""
    return MemberWish(
        cluster=request.cluster,
        ip=_address(request.ip),
        port=request.port,
        udp_port=request.udp_port or udp_port,
        name=request.name,
        mac=request.mac,
        kind=Kind(_name(olaf_pb2.Kind, request.kind)),
        worker_id=request.worker_id,
        values=request.values,
        mtu=request.mtu,
        lease=request.lease,
    )


def clusters_of(deployment: Any) -> tuple[testbed.Cluster, ...]:
    """The clusters of a deployment's status, with their members, as a testbed has them."""
    workers: dict[str, list[Member]] = {}
    for message in deployment.workers:
        row = {**_fields(message), "kind": _name(olaf_pb2.Kind, message.kind)}
        workers.setdefault(message.cluster, []).append(Member.from_row(row))
    clusters = []
    for message in deployment.clusters:
        row = {**_fields(message), "mode": _name(olaf_pb2.Mode, message.mode), "key": ""}
        del row["keyed"]
        clusters.append(placed(Cluster.from_row(row), workers.get(message.name, [])))
    return tuple(clusters)


def _fields(message: Any) -> Row:
    """A message's fields by name; None for an optional one that is absent."""
    fields = message.DESCRIPTOR.fields
    return {
        field.name: None
        if field.containing_oneof is not None and not message.HasField(field.name)
        else getattr(message, field.name)
        for field in fields
    }


def mode_of(request: Any) -> Mode:
    """The mode that a request names. Raises BadInput."""
    if not request.mode:
        raise BadInput(Problem("is missing", "mode", f"give one of {WORDS}"))
    return Mode(_name(olaf_pb2.Mode, request.mode))


def reward_of(request: Any) -> float | None:
    """The reward rule's threshold of a request; None when it is off."""
    return float(request.reward_threshold) if request.HasField("reward_threshold") else None


def segment_of(request: Any) -> int | None:
    """The segment of a request; None for all."""
    return int(request.segment) if request.HasField("segment") else None


def _present(row: Row) -> Row:
    return {name: value for name, value in row.items() if value is not None}


def _number(enum: Any, value: str) -> int:
    return int(enum.Value(value.upper()))


def _name(enum: Any, number: int) -> str:
    if number not in enum.values():
        known, what = ", ".join(enum.keys()), enum.DESCRIPTOR.name
        raise BadInput(Problem(f"{number} is none of {what}", what.lower(), f"one of: {known}"))
    return str(enum.Name(number)).lower()


def _address(text: str) -> IPv4Address:
    try:
        return IPv4Address(text)
    except AddressValueError:
        raise BadInput(
            Problem(f"{text[:40]!r} is no IPv4 address", "ip", "give one such as 10.0.1.1")
        ) from None
