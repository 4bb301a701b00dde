"""One process that owns deployments: a controller for each, the API, and control messages on the wire."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from olafctl.daemon.admission import Admission
from olafctl.daemon.api.server import Owned, Server
from olafctl.daemon.controller import Controller
from olafctl.daemon.leases import Leases
from olafctl.daemon.messages.listener import Listener
from olafctl.daemon.operations import Operations
from olafctl.daemon.site import Site
from olafctl.daemon.store.sqlite import SqliteStore
from olafctl.p4runtime.address import Tls


@contextmanager
def serving(
    sites: Sequence[Site], address: str, tls: Tls | None = None, token: str = "", lease: float = 0
) -> Iterator[Server]:
    """Own ``sites`` and serve ``olaf.v1`` at ``address`` meanwhile. Raises OlafError.

    Members that join by control messages leave after ``lease`` seconds of silence; 0: never.
    """
    with ExitStack() as stack:
        owned = {}
        for site in sites:
            controller = Controller(site, SqliteStore(site.folder))
            controller.start()
            stack.callback(controller.close)
            operations = Operations(site.testbed)
            admission = Admission(controller, site.testbed)
            stack.callback(admission.close)
            listener = Listener(controller, admission, operations, site.testbed, lease)
            stack.callback(listener.close)
            leases = Leases(controller, admission.submit)
            stack.callback(leases.close)
            owned[controller.name] = Owned(controller, admission, operations, site.testbed.udp_port)
        server = Server(owned, address, tls, token)
        stack.callback(server.stop)
        yield server
