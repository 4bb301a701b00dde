"""The agent's answers to callers of every kind, without an engine."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import grpc
import pytest

from olafctl.agent.server import Server
from olafctl.machines import calls
from olafctl.machines.calls import DEPLOYMENT, SERVICE, VERSION
from olafctl.machines.certificates import issue_pair
from olafctl.machines.client import MachineAgent, Unreachable
from olafctl.testbed.model import TestbedMachine
from olafswitch.errors import BadInput, OlafError
from olafswitch.p4runtime.address import Tls
from olafswitch.p4runtime.protocol import METHODS
from olafswitch.p4runtime.protocol import SERVICE as P4RUNTIME
from olaftest.daemon.machines import client_folder
from tests.testbed.test_machines import TREE

BED = TREE.replace("192.0.2.1:9700", "127.0.0.1:1")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    certs = tmp_path / "certs"
    issue_pair(certs, "server", ("127.0.0.1",), 1)
    for role in ("operator", "controller", "reader"):
        issue_pair(certs, role, (), 1, role)
        client_folder(certs, tmp_path / role, role)
    monkeypatch.setenv("OLAF_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("OLAF_CERTS", str(tmp_path / "operator"))
    served = Server("127.0.0.1:0", Tls(certs / "server.pem", certs / "server.key", certs / "ca.pem"))
    yield served
    served.close()


def agent_of(server: Server, deployment: str = "racks") -> MachineAgent:
    return MachineAgent(TestbedMachine("m1", server.address), deployment)


def test_an_agent_says_what_it_is_and_that_nothing_runs(server: Server) -> None:
    assert agent_of(server).call("Describe")["deployments"] == []
    assert agent_of(server).call("Find") is None


@pytest.mark.parametrize("name", ["../x", "/etc", "a/b", ".", "", "x" * 5000])
def test_a_deployment_is_never_a_path(server: Server, name: str, tmp_path: Path) -> None:
    with pytest.raises(OlafError):
        agent_of(server, name).call("Stop")
    assert (tmp_path / "operator").exists()


@pytest.mark.parametrize(
    "call", [name for name, role in calls.CALLS.items() if role > calls.CertificateRole.READER]
)
def test_a_reader_changes_nothing(
    server: Server, call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLAF_CERTS", str(tmp_path / "reader"))
    with pytest.raises(OlafError, match=r"reader at .* may not .*: it needs the role (controller|operator)"):
        agent_of(server).call(call, testbed=BED, machine="m1")


def test_a_reader_writes_no_register(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLAF_CERTS", str(tmp_path / "reader"))
    with pytest.raises(BadInput, match="a reader may not write"):
        agent_of(server).ask("write", queue="root", name="hold", value=1)


def test_a_controller_sends_no_frames_and_runs_no_programs(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLAF_CERTS", str(tmp_path / "controller"))
    calling = agent_of(server)
    asked = iter([b'{"host": "ps", "line": ["true"]}'])
    for ask in (
        lambda: calling.frames(1),
        lambda: calling.call("Pause", paused=True),
        lambda: [*calling.open_stream("Exec", 0, asked)],
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
        agent_of(server, deployment).call("Problems", testbed=testbed, machine=machine)


def test_a_missing_interface_is_a_problem_of_its_port(server: Server) -> None:
    found = agent_of(server).call("Problems", testbed=BED, machine="m1")
    assert [each["what"] for each in found if "port 1" in each["where"]] == [
        "interface cable0 does not exist"
    ]


def test_another_version_starts_nothing(server: Server) -> None:
    calling = agent_of(server)
    calling._metadata = ((DEPLOYMENT, "racks"), (VERSION, "0.0.1"))
    with pytest.raises(OlafError, match=r"and the caller has 0\.0\.1"):
        calling.call("Start", testbed=BED, machine="m1")


def _code_of(
    calling: MachineAgent,
    name: str,
    *requests: bytes,
    service: str = SERVICE,
    named: Iterable[tuple[str, str]] = (),
) -> grpc.StatusCode:
    stream = calling._channel.stream_stream(f"/{service}/{name}")(
        iter(requests), metadata=[*calling._metadata, *named], timeout=30
    )
    try:
        list(stream)
    except grpc.RpcError as error:
        code: grpc.StatusCode = error.code()
        return code
    return grpc.StatusCode.OK


@pytest.mark.parametrize("name", [*calls.CALLS, *calls.STREAMS])
def test_requests_that_make_no_sense_are_refused_in_words(
    server: Server, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    calling = agent_of(server)
    known: list[object] = [None, True, -1, 1e400, "x", "name: [", [], [[]], {}, {"do": 1}, {"do": "read"}]
    fields = {field for each in calls.FIELDS.values() for field in each}
    requests = [b"", b"[]", b"\xff", b"{}" * 2, b"[" * 100_000, b'{"a"' * 9000]
    requests += [json.dumps(dict.fromkeys(fields, value)).encode() for value in known]
    caplog.set_level("INFO")
    refused = {_code_of(calling, name, request) for request in requests} | {_code_of(calling, name)}
    words = {grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.OK}
    assert refused <= words, refused
    assert "Traceback" not in caplog.text
    too_long = _code_of(calling, name, b"x" * (calls.LONGEST + 1))
    assert too_long in words | {grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.CANCELLED}
    assert calling.call("Find") is None


@pytest.mark.parametrize("device", [None, "", "x", "1e3", "-1", "9" * 5000])
def test_a_call_that_names_no_device_is_one_line_of_the_log(
    server: Server, device: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    calling = agent_of(server)
    named = [] if device is None else [(calls.DEVICE, device)]
    caplog.set_level("INFO")
    for method in METHODS:
        assert _code_of(calling, method, b"", service=P4RUNTIME, named=named) in (
            grpc.StatusCode.INVALID_ARGUMENT,
            grpc.StatusCode.FAILED_PRECONDITION,
        )
    said = [record for record in caplog.records if record.name.startswith("olafctl")]
    assert not any(record.exc_info or "\n" in record.getMessage() for record in said)
    assert len({record.getMessage() for record in said}) in (0, len(METHODS))


def test_a_reader_with_many_streams_silences_nobody(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "state" / ".agent" / "racks").mkdir(parents=True)
    monkeypatch.setenv("OLAF_CERTS", str(tmp_path / "reader"))
    reader = agent_of(server)
    follow = reader._channel.stream_stream(f"/{SERVICE}/Follow")
    streams = [follow(iter([b"{}"]), metadata=reader._metadata) for _ in range(600)]
    try:
        monkeypatch.setenv("OLAF_CERTS", str(tmp_path / "operator"))
        assert agent_of(server).call("Describe")["deployments"] == ["racks"]
        last = next(each for each in reversed(streams) if each.code() is not None)  # that stream has ended
        assert last.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "calls open" in last.details()
    finally:
        for each in streams:
            each.cancel()


def test_following_what_does_not_exist_ends(server: Server) -> None:
    with pytest.raises(OlafError, match="was never started here"):
        next(iter(agent_of(server, "nothing").receive_parts("Follow")))


def test_a_certificates_name_moves_no_cursor(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "bad\x1b[31m\nline"
    issue_pair(tmp_path / "certs", name, (), 1, "reader")
    client_folder(tmp_path / "certs", tmp_path / "odd", name)
    monkeypatch.setenv("OLAF_CERTS", str(tmp_path / "odd"))
    with pytest.raises(OlafError, match="may not Stop") as refused:
        agent_of(server).call("Stop")
    assert str(refused.value).isprintable()
    assert r"bad\x1b[31m\nline" in str(refused.value)


def test_a_certificate_of_another_authority_opens_nothing(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = tmp_path / "others"
    issue_pair(others, "operator", (), 1)
    client_folder(others, tmp_path / "stranger", "operator")
    monkeypatch.setenv("OLAF_CERTS", str(tmp_path / "stranger"))
    with pytest.raises(Unreachable, match="machine m1 cannot be reached"):
        agent_of(server).call("Describe")


def test_an_agents_stolen_key_opens_no_other_agent(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client_folder(tmp_path / "certs", tmp_path / "stolen", "server")
    monkeypatch.setenv("OLAF_CERTS", str(tmp_path / "stolen"))
    with pytest.raises(Unreachable, match="machine m1 cannot be reached"):
        agent_of(server).call("Describe")


def test_a_client_without_a_certificate_says_so(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OLAF_CERTS")
    with pytest.raises(BadInput, match="olafctl certs"):
        agent_of(server)


def test_an_agent_wants_tls_with_an_authority(tmp_path: Path) -> None:
    issue_pair(tmp_path, "server", ("127.0.0.1",), 1)
    with pytest.raises(BadInput, match="a client authority for TLS"):
        Server("127.0.0.1:0", Tls(tmp_path / "server.pem", tmp_path / "server.key"))
