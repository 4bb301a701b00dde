"""Merge an edited testbed with a membership that was changed at run time: changes of both are kept."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from olafctl.membership import rules
from olafctl.membership.ground import Ground
from olafctl.membership.membership import Membership, cluster_key, member_key, rows_of
from olafctl.membership.model import Cluster, Host, Member, Row
from olafctl.membership.operations import MemberWish, Operation, Operations
from olafswitch.errors import BadInput, Problem

_OF_CLUSTER = ("mode", "threshold", "reward_threshold", "staleness_bound", "epoch", "objective", "period")
_OF_MEMBER = ("port", "mac", "ip", "udp_port", "worker_id")
_TOLD = 3


def members_of(rows: Mapping[str, Row]) -> dict[str, Row]:
    """Return the ``rows`` of clusters and members."""
    return {key: row for key, row in rows.items() if key.startswith((cluster_key(""), member_key("")))}


def merge_clusters(
    old: Sequence[Cluster], new: Sequence[Cluster], rows: Mapping[str, Row], ground: Ground
) -> Sequence[Cluster]:
    """Return the clusters after a deploy with ``new`` ones of a testbed that began with ``old`` ones.

    ``rows`` are the stored ones. Raises BadInput for changes of both that contradict each other, on
    ``ground``.
    """
    stored = members_of(rows)
    if stored == rows_of(old) or stored == rows_of(new):
        return new
    try:
        membership = Membership(ground.indices, rows)
    except ValueError as error:
        raise _impossible_merge(str(error), ground) from None
    if rows_of(old) != rows_of(new):
        try:
            _edit_membership(membership, old, new, ground)
        except BadInput as error:
            raise _impossible_merge("; ".join(problem.what for problem in error.problems), ground) from None
        except ValueError as error:
            raise _impossible_merge(str(error), ground) from None
    check_fit(membership, ground)
    return sorted(membership.clusters.values(), key=lambda cluster: cluster.number)


def check_fit(membership: Membership, ground: Ground) -> None:
    """Raise BadInput unless the membership keeps the rules on what the deployment has now."""
    if problems := list(find_misfits(membership, ground)):
        more = f"; and {len(problems) - _TOLD} more" if len(problems) > _TOLD else ""
        raise _impossible_merge("; ".join(problems[:_TOLD]) + more, ground)


def find_misfits(membership: Membership, ground: Ground) -> Iterator[str]:
    """Yield the rules that a membership breaks on ``ground``, which may differ from that it was made on."""
    clusters, members = membership.clusters.values(), membership.members.values()
    for cluster in clusters:
        if cluster.segments != (needed := ground.segments(cluster.values)):
            yield f"{cluster.name} has {cluster.segments} indices, and its model takes {needed}"
        # H is checked against the members when it is requested: they may always leave.
        yield from _with_name(cluster.name, rules.of_cluster(replace(cluster, threshold=0), ground))
        ids: dict[int, str] = {}
        for worker in cluster.workers:
            yield from _with_name(worker.name, rules.of_worker_id(worker.worker_id, ids))
            ids[worker.worker_id] = worker.name
    for member in members:
        yield from _with_name(member.name, rules.of_member(member, ground))
    owners: dict[str, Member] = {}
    for member in members:
        yield from _with_name(member.name, rules.of_mac(member, owners.setdefault(member.mac, member)))
    for problem in rules.of_tables(ground, len(clusters), len(members)):
        yield problem.what


def _with_name(name: str, problems: Iterable[Problem]) -> Iterator[str]:
    return (f"{name}: {problem.what}" for problem in problems)


def _edit_membership(
    membership: Membership, old: Sequence[Cluster], new: Sequence[Cluster], ground: Ground
) -> None:
    ask = Operations(ground)
    was, now = ({cluster.name: cluster for cluster in each} for each in (old, new))
    there, here = _workers_by_name(old), _workers_by_name(new)

    def do(operation: Operation) -> None:
        membership.apply(operation(membership).change)

    for name in there.keys() - here.keys() & membership.members.keys():
        do(ask.leave(name))

    def delete_empty() -> Sequence[Cluster]:
        """Remove clusters that the testbed no longer has, and return those that have members."""
        gone = [membership.clusters[name] for name in was.keys() - now.keys() & membership.clusters.keys()]
        for cluster in gone:
            if not cluster.workers:
                do(ask.delete_cluster(cluster.name))
        for indices in sorted(membership.draining):  # a deploy clears the updates of a job that is gone
            membership.drained(indices)
        return [cluster for cluster in gone if cluster.workers]

    delete_empty()
    for name in now:
        if name not in was:
            do(ask.create_cluster(replace(now[name], workers=(), halted=False)))
            created = replace(membership.clusters[name], epoch=now[name].epoch)
            membership.apply({cluster_key(name): created})
        elif name in membership.clusters:
            if was[name].values != now[name].values:
                raise BadInput(Problem(f"the testbed gives {name!r} another model"))
            edited = _edited_fields(was[name], now[name], _OF_CLUSTER)
            membership.apply({cluster_key(name): replace(membership.clusters[name], **edited)})
    for name, worker in here.items():
        if name not in there:
            do(ask.join(_member_wish(worker)))
        elif name in membership.members:
            if there[name].cluster != worker.cluster:
                do(ask.move(name, worker.cluster))
            edited = _edited_fields(there[name], worker, _OF_MEMBER)
            if "port" in edited:
                edited["parent"] = ground.parent_at(worker.port)
            membership.apply({member_key(name): replace(membership.members[name], **edited)})

    for cluster in delete_empty():
        what = f"it no longer has the cluster {cluster.name!r}, in which there is {cluster.workers[0].name}"
        raise BadInput(Problem(what))


def _workers_by_name(clusters: Sequence[Cluster]) -> dict[str, Member]:
    return {worker.name: worker for cluster in clusters for worker in cluster.workers}


def _edited_fields(was: Host | Cluster, now: Host | Cluster, names: Sequence[str]) -> Row:
    return {name: getattr(now, name) for name in names if getattr(was, name) != getattr(now, name)}


def _member_wish(worker: Member) -> MemberWish:
    names = ("cluster", "ip", "port", "udp_port", "name", "mac", "kind", "worker_id", "lease")
    return MemberWish(**{name: getattr(worker, name) for name in names})


def _impossible_merge(what: str, ground: Ground) -> BadInput:
    remedy = "edit the testbed, or forget what was changed at run time: olafctl deploy TESTBED --force"
    return BadInput(Problem(f"the stored membership does not fit the testbed: {what}", ground.name, remedy))
