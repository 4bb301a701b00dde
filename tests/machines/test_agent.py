"""What an agent answers to callers of every kind, without any engine."""

from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from olafctl.agent.server import Server
from olafctl.machines import calls
from olafctl.machines.calls import DEPLOYMENT, SERVICE, VERSION
from olafctl.machines.certificates import issue
from olafctl.machines.client import Agent, Unreachable
from olafctl.testbed.model import Machine
from olafswitch.errors import BadInput, OlafError
from olafswitch.p4runtime.address import Tls
from olaftest.daemon.machines import client_folder
from tests.testbed.test_machines import TREE

BED = TREE.replace("192.0.2.1:9700", "127.0.0.1:1")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    certs = tmp_path / "certs"
    issue(certs, "server", ("127.0.0.1",), 1)
    for role in ("operator", "controller", "reader"):
        issue(certs, role, (), 1, role)
        client_folder(certs, tmp_path / role, role)
    monkeypatch.setenv("OLAF_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("OLAF_CERTS", str(tmp_path / "operator"))
    served = Server("127.0.0.1:0", Tls(certs / "server.pem", certs / "server.key", certs / "ca.pem"))
    yield served
    served.close()


def agent(server: Server, deployment: str = "racks") -> Agent:
    return Agent(Machine("m1", server.address), deployment)


def test_an_agent_says_what_it_is_and_that_nothing_runs(server: Server) -> None:
    assert agent(server).call("Describe")["deployments"] == []
    assert agent(server).call("Find") is None


@pytest.mark.parametrize("name", ["../x", "/etc", "a/b", ".", "", "x" * 5000])
def test_a_deployment_is_never_a_path(server: Server, name: str, tmp_path: Path) -> None:
    with pytest.raises(OlafError):
        agent(server, name).call("Stop")
    assert (tmp_path / "operator").exists()


@pytest.mark.parametrize("call", [name for name, role in calls.CALLS.items() if role > calls.Role.READER])
def test_a_reader_changes_nothing(
    server: Server, call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLAF_CERTS", str(tmp_path / "reader"))
    with pytest.raises(OlafError, match=r"reader at .* may not .*: it needs the role (controller|operator)"):
        agent(server).call(call, testbed=BED, machine="m1")


def test_a_reader_writes_no_register(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLAF_CERTS", str(tmp_path / "reader"))
    with pytest.raises(BadInput, match="a reader may not write"):
        agent(server).ask("write", queue="root", name="hold", value=1)


def test_a_controller_sends_no_frames_and_runs_no_programs(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLAF_CERTS", str(tmp_path / "controller"))
    calling = agent(server)
    asked = iter([b'{"host": "ps", "line": ["true"]}'])
    for ask in (
        lambda: calling.frames(1),
        lambda: calling.call("Pause", paused=True),
        lambda: [*calling.stream("Exec", 0, asked)],
    ):
        with pytest.raises((OlafError, grpc.RpcError), match="needs the role operator"):
            ask()


@pytest.mark.parametrize(
    ("deployment", "testbed", "machine", "what"),
    [
        ("racks", "name: [", "m1", "m1"),
        ("other", BED, "m1", "is the testbed of racks"),
        ("racks", BED, "m7", "the testbed has no engine on m7"),
    ],
)
def test_a_wrong_testbed_is_refused(
    server: Server, deployment: str, testbed: str, machine: str, what: str
) -> None:
    with pytest.raises(BadInput, match=what):
        agent(server, deployment).call("Problems", testbed=testbed, machine=machine)


def test_a_missing_interface_is_a_problem_of_its_port(server: Server) -> None:
    found = agent(server).call("Problems", testbed=BED, machine="m1")
    assert [each["what"] for each in found if "port 1" in each["where"]] == [
        "interface cable0 does not exist"
    ]


def test_another_version_starts_nothing(server: Server) -> None:
    calling = agent(server)
    calling._metadata = ((DEPLOYMENT, "racks"), (VERSION, "0.0.1"))
    with pytest.raises(OlafError, match=r"and the caller has 0\.0\.1"):
        calling.call("Start", testbed=BED, machine="m1")


@pytest.mark.parametrize("data", [b"", b"[]", b"\xff", b"{}" * 2, b"x" * (calls.LONGEST + 1)])
def test_what_is_no_request_is_refused(server: Server, data: bytes) -> None:
    calling = agent(server)
    stream = calling._channel.unary_stream(f"/{SERVICE}/Prepare")(
        data, metadata=calling._metadata, timeout=20
    )
    with pytest.raises(grpc.RpcError):
        list(stream)
    assert calling.call("Find") is None


def test_a_certificate_of_another_authority_opens_nothing(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = tmp_path / "others"
    issue(others, "operator", (), 1)
    client_folder(others, tmp_path / "stranger", "operator")
    monkeypatch.setenv("OLAF_CERTS", str(tmp_path / "stranger"))
    with pytest.raises(Unreachable, match="machine m1 cannot be reached"):
        agent(server).call("Describe")


def test_an_agents_stolen_key_opens_no_other_agent(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client_folder(tmp_path / "certs", tmp_path / "stolen", "server")
    monkeypatch.setenv("OLAF_CERTS", str(tmp_path / "stolen"))
    with pytest.raises(Unreachable, match="machine m1 cannot be reached"):
        agent(server).call("Describe")


def test_a_client_without_a_certificate_says_so(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OLAF_CERTS")
    with pytest.raises(BadInput, match="olafctl certs"):
        agent(server)


def test_an_agent_wants_tls_with_an_authority(tmp_path: Path) -> None:
    issue(tmp_path, "server", ("127.0.0.1",), 1)
    with pytest.raises(BadInput, match="a client authority for TLS"):
        Server("127.0.0.1:0", Tls(tmp_path / "server.pem", tmp_path / "server.key"))
