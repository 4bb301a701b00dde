"""One process that owns deployments: a controller for each, the API, and control messages on the wire."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from olafctl.daemon.admission import Admission
from olafctl.daemon.api.calls import Owned
from olafctl.daemon.api.server import Server
from olafctl.daemon.controller import CHECK_SECONDS, Controller
from olafctl.daemon.etcd.client import Etcd
from olafctl.daemon.etcd.leadership import LEASE_SECONDS, EtcdLeadership
from olafctl.daemon.etcd.store import EtcdStore
from olafctl.daemon.keeping import leave_note
from olafctl.daemon.leases import Leases
from olafctl.daemon.messages.listener import MessageListener
from olafctl.daemon.messages.notices import Notices
from olafctl.daemon.operate.audit import AuditLog
from olafctl.daemon.operate.metrics import Metrics
from olafctl.daemon.site import Site
from olafctl.daemon.web.look import OwnedDeployment
from olafctl.daemon.web.looks import Looks
from olafctl.daemon.web.server import Web
from olafctl.membership.operations import Operations
from olafctl.membership.sqlite import SqliteStore
from olafctl.testbed.ground import make_ground
from olafswitch.errors import OlafError
from olafswitch.p4runtime.address import Tls


@dataclass(frozen=True)
class Shared:
    """The etcd with which several controllers share deployments."""

    endpoints: Sequence[str]
    """The endpoints, each HOST:PORT."""
    certificates: Path | None = None
    """The folder with ca.pem, client.pem and client.key; needed beyond loopback."""
    advertised: str = ""
    """The address that followers name as the leader's API; empty: the one at which it is served."""
    lease: int = LEASE_SECONDS
    """The seconds after which a silent leader is replaced."""


@contextmanager
def serve_deployments(
    sites: Sequence[Site],
    address: str,
    tls: Tls | None = None,
    token: str = "",
    lease: float = 0,
    shared: Shared | None = None,
    audit_log: Path | None = None,
    web: str = "",
    check_every: float = CHECK_SECONDS,
) -> Iterator[Server]:
    """Own ``sites`` and serve ``olaf.v1`` at ``address`` inside the context. Raises OlafError.

    Members that join by control messages leave after ``lease`` seconds of silence; 0: never. With ``shared``
    other controllers may own the same sites; one of them leads, and the others serve what it stores.
    Requested changes are noted in ``audit_log``; metrics, health and the page are served at ``web``, as
    HOST:PORT. Devices are compared with the membership ``check_every`` seconds after the last time.
    """
    with ExitStack() as stack:
        audit = None
        if audit_log is not None:
            audit = AuditLog(audit_log)
            stack.callback(audit.close)
        owned = {
            site.testbed.name: stack.enter_context(
                _own_site(site, shared, address, lease, audit, check_every)
            )
            for site in sites
        }
        metrics = Metrics(owned)
        server = Server(
            owned,
            address,
            tls,
            token,
            audit=audit,
            called=metrics.count_call,
            stranger=metrics.count_stranger,
        )
        stack.callback(server.stop)
        for site in sites:
            stack.enter_context(leave_note(site.folder, server.address))
        if web:
            looks = Looks(
                lambda: {name: OwnedDeployment(each) for name, each in list(owned.items())}, audit_log
            )
            served = Web(looks, web, tls, token, owned, metrics)
            stack.callback(served.stop)
            server.page = served.address
        yield server


@contextmanager
def _own_site(
    site: Site,
    shared: Shared | None,
    address: str,
    lease: float,
    audit: AuditLog | None,
    check_every: float,
) -> Iterator[Owned]:
    with ExitStack() as stack:
        if shared is None:
            controller = Controller(site, SqliteStore(site.folder), check_every=check_every)
        else:
            controller = _among_others(site, shared, address, check_every, stack)
        controller.start()
        stack.callback(controller.close)
        operations = Operations(make_ground(site.testbed))
        admission = Admission(controller, site.testbed)
        stack.callback(admission.close)
        notices = Notices(controller, site.testbed)
        listener = MessageListener(
            controller, admission, operations, notices, site.testbed, lease, audit=audit
        )
        stack.callback(listener.close)
        leases = Leases(controller, admission.submit)
        stack.callback(leases.close)
        udp_port = site.testbed.udp_port
        yield Owned(
            controller, admission, operations, notices, udp_port, stack.close,
            messages=listener.counts, players=listener.players,
        )  # fmt: skip


def _among_others(
    site: Site, shared: Shared, address: str, check_every: float, stack: ExitStack
) -> Controller:
    # The lease is prolonged over its own connection, which gives up in time to try another endpoint.
    leases = Etcd(shared.endpoints, shared.certificates, timeout=shared.lease / 4)
    stack.callback(leases.close)
    etcd = Etcd(shared.endpoints, shared.certificates)
    stack.callback(etcd.close)
    name = site.testbed.name
    leadership = EtcdLeadership(leases, name, shared.advertised or address, seconds=shared.lease)
    try:
        return Controller(site, EtcdStore(etcd, name, leadership), leadership, check_every=check_every)
    except OlafError:
        leadership.close()
        raise
