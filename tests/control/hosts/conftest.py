"""Deployments whose hosts have their own namespaces, and kernel sockets in these."""

import socket
import sys
from pathlib import Path

import pytest

from olafctl.control.deploy import DeployOutcome, deploy_testbed
from olafctl.control.hosts import deployed
from olafctl.network import interfaces
from olafctl.targets import testbeds
from olafswitch.ports.namespace import run_within

BED = Path(__file__).parent / "testbed.yaml"
SOON = 60.0
needs_interfaces = pytest.mark.skipif(interfaces.why_not() is not None, reason=str(interfaces.why_not()))


def bring_up(name: str, *changes: tuple[str, str], with_hosts: bool | None = True) -> DeployOutcome:
    """Deploy these tests' testbed as ``name``, with texts in it replaced."""
    text = BED.read_text()
    for old, new in (("name: hosts", f"name: {name}"), *changes):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return deploy_testbed(testbeds.load_testbed(BED, text), lambda step: None, with_hosts=with_hosts)


def udp(folder: Path, host: str, port: int = 20300) -> socket.socket:
    """Return a kernel UDP socket of ``host``."""

    def opened() -> socket.socket:
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.bind(("", port))
        made.settimeout(SOON)
        return made

    return run_within(deployed.namespace_of(folder, host), opened)


def exec_line(deployment: str, host: str, *words: object) -> list[str]:
    """Return the command line that runs ``words`` as ``host``."""
    return [sys.executable, "-m", "olafctl", "exec", "--deployment", deployment, host, *map(str, words)]
