"""The northbound API over real sockets, and the command line as its client."""

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import grpc
import pytest

from olafctl.cli import main
from olafctl.daemon.admission import Admission
from olafctl.daemon.api import olaf_pb2, schema
from olafctl.daemon.api.calls import Owned
from olafctl.daemon.api.client import DaemonClient
from olafctl.daemon.api.server import Server
from olafctl.daemon.controller import Controller
from olafctl.daemon.messages.notices import Notices
from olafctl.machines.certificates import issue_pair
from olafctl.membership.operations import Operations
from olafctl.testbed.ground import make_ground
from olafctl.wire.modes import Mode
from olafswitch.errors import BadInput, OlafError
from olafswitch.p4runtime.address import Tls
from tests.cli.conftest import run_for_json
from tests.daemon.conftest import lab, read_held
from tests.daemon.pair import DaemonPair


def own_deployment(controller: Controller) -> dict[str, Owned]:
    """Return the laboratory's deployment, for a server."""
    bed = lab()
    admission, notices = Admission(controller, bed), Notices(controller, bed)
    return {
        "lab": Owned(controller, admission, Operations(make_ground(bed)), notices, bed.udp_port, lambda: None)
    }


TOKEN = "correct horse battery"


@pytest.fixture
def server(controller: Controller, tmp_path: Path) -> Iterator[Server]:
    """Provide a server at a UNIX socket."""
    served = Server(own_deployment(controller), f"unix:{tmp_path}/d/olaf.sock")
    yield served
    served.stop()


@pytest.fixture
def client(server: Server) -> Iterator[DaemonClient]:
    with DaemonClient(server.address) as connected:
        yield connected


def test_a_cluster_lives_and_dies(client: DaemonClient, pair: DaemonPair) -> None:
    made = client.call("CreateCluster", name="red", values=1000, mode=3)
    assert (made.segments, made.epoch, made.mode) == (3, 1, 3)
    empty = read_held(pair)
    joined = client.call("Join", cluster="red", ip="10.0.1.1", port=2, name="w1", mtu=1600)
    assert (joined.number, joined.udp_port, joined.mac) == (0, 20300, "02:00:0a:00:01:01")
    assert client.call("SetThreshold", cluster="red", threshold=1).threshold == 1
    assert client.call("SetReward", cluster="red", reward_threshold=0.0).HasField("reward_threshold")
    assert not client.call("SetReward", cluster="red").HasField("reward_threshold")
    assert client.call("Halt", cluster="red").halted
    assert not client.call("Resume", cluster="red").halted
    client.call("Reset", cluster="red", segment=2)
    assert client.call("SetMode", cluster="red", mode=1).mode == 1
    client.call("CreateCluster", name="blue")
    assert client.call("MoveWorker", worker="w1", cluster="blue").cluster == "blue"
    assert client.call("Leave", worker="w1").name == "w1"
    assert client.call("DeleteCluster", cluster="blue").members == 0
    assert read_held(pair) == empty


def test_a_refusal_carries_its_problems(client: DaemonClient) -> None:
    with pytest.raises(BadInput, match=r"ip: '10.0.1' is not an IPv4 address \(give one such as 10.0.1.1\)"):
        client.call("Join", cluster="red", ip="10.0.1", port=2)
    with pytest.raises(BadInput, match="the daemon owns no deployment 'other'"):
        client.call("Leave", deployment="other", worker="w1")


def test_watching_resumes_where_it_ended(client: DaemonClient) -> None:
    client.call("CreateCluster", name="red", key="ab" * 16)
    [deployment] = client.call("GetStatus").deployments
    client.call("Join", cluster="red", ip="10.0.1.1", port=2, name="w1")
    client.call("Leave", worker="w1")
    events = client.watch("", deployment.resume_token)
    first = next(events)
    assert (first.kind, first.name, first.worker.ip) == ("worker", "w1", "10.0.1.1")
    events.close()  # type: ignore[attr-defined]
    second = next(client.watch("", first.resume_token))
    assert (second.kind, second.name, second.HasField("worker")) == ("worker", "w1", False)
    with pytest.raises(OlafError, match="history has revisions"):
        next(client.watch("", "999999"))


def test_no_answer_shows_a_key(client: DaemonClient) -> None:
    key = "5ec2e7" * 8
    made = client.call("CreateCluster", name="red", key=key)
    seen = [str(made), str(client.call("GetStatus")), str(next(client.watch("", "1")))]
    assert not any(key in text for text in seen)
    assert made.keyed


@pytest.mark.parametrize("address", ["127.0.0.1:0", "localhost:0"])
def test_over_tcp_a_stranger_changes_and_learns_nothing(controller: Controller, address: str) -> None:
    controllers = own_deployment(controller)
    with pytest.raises(BadInput, match="give a token, or a client authority"):
        Server(controllers, address)
    server = Server(controllers, address, token=TOKEN)
    try:
        for token in ("", "wrong"):
            with DaemonClient(server.address, token=token) as stranger:
                for call in schema.CALLS.keys() - {"Watch"}:
                    with pytest.raises(OlafError, match="needs the daemon's token"):
                        stranger.call(call)
                with pytest.raises(OlafError, match="needs the daemon's token"):
                    next(stranger.watch())
        with DaemonClient(server.address, token=TOKEN) as friend:
            assert friend.call("GetStatus").deployments[0].clusters[:] == []
    finally:
        server.stop()


def test_beyond_loopback_serving_in_clear_is_refused(controller: Controller) -> None:
    with pytest.raises(BadInput, match="add a certificate for TLS"):
        Server(own_deployment(controller), "0.0.0.0:0", token=TOKEN)


def test_a_certificate_of_the_authority_lets_a_client_in(controller: Controller, tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    issue_pair(ours, "server", ("127.0.0.1",), 1)
    for folder in (ours, theirs):
        issue_pair(folder, "client", (), 1)
    tls = Tls(ours / "server.pem", ours / "server.key", ours / "ca.pem")
    server = Server(own_deployment(controller), "127.0.0.1:0", tls)
    try:
        with DaemonClient(server.address, certificates=ours) as friend:
            assert friend.call("GetStatus").deployments[0].name == "lab"
        (theirs / "ca.pem").write_bytes((ours / "ca.pem").read_bytes())
        strangers: tuple[Path | None, ...] = (theirs, None)
        for presented in strangers:
            refused = pytest.raises(OlafError, match="it ends the connection")
            with DaemonClient(server.address, certificates=presented, timeout=20) as stranger, refused:
                stranger.call("GetStatus")
    finally:
        server.stop()


def test_a_pair_is_made_once_and_its_key_is_its_owners_alone(tmp_path: Path) -> None:
    _, key = issue_pair(tmp_path / "certs", "client", (), 1)
    assert key.stat().st_mode & 0o077 == 0
    with pytest.raises(BadInput, match="a pair called 'client' already"):
        issue_pair(tmp_path / "certs", "client", (), 1)
    with pytest.raises(BadInput, match="is not a file name"):
        issue_pair(tmp_path / "certs", "../client", (), 1)


def test_the_socket_is_its_owners_alone(server: Server) -> None:
    path = Path(server.address.removeprefix("unix:"))
    assert (path.stat().st_mode & 0o077, path.parent.stat().st_mode & 0o077) == (0, 0)


def test_damaged_messages_are_refused_and_change_nothing(
    client: DaemonClient, server: Server, pair: DaemonPair
) -> None:
    client.call("CreateCluster", name="red")
    before, chance = read_held(pair), random.Random(1)
    good = olaf_pb2.JoinRequest(cluster="red", ip="10.0.1.1", port=9, name="w").SerializeToString()
    with grpc.insecure_channel(server.address) as channel:
        for _ in range(300):
            data = bytearray(good)
            for _ in range(chance.randrange(1, 4)):
                data[chance.randrange(len(data))] = chance.randrange(256)
            for name in ("Join", "CreateCluster", "Leave"):
                call = channel.unary_unary(f"/{schema.SERVICE}/{name}")
                try:
                    call(bytes(data[: chance.randrange(len(data))]), timeout=30)
                except grpc.RpcError as error:
                    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT, error.details()
                else:
                    assert name == "CreateCluster"  # some damage gives a name
        with pytest.raises(grpc.RpcError) as refused:
            channel.unary_unary(f"/{schema.SERVICE}/Join")(bytes(1 << 20), timeout=30)
        assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert read_held(pair) == before


STRINGS = ("", "red", "lab", "w", "10.0.1.1", "0", "9" * 25, "a/b", "\0", "\x1b[2J\n", "é" * 40, "x" * 2000,
           "peak<=1ms@red", "ab" * 16, "02:00:00:00:00:01")  # fmt: skip
NUMBERS = (0, 1, 2, 1 << 31, (1 << 32) - 1, (1 << 63) - 1, (1 << 64) - 1, -1, -(1 << 31), -(1 << 63))
FLOATS = (0.0, -1.0, 0.5, 1e308, float("inf"), float("-inf"), float("nan"))


def fill_extremely(message: Any, chance: random.Random) -> Any:
    """Give about half of a message's fields a value at the edge of their range."""
    for field in message.DESCRIPTOR.fields:
        if chance.random() < 0.5:
            continue
        if field.message_type is not None:
            parts = getattr(message, field.name)
            for part in [parts.add() for _ in range(2)] if field.is_repeated else [parts]:
                fill_extremely(part, chance)
            continue
        kinds = {field.CPPTYPE_STRING: STRINGS, field.CPPTYPE_BOOL: (True,), field.CPPTYPE_DOUBLE: FLOATS,
                 field.CPPTYPE_FLOAT: FLOATS}  # fmt: skip
        for value in chance.sample(values := kinds.get(field.cpp_type, NUMBERS), len(values)):
            with suppress(ValueError, TypeError):  # the field cannot carry this value
                if field.is_repeated:
                    getattr(message, field.name).append(value)
                else:
                    setattr(message, field.name, value)
                break
    return message


@pytest.mark.parametrize("name", [name for name in schema.CALLS if name != "LetGo"])
def test_extreme_requests_are_refused_in_words(
    name: str, client: DaemonClient, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    client.call("CreateCluster", name="red")
    chance, kind = random.Random(1), schema.CALLS[name]
    known = {
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.FAILED_PRECONDITION,
        grpc.StatusCode.OUT_OF_RANGE,
    }
    with grpc.insecure_channel(server.address) as channel:
        method = channel.unary_stream if kind.streams else channel.unary_unary
        call = method(f"/{schema.SERVICE}/{name}")
        requests = [fill_extremely(kind.request(), chance) for _ in range(200)]
        for request in requests if kind.streams else ():  # from the first event on, or nowhere
            request.resume_token = chance.choice(("1", "x", "9" * 25, "999999"))
        for request in [*(each.SerializeToString() for each in requests), b"\xff", chance.randbytes(40)]:
            try:
                answer = call(request, timeout=30)
                if kind.streams:
                    next(answer)
                    answer.cancel()
            except grpc.RpcError as error:
                assert error.code() in known, (error.code(), error.details(), request)
    assert "Traceback" not in caplog.text
    assert client.call("GetStatus").deployments[0].ready


def test_the_api_has_every_mode_by_the_number_it_has_elsewhere() -> None:
    known = dict(olaf_pb2.Mode.items())
    assert known == {"ENGINE_MODE": 0, **{mode.name: mode.number + 1 for mode in Mode}}


# The command line

Run = Callable[..., Any]


@pytest.fixture
def run(server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Provide a function that runs ``olafctl`` with arguments and returns its JSON."""

    def olafctl(*arguments: object) -> Any:
        monkeypatch.setenv("OLAF_DAEMON", server.address)
        code, output = run_for_json(capsys, *arguments)
        return (code, output["error"]["problems"]) if code else output

    return olafctl


def test_the_verbs_do_what_the_calls_do(run: Run) -> None:
    assert run("cluster", "create", "red", "--mode", "iswitch")["mode"] == "iswitch"
    assert run("worker", "join", "red", "10.0.1.1", "--port", 2, "--name", "w1")["number"] == 0
    assert run("cluster", "threshold", "red", 1)["threshold"] == 1
    assert run("cluster", "reward", "red", "0.5")["reward_threshold"] == 0.5
    assert run("cluster", "reward", "red", "off")["reward_threshold"] == "off"
    assert run("cluster", "reward", "red", "engine")["reward_threshold"] is None
    assert run("cluster", "create", "fresh", "--staleness-bound", "4")["staleness_bound"] == 4
    assert run("cluster", "staleness", "fresh", "--bound", "0")["staleness_bound"] == 0
    assert run("cluster", "staleness", "fresh", "--off")["staleness_bound"] is None
    for wrong in (["--bound", "65536"], ["--bound", "-1"], ["--bound", "8", "--off"], []):
        code, problems = run("cluster", "staleness", "fresh", *wrong)
        assert (code, len(problems)) == (2, 1)
    assert run("cluster", "delete", "fresh")["members"] == 0
    [status] = run("cluster", "list")
    assert [worker["name"] for worker in status["workers"]] == ["w1"]
    assert run("cluster", "help", "red", "w1", "--segment", 0, "--round", 1) == {"asked": []}
    assert run("cluster", "fbcast", "red")["name"] == "red"
    assert run("cluster", "reset", "red", "--segment", 0)["name"] == "red"
    made = run("cluster", "create", "blue", "--reward-threshold", "0.25", "--period", "1ms")
    assert (made["name"], made["mode"], made["reward_threshold"]) == ("blue", None, 0.25)
    assert run("worker", "move", "w1", "blue")["cluster"] == "blue"
    assert run("worker", "move", "w1", "--port", 3)["port"] == 3
    assert run("worker", "leave", "w1")["cluster"] == "blue"
    assert run("cluster", "delete", "red") == {"cluster": "red", "members": 0}
    code, [problem] = run("worker", "leave", "w1")
    assert (code, problem["what"]) == (2, "worker 'w1' does not exist")


def test_a_key_file_that_is_not_text_is_refused(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_bytes(bytes(range(128, 256)))
    code, [problem] = run("cluster", "create", "red", "--key-file", file)
    assert (code, problem["what"]) == (2, "is not a key")


def test_names_of_clusters_and_workers_are_completed(
    run: Run, server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("red", "rose", "blue"):
        run("cluster", "create", name)
    run("worker", "join", "red", "10.0.1.1", "--port", 2, "--name", "w1")

    def completed(words: str) -> list[str]:
        monkeypatch.setenv("_OLAFCTL_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", f"olafctl {words}")
        monkeypatch.setenv("COMP_CWORD", str(len(words.split(" "))))
        with pytest.raises(SystemExit):
            main.olafctl.main(prog_name="olafctl")
        return [line.partition(",")[2] for line in capsys.readouterr().out.split()]

    assert completed("cluster delete r") == ["red", "rose"]
    assert completed("worker move w") == ["w1"]
    assert completed("worker move w1 b") == ["blue"]
    server.stop()
    assert completed("cluster delete r") == []


def test_without_a_daemon_the_verbs_say_how_to_start_it(run: Run, server: Server) -> None:
    server.stop()
    code, [problem] = run("cluster", "list")
    assert code == 1
    assert problem["what"] == "no daemon answers: No such file or directory"
    assert "olafctl daemon" in problem["remedy"]
