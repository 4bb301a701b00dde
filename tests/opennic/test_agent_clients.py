"""Unmodified clients of other projects, and calls with and without a token, at a card's agent."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from olafctl.machines.certificates import issue_pair
from olafctl.targets.opennic.card import Card
from olafctl.targets.opennic.host import HostFunction
from olafctl.targets.opennic.registers import HOST_ETHER_TYPE
from olafswitch.p4runtime.address import Tls
from olafswitch.p4runtime.agent import AgentServer, serve_devices
from olafswitch.p4runtime.protocol import p4runtime_pb2, p4runtime_stub
from tests.opennic import fake_card
from tests.opennic.fake_card import Built, FakeCard
from tests.shells import finsy_python, run_session, shell_python


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return fake_card.fake_build(tmp_path_factory.mktemp("card") / "plugin")


@pytest.fixture
def card(built: Built) -> Iterator[Card]:
    """Provide a card whose host function sends every frame back."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    def echo() -> None:
        while frame := theirs.recv(16384):
            assert frame[12:14] == HOST_ETHER_TYPE.to_bytes(2, "big")
            theirs.send(frame)

    echoing = threading.Thread(target=echo)
    echoing.start()
    host = HostFunction(ours, "the test")
    card = Card(FakeCard(built), host, built.folder, [1, 2])
    yield card
    card.close()
    echoing.join()
    theirs.close()


@pytest.fixture
def agent(card: Card, tmp_path: Path) -> Iterator[AgentServer]:
    with serve_devices(card.planes, f"unix:{tmp_path}/p4runtime.sock") as running:
        yield running


def test_p4runtime_shell(agent: AgentServer, built: Built) -> None:
    run_session(shell_python(), "opennic.clients.shell_session", agent.address, built.folder)


def test_finsy(agent: AgentServer, built: Built) -> None:
    run_session(finsy_python(), "opennic.clients.finsy_session", agent.address, built.folder)


def test_calls_need_the_token_over_tls(card: Card, tmp_path: Path) -> None:
    files = issue_pair(tmp_path / "certs", "server", ("localhost",), 1)
    names = {file.name: file for file in files}
    tls = Tls(names["server.pem"], names["server.key"])
    authority = grpc.ssl_channel_credentials((tmp_path / "certs" / "ca.pem").read_bytes())
    with (
        serve_devices(card.planes, "127.0.0.1:0", tls, "secret") as agent,
        grpc.secure_channel(f"localhost:{agent.address.rpartition(':')[2]}", authority) as channel,
    ):
        stub = p4runtime_stub(channel)
        ask = p4runtime_pb2.CapabilitiesRequest()
        for token in (None, "Bearer wrong", "secret"):
            metadata = [("authorization", token)] if token else []
            with pytest.raises(grpc.RpcError) as caught:
                stub.Capabilities(ask, metadata=metadata, timeout=60)
            assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
            with pytest.raises(grpc.RpcError) as caught:
                list(stub.StreamChannel(iter([]), metadata=metadata, timeout=60))
            assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
        answer = stub.Capabilities(ask, metadata=[("authorization", "Bearer secret")], timeout=60)
        assert answer.p4runtime_api_version


def test_beyond_loopback_it_needs_tls(card: Card) -> None:
    with pytest.raises(Exception, match="would let every host"):
        serve_devices(card.planes, "0.0.0.0:0")
