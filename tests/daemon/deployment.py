"""A deployment that a daemon keeps, and hosts at its front ports: workers, the parameter server."""

import itertools
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from olafctl.control.deploy import find_deployment
from olafctl.control.destroy import destroy_deployment
from olafctl.control.store import Store, folder_of
from olafctl.daemon.api.client import DaemonClient
from olafctl.daemon.daemon import serve_deployments
from olafctl.daemon.site import Deployment
from olafctl.network import interfaces
from olafctl.targets import registry, testbeds
from olafctl.targets.interface import Running
from olafctl.testbed.model import Testbed
from olafctl.wire import control
from olafctl.wire.authentication import sign_message
from olafctl.wire.control import ControlAction

Host = tuple[str, str, int]
"""Its MAC and IPv4 address, and its UDP port."""
SERVER: Host = ("02:00:0a:00:00:fe", "10.0.0.254", 20300)
ENGINE: Host = ("02:00:0a:00:00:fa", "10.0.0.250", 20300)
KEY = "5e" * 32
_nonces = itertools.count(time.time_ns())


@dataclass(frozen=True)
class KeptDeployment:
    """What stands, and a client of the daemon that keeps it."""

    testbed: Testbed
    store: Store
    client: DaemonClient
    page: str
    """Where it is served, as HOST:PORT."""

    def running(self) -> Running:
        _, running = find_deployment(self.store)
        assert running is not None
        return running


@contextmanager
def keep_deployment(text: str, target: str, folder: Path, **served: Any) -> Iterator[KeptDeployment]:
    """The testbed ``text``, whose {target} and {transport} of its ports are filled in, with its state in
    ``folder``; ``served`` is what else :func:`serving` takes. Skips the test where the target cannot run."""
    if missing := registry.get_target(target).missing():
        pytest.skip(f"the target {target} needs {', '.join(missing)}")
    if target == "bmv2" and (reason := interfaces.why_not()):
        pytest.skip(f"the target bmv2 needs network interfaces: {reason}")
    transport = ", transport: unix" if target == "twin" else ""
    testbed = testbeds.load_testbed("lab.yaml", text.format(target=target, transport=transport))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OLAF_STATE", str(folder))
        store = Store(folder_of(testbed.name))
        site = Deployment(store, testbed, lambda step: None)
        try:
            address = f"unix:{folder}/d/olaf.sock"
            with (
                serve_deployments([site], address, **served) as server,
                DaemonClient(server.address) as client,
            ):
                yield KeptDeployment(testbed, store, client, server.page)
        finally:
            destroy_deployment(store)


def worker_of(number: int) -> Host:
    return f"02:00:0a:00:01:{number:02x}", f"10.0.1.{number}", 41000


def make_frame(source: Host, to: Host, payload: bytes, tos: int = 0) -> bytes:
    headers = Ether(src=source[0], dst=to[0]) / IP(src=source[1], dst=to[1], tos=tos)
    return bytes(headers / UDP(sport=source[2], dport=to[2], chksum=0) / Raw(payload))


def make_message(source: Host, action: ControlAction, **values: Any) -> bytes:
    """Return a control message of ``source``, signed with KEY; ``cluster`` is a name."""
    if "cluster" in values:
        values["cluster"] = int.from_bytes(values["cluster"].encode().ljust(32, b"\0"), "big")
    layout = next(each for each in control.ALL if each.name == action.name.lower())
    fields = {"action": action, "nonce": next(_nonces), **values}
    return sign_message(layout, fields, KEY, IPv4Address(source[1]), source[2])
