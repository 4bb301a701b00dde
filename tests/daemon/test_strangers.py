"""A client on another host, here another network namespace, without a certificate or the token."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from olafctl.daemon.api.client import DaemonClient
from olafctl.daemon.api.schema import CALLS
from olafctl.daemon.api.server import Server
from olafctl.daemon.controller import Controller
from olafctl.machines.certificates import issue_pair
from olafctl.network import interfaces
from olafswitch.p4runtime.address import Tls
from tests.daemon.conftest import read_held
from tests.daemon.pair import DaemonPair
from tests.daemon.test_api import TOKEN, own_deployment

_OURS = "10.213.7.1"
_STRANGER = """
import json, sys
import grpc
from olafctl.daemon.api.schema import CALLS, SERVICE
address, ca = sys.argv[1:]
authority = grpc.ssl_channel_credentials(open(ca, "rb").read())
found = []
for channel in (grpc.insecure_channel(address), grpc.secure_channel(address, authority)):
    for name in CALLS:
        kind = channel.unary_stream if name == "Watch" else channel.unary_unary
        try:
            answer = kind(f"/{SERVICE}/{name}")(b"", timeout=30)
            found.append([name, "OK", repr(list(answer) if name == "Watch" else answer)])
        except grpc.RpcError as error:
            found.append([name, error.code().name, error.details()])
print(json.dumps(found))
"""


@pytest.fixture
def elsewhere() -> Iterator[str]:
    """Provide a network namespace from which this one is reached at 10.213.7.1."""
    if reason := interfaces.why_not():
        pytest.skip(f"needs network namespaces: {reason}")
    name = f"olaf-st{os.getpid()}"
    for arguments in (
        f"netns add {name}",
        f"link add st{os.getpid()} type veth peer name eth0 netns {name}",
        f"address add {_OURS}/30 dev st{os.getpid()}",
        f"link set st{os.getpid()} up",
        f"-n {name} address add 10.213.7.2/30 dev eth0",
        f"-n {name} link set eth0 up",
    ):
        subprocess.run(["ip", *arguments.split()], check=True)
    yield name
    subprocess.run(["ip", "link", "delete", f"st{os.getpid()}"], check=True)
    subprocess.run(["ip", "netns", "delete", name], check=True)


@pytest.mark.parametrize("guard", ["certificate", "token"])
def test_a_stranger_beyond_loopback_changes_and_learns_nothing(
    controller: Controller, pair: DaemonPair, elsewhere: str, tmp_path: Path, guard: str
) -> None:
    issue_pair(tmp_path, "server", (_OURS,), 1)
    issue_pair(tmp_path, "client", (), 1)
    authority = tmp_path / "ca.pem"
    clients = authority if guard == "certificate" else None
    tls = Tls(tmp_path / "server.pem", tmp_path / "server.key", clients)
    server = Server(own_deployment(controller), f"{_OURS}:0", tls, TOKEN if guard == "token" else "")
    try:
        with DaemonClient(server.address, token=TOKEN, certificates=tmp_path) as friend:
            friend.call("CreateCluster", name="secretive")
            before = (read_held(pair), friend.call("GetStatus").SerializeToString())
            argv = ["ip", "netns", "exec", elsewhere, sys.executable, "-c", _STRANGER]
            text = subprocess.run([*argv, server.address, authority], capture_output=True, check=True).stdout
            found = json.loads(text)
            assert len(found) == 2 * len(CALLS)
            for name, code, details in found:
                assert code in ("UNAVAILABLE", "UNAUTHENTICATED"), (name, code, details)
            assert not any(secret in text for secret in (b"secretive", b"lab"))
            assert (read_held(pair), friend.call("GetStatus").SerializeToString()) == before
    finally:
        server.stop()
