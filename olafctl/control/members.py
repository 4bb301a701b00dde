"""A deployment's stored membership, as every command sees it and a deploy programs it.

The membership has its own store. That it was begun, and where, is noted with the deployment: a store that has
been lost is not mistaken for one that never existed.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace

from olafctl.control.store import OTHERS, RecordRole, Store
from olafctl.membership.interface import HERE
from olafctl.membership.membership import Membership, rows_of
from olafctl.membership.merge import check_fit, members_of, merge_clusters
from olafctl.membership.model import Cluster, Row
from olafctl.membership.sqlite import FILE, SqliteStore, put_aside
from olafctl.targets import testbeds
from olafctl.testbed.ground import make_ground
from olafctl.testbed.model import Testbed
from olafswitch.errors import OlafError, Problem


class Lost(OlafError):
    """A membership that was begun and cannot be found."""


def place_elsewhere(store: Store) -> str:
    """Return where the membership is kept, as ``etcd at HOST:PORT,...`` or :data:`OTHERS`; empty when it is
    here."""
    place = store.membership()
    return "" if place in ("", HERE) else place


def check_here(store: Store) -> None:
    """Raise OlafError when the membership is kept in an etcd, which only a daemon reads and changes."""
    if place := place_elsewhere(store):
        name = store.folder.name
        remedy = f"start its daemon: olafctl daemon {name} --etcd {place.removeprefix('etcd at ')}"
        if place == OTHERS:
            remedy = "give its daemon's address: --daemon"
        raise OlafError(Problem(f"its membership is kept in {place}, and no daemon runs here", name, remedy))


def stored_rows(store: Store) -> Mapping[str, Row] | None:
    """Return the rows of the deployment's own store; None when it has none, or they are kept elsewhere.

    Raises Lost.
    """
    found = _read_store(store)
    return None if found is None else found[1]


def stored_revision(store: Store) -> int:
    """Return how often the membership was changed; 0 before it began, or elsewhere. Raises OlafError."""
    found = _read_store(store)
    return 0 if found is None else found[0]


def _read_store(store: Store) -> tuple[int, Mapping[str, Row]] | None:
    place = store.membership()
    if place_elsewhere(store):
        return None
    revision, rows = 0, dict[str, Row]()
    if (store.folder / FILE).is_file():
        with closing(SqliteStore(store.folder, reads=True)) as kept:
            revision, rows = kept.rows()
    if not revision and place:
        name = store.folder.name
        remedy = (
            f"olafctl restore BACKUP --deployment {name}; olafctl deploy --force begins with the testbed's"
        )
        what = f"its membership was kept in {FILE}, which is missing or empty"
        raise Lost(Problem(what, name, remedy))
    return (revision, rows) if revision else None


def current_members(testbed: Testbed, store: Store) -> Testbed:
    """Return ``testbed``, which was deployed, with the present clusters and members.

    Raises OlafError, also when they belong to another testbed.
    """
    rows = stored_rows(store)
    return testbed if rows is None else with_rows(testbed, rows)


def with_rows(testbed: Testbed, rows: Mapping[str, Row]) -> Testbed:
    """Return ``testbed`` with a store's clusters and members. Raises OlafError when they do not fit it."""
    membership = Membership(testbed.indices, rows)
    check_fit(membership, make_ground(testbed))
    clusters = sorted(membership.clusters.values(), key=lambda cluster: cluster.number)
    return replace(testbed, clusters=tuple(clusters))


def wanted_members(testbed: Testbed, store: Store) -> Testbed:
    """Return ``testbed``, which is to be deployed, with the changes at run time since its last deploy.

    Raises Lost, and BadInput when the two contradict each other.
    """
    check_here(store)
    rows, record = stored_rows(store), store.record(RecordRole.RUNNING)
    if rows is None:
        return testbed
    old: Sequence[Cluster] = ()
    if record is not None:
        old = testbeds.load_testbed(record.source, record.testbed).clusters
    return replace(testbed, clusters=tuple(merge_clusters(old, testbed.clusters, rows, make_ground(testbed))))


def list_forgotten(testbed: Testbed, store: Store) -> tuple[str, ...]:
    """Return the members, as CLUSTER/NAME, that a deploy of ``testbed`` alone would forget."""
    if place := place_elsewhere(store):
        return (f"every member in {place}",)
    try:
        rows = stored_rows(store) or {}
    except Lost:
        return ()
    given = {worker.name for worker in testbed.workers}
    joined = (row for key, row in rows.items() if key.startswith("member/") and row["name"] not in given)
    return tuple(sorted(f"{row['cluster']}/{row['name']}" for row in joined))


@contextmanager
def keep_membership(testbed: Testbed, store: Store) -> Iterator[None]:
    """Store the membership of ``testbed``, which runs now; restore the old one when the context fails.

    Raises OlafError.
    """
    put_aside(store.folder)
    with closing(SqliteStore(store.folder)) as kept:
        revision, rows = kept.rows()
        before, after = members_of(rows), rows_of(testbed.clusters)
        change: dict[str, Row | None] = {key: None for key in before.keys() - after.keys()} | {
            key: row for key, row in after.items() if before.get(key) != row
        }
        if not revision:  # this is done without a cluster, too: a history has no gaps
            change["meta/testbed"] = {"name": testbed.name}
        if change:
            kept.finish(change)
        place = store.membership()
        try:
            store.put_membership(HERE)
            yield
        except BaseException:
            kept.finish({key: before.get(key) for key in change})
            store.put_membership(place)
            raise
