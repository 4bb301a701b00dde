"""Convert rows of the membership and wishes to messages of the API."""

from collections.abc import Mapping
from dataclasses import replace
from ipaddress import AddressValueError, IPv4Address
from operator import itemgetter
from typing import Any

from olafctl.daemon.api import olaf_pb2
from olafctl.daemon.loaded import Status
from olafctl.membership.interface import Event
from olafctl.membership.model import Cluster, Kind, Member, Reward, Row
from olafctl.membership.operations import MemberWish
from olafctl.wire.modes import WORDS, Mode
from olafswitch.errors import BadInput, Problem

_ENGINES_OWN = "engine_mode"
_LONGEST_AGE = 366 * 24 * 3600 * 10**9
"""The largest age in ns: an average age beyond a year is the reporter's error."""
_MOST_BINS = 66
"""The most bins of staleness, in powers of two: 64 bits, 0, and beyond."""


def cluster_message(row: Row) -> Any:
    """Return the message of a cluster from :meth:`Cluster.shown`."""
    fields = {**row, "mode": _enum_number(olaf_pb2.Mode, row["mode"] or _ENGINES_OWN)}
    if fields["reward_threshold"] == "off":
        fields |= {"reward_threshold": None, "reward_off": True}
    return olaf_pb2.Cluster(**_present_fields(fields))


def worker_message(row: Row) -> Any:
    """Return the message of a member's row."""
    return olaf_pb2.Worker(**{**row, "kind": _enum_number(olaf_pb2.Kind, row["kind"])})


def event_messages(event: Event) -> list[Any]:
    """Return the events for one row's change; none for rows that only the daemon uses."""
    prefix, _, name = event.key.partition("/")
    token = str(event.revision)
    if prefix == "cluster":
        row = event.row and cluster_message(Cluster.from_row(event.row).shown())
        return [olaf_pb2.Event(resume_token=token, kind="cluster", name=name, cluster=row)]
    if prefix == "member":
        row = event.row and worker_message(event.row)
        return [olaf_pb2.Event(resume_token=token, kind="worker", name=name, worker=row)]
    return []


def status_message(status: Status) -> Any:
    """Return a deployment's status."""
    return olaf_pb2.Deployment(
        name=status.name,
        ready=status.ready,
        problem=status.problem,
        term=status.term,
        leader=status.leader,
        resume_token=str(status.revision),
        clusters=[cluster_message(row) for row in sorted(status.clusters, key=itemgetter("number"))],
        workers=[worker_message(row) for row in sorted(status.members, key=itemgetter("replica"))],
    )


def queues_message(
    queues: Mapping[str, Mapping[str, int]], messages: Mapping[str, int], ages: Mapping[str, int]
) -> Any:
    """Return registers by engine, control messages by outcome, and ages in ns by cluster."""
    return olaf_pb2.Queues(
        queues=[
            olaf_pb2.Queue(engine=engine, registers=_count_messages(registers))
            for engine, registers in queues.items()
        ],
        messages=_count_messages(messages),
        ages=_count_messages(ages),
    )


def cluster_wish(request: Any) -> Cluster:
    """Return the cluster that a CreateClusterRequest wishes."""
    return Cluster(
        name=request.name,
        values=request.values,
        mode=mode_of(request) if request.mode else None,
        threshold=request.threshold,
        reward_threshold="off" if request.reward_off else _optional_field(request, "reward_threshold"),
        staleness_bound=_optional_field(request, "staleness_bound"),
        key=request.key.lower(),
        open=request.open,
        objective=request.objective,
        period=request.period,
    )


def member_wish(request: Any, udp_port: int) -> MemberWish:
    """Return the wish of a JoinRequest, with ``udp_port`` when it names none. Raises BadInput."""
    return MemberWish(
        cluster=request.cluster,
        ip=_parse_address(request.ip),
        port=request.port,
        udp_port=request.udp_port or udp_port,
        name=request.name,
        mac=request.mac,
        kind=Kind(_enum_name(olaf_pb2.Kind, request.kind)),
        worker_id=request.worker_id,
        values=request.values,
        mtu=request.mtu,
        lease=request.lease,
    )


def check_reports(request: Any) -> None:
    """Check the figures of a ReportAgesRequest. Raises BadInput for impossible figures."""
    for age in request.ages:
        if age.value > _LONGEST_AGE:
            what = f"{age.value} ns is no age: at most a year ({_LONGEST_AGE} ns)"
            raise BadInput(Problem(what, f"ages: {age.name[:40]!r}"))
    for each in request.staleness:
        if each.largest * each.updates < each.total or len(each.bins) > _MOST_BINS:
            what = f"{each.updates} updates of at most {each.largest} versions have no sum of {each.total}"
            raise BadInput(Problem(what, f"staleness: {each.cluster[:40]!r}"))
    for head in request.heads:
        if not all(0 <= value < _LONGEST_AGE for value in (head.fill, head.waited, head.since)):
            what = "a figure is negative, not finite, or longer than any training"
            raise BadInput(Problem(what, f"heads: {head.worker[:40]!r}"))


def clusters_of(deployment: Any) -> tuple[Cluster, ...]:
    """Return the clusters of a deployment's status, with their members."""
    workers: dict[str, list[Member]] = {}
    for message in deployment.workers:
        row = {**_fields_of(message), "kind": _enum_name(olaf_pb2.Kind, message.kind)}
        workers.setdefault(message.cluster, []).append(Member.from_row(row))
    clusters = []
    for message in deployment.clusters:
        mode = _enum_name(olaf_pb2.Mode, message.mode) if message.mode else None
        row = {**_fields_of(message), "mode": mode, "key": ""}
        del row["keyed"]
        if row.pop("reward_off"):
            row["reward_threshold"] = "off"
        members = sorted(workers.get(message.name, []), key=lambda each: each.replica)
        clusters.append(replace(Cluster.from_row(row), workers=tuple(members)))
    return tuple(clusters)


def _fields_of(message: Any) -> Row:
    """Return a message's fields by name; None for an optional field that is absent."""
    fields = message.DESCRIPTOR.fields
    return {
        field.name: None
        if field.containing_oneof is not None and not message.HasField(field.name)
        else getattr(message, field.name)
        for field in fields
    }


def mode_of(request: Any) -> Mode:
    """Return the mode that a request names. Raises BadInput."""
    if not request.mode:
        raise BadInput(Problem("is missing", "mode", f"give one of {WORDS}"))
    return Mode(_enum_name(olaf_pb2.Mode, request.mode))


def reward_of(request: Any) -> Reward | None:
    """Return the reward rule of a SetRewardRequest."""
    if request.engines_own:
        return None
    threshold: float | None = _optional_field(request, "reward_threshold")
    return "off" if threshold is None else threshold


def bound_of(request: Any) -> int | None:
    """Return the bound of a SetStalenessRequest; None for off."""
    bound: int | None = _optional_field(request, "staleness_bound")
    return bound


def segment_of(request: Any) -> int | None:
    """Return the segment of a request; None for all."""
    segment: int | None = _optional_field(request, "segment")
    return segment


def revision_of(request: Any) -> int | None:
    """Return the revision that a WatchRequest goes on from; None for the present one. Raises BadInput."""
    token = request.resume_token
    if token and not (token.isascii() and token.isdigit() and len(token) < 19):
        raise BadInput(Problem(f"{token[:40]!r} is not a resume token", remedy="take one from a status"))
    return int(token) if token else None


def _optional_field(request: Any, field: str) -> Any:
    return getattr(request, field) if request.HasField(field) else None


def _present_fields(row: Row) -> Row:
    return {name: value for name, value in row.items() if value is not None}


def _enum_number(enum: Any, value: str) -> int:
    return int(enum.Value(value.upper().replace("-", "_")))


def _enum_name(enum: Any, number: int) -> str:
    if number not in enum.values():
        known, what = ", ".join(enum.keys()), enum.DESCRIPTOR.name
        raise BadInput(Problem(f"{number} is not one of {what}", what.lower(), f"one of: {known}"))
    return str(enum.Name(number)).lower().replace("_", "-")


def _parse_address(text: str) -> IPv4Address:
    try:
        return IPv4Address(text)
    except AddressValueError:
        raise BadInput(
            Problem(f"{text[:40]!r} is not an IPv4 address", "ip", "give one such as 10.0.1.1")
        ) from None


def _count_messages(counted: Mapping[str, int]) -> list[Any]:
    return [olaf_pb2.Count(name=name, value=value) for name, value in counted.items()]
