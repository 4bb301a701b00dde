"""The store of a deployment, opened without its daemon: to read it meanwhile, or to change it instead."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from olafctl.control import members
from olafctl.control.deploy import recorded
from olafctl.control.locks import CHANGE, held
from olafctl.control.status import Kept
from olafctl.control.store import Store, folder_of
from olafctl.daemon.etcd.client import Etcd
from olafctl.daemon.etcd.leadership import EtcdLeadership
from olafctl.daemon.etcd.store import EtcdStore
from olafctl.daemon.leadership import Alone
from olafctl.membership import sqlite
from olafctl.membership.interface import MembershipStore
from olafswitch.errors import OlafError, Problem

_LEADS_SECONDS = 10.0


@contextmanager
def reading(deployment: str, endpoints: str | None, certificates: Path | None) -> Iterator[MembershipStore]:
    """The store in etcd, else this machine's. Raises OlafError."""
    if endpoints:
        with closing(Etcd(endpoints.split(","), certificates)) as etcd:
            yield EtcdStore(etcd, deployment, Alone())
        return
    folder = folder_of(deployment)
    if not (folder / sqlite.FILE).exists():
        raise OlafError(Problem("no daemon has kept its membership yet", deployment, "olafctl daemon"))
    with closing(sqlite.SqliteStore(folder)) as store:
        yield store


def kept_in(deployed: Store, endpoints: str, certificates: Path | None) -> Kept:
    """Return a deployment's membership as an etcd has it. Raises OlafError, also where it has none."""
    name = deployed.folder.name
    with reading(name, endpoints, certificates) as store:
        revision, rows = store.rows()
    if not revision:
        raise OlafError(Problem(f"{store.place} has no membership of it", name, "give another --etcd"))
    return Kept(None, members.with_rows(recorded(deployed), rows).clusters)


@contextmanager
def changing(deployment: str, endpoints: str | None, certificates: Path | None) -> Iterator[MembershipStore]:
    """The store, which no daemon changes meanwhile; a new one where that of this machine is damaged.

    Raises OlafError when a daemon owns it.
    """
    folder = folder_of(deployment)
    if not endpoints:
        with held(folder, CHANGE):
            sqlite.put_aside(folder)
            with closing(sqlite.SqliteStore(folder)) as store:
                yield store
        return
    with closing(Etcd(endpoints.split(","), certificates)) as etcd:
        leadership = EtcdLeadership(etcd, deployment, "")
        try:
            _await(leadership, deployment)
            yield EtcdStore(etcd, deployment, leadership)
        finally:
            leadership.close()


def _await(leadership: EtcdLeadership, deployment: str) -> None:
    deadline = time.monotonic() + _LEADS_SECONDS
    while not leadership.term:
        if leadership.leader or time.monotonic() > deadline:
            who = f"the daemon at {leadership.leader} leads" if leadership.leader else "etcd gives no lease"
            raise OlafError(Problem(f"nothing was changed: {who}", deployment, "end every daemon first"))
        time.sleep(0.05)
