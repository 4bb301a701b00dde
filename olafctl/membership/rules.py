"""The rules for clusters and members, whether a testbed, a command, the API or a control message asks.

Each rule yields the problems that it finds; ``where`` of a problem is the field.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import suppress

from olafctl import quantities
from olafctl.membership import limits
from olafctl.membership.ground import Ground
from olafctl.membership.model import Cluster, Host, Kind, Member
from olafctl.membership.objective import parse_objective
from olafctl.queue.staleness import GREATEST_BOUND
from olafctl.wire.geometry import MEMBERS, THRESHOLD_MOST, WINDOW
from olafctl.wire.modes import Mode
from olafswitch.errors import BadInput, Problem

_KEY_BYTES = 16
_NOTHING_SET = Cluster("")
_SUMMING = "H and partial sums are of the modes iswitch and iswitch-async alone"


class NoRoom(BadInput):
    """A table, a cluster or the queue is full."""


class WrongModel(BadInput):
    """A member's model is not its cluster's."""


def require_none(problems: Iterable[Problem]) -> None:
    """Raise BadInput with the problems when there are any."""
    if found := tuple(problems):
        raise BadInput(*found)


def of_cluster(cluster: Cluster, ground: Ground) -> Iterator[Problem]:
    """Yield the problems of a cluster alone, with its members."""
    yield from _check_name(cluster.name, limits.CLUSTER_NAME)
    if not 0 <= cluster.values <= limits.VALUES:
        yield Problem(f"a model of {cluster.values} values", "values", f"give 0 … {limits.VALUES}")
    yield from _check_threshold(cluster, ground)
    yield from of_reward(cluster.reward_threshold)
    yield from _check_players(cluster)
    yield from _check_staleness(cluster, ground)
    yield from _check_key(cluster.key)
    if cluster.period < 0:
        yield Problem(f"a period of {cluster.period} ns", "period", "say how often each worker sends, in ns")
    yield from _check_rounds(cluster, ground)
    yield from _check_objective(cluster, ground)


def of_threshold(cluster: Cluster, ground: Ground) -> Iterator[Problem]:
    """Yield the problem of a requested H that the present members cannot complete."""
    mode, workers = ground.mode_of(cluster), len(cluster.workers)
    most = workers * (WINDOW if mode is Mode.ISWITCH_ASYNC else 1)
    if cluster.threshold and not mode.sums:
        what = f"{cluster.name!r} is of mode {mode}, and {_SUMMING}"
        yield Problem(what, "threshold", "set mode: iswitch or iswitch-async, or drop it")
    elif workers and cluster.threshold > most:
        each = f", each with up to {WINDOW} updates between two results" if most > workers else ""
        what = f"{cluster.threshold} updates make a result, but the cluster has {workers} workers{each}"
        yield Problem(what, "threshold", f"give 1 … {min(most, THRESHOLD_MOST)}")


def of_rounds(cluster: Cluster, ground: Ground) -> Iterator[Problem]:
    """Yield a problem where no partial sums exist that could be released or discarded."""
    mode = ground.mode_of(cluster)
    if not mode.sums:
        what = f"{cluster.name!r} is of mode {mode}, and {_SUMMING}"
        yield Problem(what, "mode", "set mode: iswitch or iswitch-async")


def of_reward(threshold: object) -> Iterator[Problem]:
    """Yield the problem of a reward rule: neither ``off``, None, nor a threshold that registers hold."""
    if threshold is None or threshold == "off":
        return
    if not isinstance(threshold, int | float) or not (0 <= threshold <= quantities.GREATEST_BINARY32):
        yield Problem(f"a reward threshold of {threshold}", "reward_threshold", "give 0 … 3.4e38, or off")


def of_member(member: Member, ground: Ground) -> Iterator[Problem]:
    """Yield the problems of a member alone, and next to the hosts that are not members."""
    yield from _check_name(member.name)
    if member.name in ground.names:
        yield Problem(f"the name {member.name!r} is taken", "name", "choose another")
    yield from of_port(member.port, ground)
    if member.ip in ground.addresses:
        what = f"{member.ip} is the address of {ground.addresses[member.ip]}"
        yield Problem(what, "ip", "give the worker its own")
    if not 1 <= member.udp_port <= 65535:
        yield Problem(f"UDP port {member.udp_port}", "udp_port", "give 1 … 65535")
    if not quantities.is_host(member.ip):
        yield Problem(f"{member.ip} is not a host's address", "ip", "give the worker's own address")
    if member.ip in limits.BETWEEN_ENGINES:
        what = f"{member.ip}, but engines use {limits.BETWEEN_ENGINES} among themselves"
        yield Problem(what, "ip", "give the worker an address of its own network")
    try:
        quantities.mac(member.mac)
    except quantities.Unreadable as error:
        yield Problem(error.what, "mac", error.remedy)
    if not 0 <= member.worker_id < 1 << 32:
        yield Problem(f"worker id {member.worker_id}", "worker_id", "give 0 … 4294967295")
    if not 0 <= member.lease < float("inf"):
        yield Problem(f"a lease of {member.lease} s", "lease", "give seconds, or 0 for none")
    if (host := ground.macs.get(member.mac)) is not None:
        yield from of_mac(member, host)


def of_port(port: int, ground: Ground) -> Iterator[Problem]:
    """Yield a problem where no such front port exists."""
    if port not in ground.engine_at:
        ports = ", ".join(str(each) for each in sorted(ground.engine_at)[:10])
        yield Problem(f"front port {port} does not exist", "port", f"front ports: {ports}")


def of_mac(member: Host, other: Host) -> Iterator[Problem]:
    """Yield a problem where two hosts of one MAC address (one NIC, or behind one router) differ in their
    front port."""
    if other.port != member.port:
        what = f"{member.mac} is the MAC address of {other.name}, behind port {other.port}"
        yield Problem(what, "mac", "give the worker's own, or the port that leads to both")


def of_worker_id(worker_id: int, taken: Mapping[int, str]) -> Iterator[Problem]:
    """Yield the problem of a worker id that another member of the cluster has; ``taken`` are names by id."""
    if worker_id and worker_id in taken:
        yield Problem(
            f"{worker_id} is already {taken[worker_id]}'s", "worker_id", "ids differ within a cluster"
        )


def of_tables(ground: Ground, clusters: int, members: int) -> Iterator[Problem]:
    """Yield a problem for each of the pipeline's tables that cannot hold this many entries."""
    hosts = members + len(ground.hosts) + 1
    for table, entries, size in (
        ("workers", hosts + clusters * ground.between, limits.WORKERS),
        ("forwarding", hosts + ground.routes, limits.FORWARDING),
        ("bridging", hosts + 1, limits.BRIDGING),
    ):
        if entries > size:
            what = f"{entries} entries, but the table `{table}` holds {size}"
            yield Problem(what, table, "let workers leave, or use a second engine")


def _check_name(name: str, most: int | None = None) -> Iterator[Problem]:
    try:
        quantities.name(name)
    except quantities.Unreadable as error:
        yield Problem(error.what, "name", error.remedy)
        return
    if most is not None and len(name) > most:
        what = f"{name!r} has {len(name)} characters, and control messages carry {most}"
        yield Problem(what, "name", f"use up to {most}")


def _check_key(key: str) -> Iterator[Problem]:
    try:
        long_enough = not key or len(bytes.fromhex(key)) >= _KEY_BYTES
    except ValueError:
        long_enough = False
    if not long_enough:
        yield Problem("is not a key", "key", "give at least 32 hexadecimal digits")


def _check_threshold(cluster: Cluster, ground: Ground) -> Iterator[Problem]:
    """Yield a problem where no members could make a result of this many updates."""
    if ground.mode_of(cluster) is Mode.ISWITCH_ASYNC:
        most, why = THRESHOLD_MOST, f"a result counts {THRESHOLD_MOST} at most"
    else:
        most, why = MEMBERS.default, f"an index distinguishes {MEMBERS.default}"
    if not 0 <= cluster.threshold <= most:
        what = f"{cluster.threshold} updates can never make a result: {why}"
        yield Problem(what, "threshold", f"give 1 … {most}, or 0 for all members")


def _check_rounds(cluster: Cluster, ground: Ground) -> Iterator[Problem]:
    """Yield the unmet conditions under which a sum can be completed."""
    mode = ground.mode_of(cluster)
    if not mode.sums:
        return
    workers = len(cluster.workers)
    if ground.address is None:
        remedy = "give the engine one in its testbed: address: 10.0.0.250"
        yield Problem(f"{mode} needs an address to send to", "mode", remedy)
    if workers > MEMBERS.default:
        what = f"{workers} workers, but an index distinguishes {MEMBERS.default} members"
        yield Problem(what, "cluster", "make several clusters of it")
    if mode is Mode.ISWITCH and cluster.is_spread and cluster.threshold not in (0, workers):
        where = f"{cluster.name}, whose workers are at several engines"
        what = f"{cluster.threshold} updates make a result of {where}"
        remedy = f"leave threshold out: each of the {workers} workers counts"
        yield Problem(what, "threshold", remedy)


def _check_staleness(cluster: Cluster, ground: Ground) -> Iterator[Problem]:
    """Yield the problem of a staleness rule without a parameter server, whose ACKs give the versions."""
    if cluster.staleness_bound is None:
        return
    mode = ground.mode_of(cluster)
    if not 0 <= cluster.staleness_bound <= GREATEST_BOUND:
        what = f"a staleness of {cluster.staleness_bound} versions"
        yield Problem(what, "staleness_bound", f"give 0 … {GREATEST_BOUND}, or off")
    elif mode.sums:
        what = f"{cluster.name!r} is of mode {mode}, and no server answers its updates with versions"
        yield Problem(what, "staleness_bound", "use mode olaf or fifo, or leave it off")


def _check_objective(cluster: Cluster, ground: Ground) -> Iterator[Problem]:
    """Yield a problem where the verifier's model does not describe the objective's clusters."""
    if not cluster.objective:
        return
    try:
        parse_objective(cluster.objective)
    except BadInput as error:
        yield from error.problems
        return
    text = repr(cluster.objective)
    if ground.is_tree:
        what = f"{text} cannot be proven: the verifier knows one queue, and updates pass several here"
        yield Problem(what, "objective", "leave it out; `olaflab simulate` shows ages over a tree")
    elif not ground.is_limited:
        what = f"{text} is about a queue, but the engine's output has no rate"
        yield Problem(what, "objective", "give the engine an output_rate")
    elif not cluster.period:
        yield Problem("is missing", "period", "say how often each worker sends")
    else:
        yield from find_undescribed(cluster, ground)


def _check_players(cluster: Cluster) -> Iterator[Problem]:
    """Refuse settings about updates for a cluster whose members send no updates."""
    if any(member.kind is Kind.PLAYER for member in cluster.workers):
        what = f"{cluster.name!r} has players, which receive weights and send no updates"
        for field in ("reward_threshold", "staleness_bound", "objective", "period"):
            if getattr(cluster, field) != getattr(_NOTHING_SET, field):
                yield Problem(what, field, "leave it out")


def of_objective_names(cluster: Cluster, known: Container[str]) -> Iterator[Problem]:
    """Refuse an objective that names a cluster that does not exist."""
    with suppress(BadInput):
        for name in parse_objective(cluster.objective).clusters if cluster.objective else ():
            if name != cluster.name and name not in known:
                what = f"{cluster.objective!r} names {name!r}, which does not exist"
                yield Problem(what, "objective", "name clusters that exist, or none")


def find_undescribed(cluster: Cluster, ground: Ground) -> Iterator[Problem]:
    """Yield the reasons why the verifier's model does not describe a cluster."""
    mode = ground.mode_of(cluster)
    if mode is not Mode.OLAF:
        what = f"cluster {cluster.name!r} is of mode {mode}, and objectives are proven of mode olaf alone"
        yield Problem(what, "mode", "use mode olaf, or leave the objective out")
    if cluster.segments > 1:
        what = f"cluster {cluster.name!r} has {cluster.segments} segments; an update must be one frame"
        yield Problem(what, "values", "use a model of one segment, or leave the objective out")
    if ground.reward_of(cluster) != "off":
        what = f"cluster {cluster.name!r} has a reward rule, which drops updates that the proof counts"
        yield Problem(what, "reward_threshold", "set it off, or leave the objective out")
    if cluster.staleness_bound is not None:
        what = f"cluster {cluster.name!r} has a staleness bound, which drops updates that the proof counts"
        yield Problem(what, "staleness_bound", "set it off, or leave the objective out")
    for member in cluster.workers:
        if member.kind is Kind.SWITCH:
            what = (
                f"{member.name} of {cluster.name!r} is a switch, and it is not known how many send behind it"
            )
            yield Problem(what, "role", "let its workers join by themselves, or leave the objective out")
    if not cluster.period:
        what = f"it is not known how often the workers of {cluster.name!r} send"
        yield Problem(what, "period", "create it with a period, or leave the objective out")
