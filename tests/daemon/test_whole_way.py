"""Workers through a whole deployment, twin and BMv2: they join by each of the three doors, train, are
answered and leave nothing behind; and a cluster of rounds' control messages show in its packets."""

import threading
import time
from collections.abc import Callable, Iterator
from ipaddress import IPv4Address
from typing import Any

import numpy as np
import pytest

from olafctl.control.deploy import find_deployment
from olafctl.control.store import Store, folder_of
from olafctl.daemon.api.client import DaemonClient
from olafctl.daemon.daemon import serve_deployments
from olafctl.daemon.keeping import follow_membership
from olafctl.daemon.site import Deployment
from olafctl.membership.model import Cluster
from olafctl.targets.interface import of_root
from olafctl.wire import control
from olafctl.wire.control import ControlAction, Reason
from olafctl.wire.frames import Values, unpack_header
from olafctl.wire.layouts import FrameType
from olafctl.wire.scapy_layers import Olaf
from olaftest.deployment import open_hosts
from tests.cli.conftest import run_for_json
from tests.daemon.deployment import (
    DEADLINE,
    ENGINE,
    KEY,
    SERVER,
    KeptHosts,
    keep_deployment,
    make_frame,
    worker_of,
)
from tests.targets.conftest import need_target

_TESTBED = """
name: whole
target: {target}
engine: {{indices: 4, slots: 2, beats: 4, address: 10.0.0.250}}
ports: [{{number: 1, name: ps{transport}}}, {{numbers: 2-3, name: w{transport}}}]
parameter_servers: [{{name: ps, port: ps, ip: 10.0.0.254}}]
clusters:
  - {{name: home, workers: [{{name: old, port: 2, ip: 10.0.2.1}}]}}
  - {{name: other, workers: []}}
"""
WORKERS = (worker_of(1), worker_of(2))
ISWITCH = 3
PLAYER = 2


class WholeWay(KeptHosts):
    """One engine; WORKERS are behind its ports 2 and 3."""

    def ask(self, worker: int, action: ControlAction, **values: Any) -> Values:
        """Send a control message of one of WORKERS, and return the answer."""
        return self.ask_daemon(2 + worker, WORKERS[worker], action, **values)

    def send_contribution(self, worker: int, epoch: int, round_: int, value: float) -> None:
        self.send_update(2 + worker, WORKERS[worker], epoch, round_, value, ENGINE)

    def receive_results(self) -> list[tuple[int, int, float]]:
        """Return the round, count and value of the RESULT that both workers get."""
        heard = [self.hear_datagram(2), self.hear_datagram(3)]
        headers = [Olaf(each) for each in heard]
        assert {header.frame_type for header in headers} == {FrameType.RESULT}
        return [
            (header.seq, header.count, float(np.frombuffer(each[22:86], "<f4")[0]))
            for header, each in zip(headers, heard, strict=True)
        ]

    def has_nothing_left(self) -> bool:
        return self.find_drift(self.testbed) == []


@pytest.fixture(scope="module", params=["twin", "bmv2"])
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WholeWay]:
    with keep_deployment(_TESTBED, request.param, tmp_path_factory.mktemp("s")) as stands:
        running = stands.running()
        with open_hosts(running) as hosts:
            yield WholeWay(stands, stands.client, running, hosts)


def _join_by_wire(whole: WholeWay) -> int:
    seen = whole.ask(0, ControlAction.JOIN, cluster="red")
    assert seen["reason"] == Reason.OK
    return seen["epoch"]


def _join_by_api(whole: WholeWay) -> int:
    mac, ip, port = WORKERS[0]
    whole.client.call("Join", cluster="red", ip=ip, mac=mac, udp_port=port, port=2, name="w")
    [status] = whole.client.call("GetStatus").deployments
    return next(int(cluster.epoch) for cluster in status.clusters if cluster.name == "red")


_DOORS: dict[str, tuple[Callable[[WholeWay], int], Callable[[WholeWay], Any]]] = {
    "wire": (_join_by_wire, lambda whole: whole.ask(0, ControlAction.LEAVE, cluster="red")),
    "api": (_join_by_api, lambda whole: whole.client.call("Leave", worker="w")),
}


@pytest.mark.parametrize("door", _DOORS)
def test_a_worker_joins_trains_is_answered_and_leaves_nothing(whole: WholeWay, door: str) -> None:
    join, leave = _DOORS[door]
    whole.client.call("CreateCluster", name="red", key=KEY)
    epoch = join(whole)
    for seq in range(3):
        gradient = np.full(16, seq, "<f4").tobytes()
        whole.send_update(2, WORKERS[0], epoch, seq, seq)
        arrived = Olaf(whole.hear_datagram(1))
        assert (arrived.seq, arrived.count) == (seq, 1)
        ack = Olaf(frame_type=FrameType.ACK, epoch=epoch, count=1, seq=seq)
        whole.hosts[1].send(make_frame(SERVER, WORKERS[0], bytes(ack) + gradient))
        answered = Olaf(whole.hear_datagram(2))
        assert (answered.seq, answered.flags & 2) == (seq, 2)  # the queue's status is in it
    leave(whole)
    whole.client.call("DeleteCluster", cluster="red")
    assert whole.has_nothing_left()


def test_a_worker_of_the_sdk_joins_trains_and_leaves_nothing(whole: WholeWay) -> None:
    olaf = pytest.importorskip("olaf", reason="needs the SDK: pip install ./sdk")
    from tests.daemon.sdk_port import FramePort

    whole.client.call("CreateCluster", name="red", values=16, key=KEY)
    behind = FramePort(whole.hosts[1], SERVER, WORKERS[0][0])
    server = olaf.ParameterServer(policy="plain", port=behind, cluster="olaf://red@10.0.0.250", key=KEY)
    port = FramePort(whole.hosts[2], WORKERS[0], SERVER[0])
    worker = olaf.Worker("olaf://red@10.0.0.254", 16, port=port, key=KEY)
    worker.begin(np.zeros(16, np.float32))
    assert worker.wait(DEADLINE)
    worker.offer(np.ones(16, np.float32), 1.0)
    assert port.wait(lambda: server.counters().applied > 0, DEADLINE)
    assert port.wait(lambda: worker.status is not None, DEADLINE)  # an ACK with the queue's status
    worker.close()
    end = time.monotonic() + DEADLINE
    while any(each.cluster == "red" for each in whole.client.call("GetStatus").deployments[0].workers):
        assert time.monotonic() < end, "it did not leave"
    server.close()
    whole.client.call("DeleteCluster", cluster="red")
    whole.drain_ports(0.2)  # a Leave was sent several times, and each answered
    assert whole.has_nothing_left()


def test_a_player_of_the_sdk_joins_and_plays_what_is_published(whole: WholeWay) -> None:
    olaf = pytest.importorskip("olaf", reason="needs the SDK: pip install ./sdk")
    from tests.daemon.sdk_port import FramePort

    whole.client.call("CreateCluster", name="weights", key=KEY)
    ports = [FramePort(whole.hosts[2 + number], WORKERS[number], SERVER[0]) for number in range(2)]
    behind = FramePort(whole.hosts[1], SERVER, WORKERS[0][0])
    trained = {"w": np.arange(3000, dtype=np.float32)}
    publisher = olaf.Publisher("olaf://weights@10.0.0.250", trained, port=behind, key=KEY)
    played = [{"w": np.zeros(3000, np.float32)} for _ in ports]
    players = [
        olaf.Subscriber("olaf://weights@10.0.0.254", model, port=port, key=KEY, max_lag=1)
        for port, model in zip(ports, played, strict=True)
    ]
    for version in (1, 2):
        trained["w"][::7] += version
        assert publisher.publish() == version
        for player, model in zip(players, played, strict=True):
            assert player.wait(DEADLINE)
            assert player.adopt() == version
            assert np.array_equal(model["w"], trained["w"])
    kinds = {
        each.kind
        for each in whole.client.call("GetStatus").deployments[0].workers
        if each.cluster == "weights"
    }
    assert kinds == {PLAYER}

    def reported() -> dict[str, tuple[str, int, int, bool, bool]]:
        return {
            each.worker: (each.cluster, each.version, each.lag, each.slow, each.dead)
            for each in whole.client.call("GetQueues").players
        }

    wanted = {worker[1]: ("weights", 2, 0, False, False) for worker in WORKERS[:2]}
    assert behind.wait(lambda: reported() == wanted, DEADLINE), reported()
    for player in players:
        player.close()
    publisher.close()
    whole.client.call("DeleteCluster", cluster="weights")
    whole.drain_ports(0.2)
    assert whole.has_nothing_left()


@pytest.fixture
def rounds(whole: WholeWay) -> Iterator[int]:
    """Provide the epoch of a cluster of rounds that has both workers."""
    whole.client.call("CreateCluster", name="rounds", mode=ISWITCH, key=KEY)
    seen = [whole.ask(worker, ControlAction.JOIN, cluster="rounds") for worker in range(2)]
    assert [each["reason"] for each in seen] == [Reason.OK] * 2
    assert (seen[1]["threshold"], seen[1]["server_addr"]) == (2, int(IPv4Address(ENGINE[1])))
    yield seen[0]["epoch"]
    whole.client.call("DeleteCluster", cluster="rounds")
    assert whole.has_nothing_left()


def test_set_h_and_fbcast_end_a_round_early(whole: WholeWay, rounds: int) -> None:
    assert whole.ask(0, ControlAction.SET_H, threshold=1)["threshold"] == 1
    whole.send_contribution(0, rounds, 0, 3.0)
    assert whole.receive_results() == [(0, 1, 3.0)] * 2
    whole.ask(0, ControlAction.SET_H, threshold=2)
    whole.send_contribution(0, rounds, 1, 4.0)
    whole.await_register("engine", "accumulating", 1)
    assert whole.ask(0, ControlAction.FBCAST, segment=0)["reason"] == Reason.OK
    assert whole.receive_results() == [(1, 1, 4.0)] * 2
    whole.send_contribution(0, rounds, 2, 1.0)
    whole.send_contribution(1, rounds, 2, 2.0)
    assert whole.receive_results() == [(2, 2, 3.0)] * 2


def test_reset_discards_what_was_summed(whole: WholeWay, rounds: int) -> None:
    whole.send_contribution(0, rounds, 0, 100.0)
    whole.await_register("engine", "accumulating", 1)
    assert whole.ask(1, ControlAction.RESET, segment=0)["reason"] == Reason.OK
    whole.await_register("engine", "accumulating", 0)
    whole.send_contribution(0, rounds, 0, 1.0)
    whole.send_contribution(1, rounds, 0, 2.0)
    assert whole.receive_results() == [(0, 2, 3.0)] * 2


def test_halt_drops_updates_and_informs_the_others(whole: WholeWay, rounds: int) -> None:
    dropped = of_root(whole.running.queues).read_all()["dropped_halted"]
    assert whole.ask(0, ControlAction.HALT, halted=1)["reason"] == Reason.OK
    seen = unpack_header(control.HALT, whole.hear_datagram(3))
    assert (seen["action"], seen["halted"]) == (ControlAction.HALT, 1)
    whole.send_contribution(1, rounds, 0, 50.0)
    whole.await_register("engine", "dropped_halted", dropped + 1)
    assert whole.ask(0, ControlAction.HALT, halted=0)["reason"] == Reason.OK
    assert unpack_header(control.HALT, whole.hear_datagram(3))["halted"] == 0
    whole.send_contribution(0, rounds, 0, 1.0)
    whole.send_contribution(1, rounds, 0, 2.0)
    assert whole.receive_results() == [(0, 2, 3.0)] * 2


def test_help_asks_the_others_else_the_round_begins_again(whole: WholeWay, rounds: int) -> None:
    whole.send_contribution(0, rounds, 7, 100.0)
    whole.await_register("engine", "accumulating", 1)
    assert whole.ask(0, ControlAction.HELP, segment=0, round=7)["reason"] == Reason.OK
    seen = unpack_header(control.HELP, whole.hear_datagram(3))
    assert (seen["round"], seen["asker_addr"]) == (7, int(IPv4Address(WORKERS[0][1])))
    assert whole.ask(1, ControlAction.HELP, segment=0, round=7)["reason"] == Reason.OK
    assert unpack_header(control.HELP, whole.hear_datagram(2))["asker_addr"] == int(
        IPv4Address(WORKERS[1][1])
    )
    whole.await_register("engine", "accumulating", 0)
    whole.send_contribution(0, rounds, 7, 1.0)
    whole.send_contribution(1, rounds, 7, 2.0)
    assert whole.receive_results() == [(7, 2, 3.0)] * 2


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Provide a function that runs ``olafctl`` and returns its JSON, or its exit code and JSON."""

    def olafctl(*arguments: object) -> Any:
        code, output = run_for_json(capsys, *arguments)
        return (code, output) if code else output

    return olafctl


def test_verbs_that_act_once_ask_the_daemon(whole: WholeWay, run: Callable[..., Any]) -> None:
    assert run("worker", "move", "old", "other")["cluster"] == "other"
    [status] = whole.client.call("GetStatus").deployments
    assert {worker.name: worker.cluster for worker in status.workers} == {"old": "other"}
    assert run("worker", "move", "old", "1")["cluster"] == "other"
    report = run("status", "--deployment", "whole")
    assert (report["daemon"], report["drift"], report["changing"]) == (whole.client.address, [], False)
    assert [len(cluster["workers"]) for cluster in report["clusters"]] == [0, 1]
    assert run("cluster", "halt", "other")["halted"]
    assert run("status", "--deployment", "whole")["clusters"][1]["halted"]
    run("cluster", "resume", "other")
    code, refused = run("worker", "move", "old", "nowhere")
    assert (code, refused["error"]["problems"][0]["what"]) == (2, "cluster 'nowhere' does not exist")
    run("worker", "move", "old", "home")
    whole.drain_ports(0.2)
    assert whole.has_nothing_left()


def test_another_process_follows_the_membership(whole: WholeWay) -> None:
    changed = threading.Condition()
    seen: list[set[str]] = []

    def tell(clusters: tuple[Cluster, ...]) -> None:
        with changed:
            seen.append({worker.name for cluster in clusters for worker in cluster.workers})
            changed.notify_all()

    def await_workers(*names: str) -> None:
        with changed:
            assert changed.wait_for(lambda: bool(seen) and seen[-1] == set(names), DEADLINE)

    follow_membership(whole.client.address, "whole", tell)
    await_workers("old")
    whole.client.call("Join", cluster="home", ip="10.0.2.9", port=2, name="new")
    await_workers("old", "new")
    whole.client.call("Leave", worker="new")
    await_workers("old")


def test_destroy_makes_the_daemon_let_go(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, run: Callable[..., Any]
) -> None:
    need_target("twin")
    folder = tmp_path_factory.mktemp("s")
    monkeypatch.setenv("OLAF_STATE", str(folder))
    file = folder / "whole.yaml"
    file.write_text(_TESTBED.format(target="twin", transport=", transport: unix"))
    run("deploy", file)
    store = Store(folder_of("whole"))
    testbed, _ = find_deployment(store)
    with serve_deployments(
        [Deployment(store, testbed, lambda step: None)], f"unix:{folder}/d/olaf.sock"
    ) as server:
        assert run("deploy", file)["changed"] is False
        file.write_text(file.read_text().replace("10.0.2.1", "10.0.2.2"))
        code, refused = run("deploy", file)
        assert (code, "from another text" in refused["error"]["problems"][0]["what"]) == (2, True)
        assert run("destroy", "--deployment", "whole") == {"destroyed": ["whole"]}
        with DaemonClient(server.address) as client:
            assert list(client.call("GetStatus").deployments) == []
    assert not folder_of("whole").exists()
