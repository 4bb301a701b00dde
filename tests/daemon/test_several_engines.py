"""A daemon over a tree of three engines, twin and BMv2: what a membership asks for is at every engine on the
way to the parameter server, all of it or nothing, and workers join from behind any of them."""

import itertools
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from olafctl.control import devices
from olafctl.control.deploy import find
from olafctl.control.desired import desired
from olafctl.control.destroy import destroy
from olafctl.control.plan import plan
from olafctl.control.store import Store, folder_of
from olafctl.daemon.api.client import Client
from olafctl.daemon.api.convert import clusters_of
from olafctl.daemon.daemon import serving
from olafctl.daemon.messages.datagram import signed
from olafctl.daemon.site import Deployment
from olafctl.errors import BadInput, OlafError
from olafctl.p4runtime.entities import Lpm, TableEntry
from olafctl.p4runtime.session import Change
from olafctl.ports import interfaces
from olafctl.ports.host import HostPort, open_host_port
from olafctl.queue.registers import IndexSettings
from olafctl.targets import processes, registry
from olafctl.targets.interface import Registers, Running
from olafctl.testbed.model import Testbed
from olafctl.wire import control
from olafctl.wire.control import Action, Reason
from olafctl.wire.frames import Values, unpack
from olafctl.wire.layouts import CONTROL_TOS, FrameType
from olafctl.wire.scapy_layers import Olaf
from tests.daemon.conftest import DEADLINE, behind_its_back, lab, watching
from tests.daemon.test_checking import until

_SIZE = "indices: 4, slots: 2, beats: 4"
_TESTBED = """
name: tree
target: {target}
engines:
  - {{name: root, {size}, address: 10.0.0.250,
      ports: [{{number: 1, name: ps{transport}}}, {{numbers: 2-3, name: down}}]}}
  - {{name: left, {size},
      ports: [{{numbers: 11-12, name: a{transport}}}, {{number: 13, name: up1}}]}}
  - {{name: right, {size}, mode: fifo, reward_threshold: 2,
      ports: [{{number: 21, name: b{transport}}}, {{number: 22, name: up2}}]}}
links:
  - {{ends: [left.up1, root.down2], rate: 1 Gb/s}}
  - {{ends: [right.up2, root.down3], rate: 1 Gb/s}}
parameter_servers: [{{name: ps, port: ps, ip: 10.0.0.254}}]
clusters:
  - {{name: home, workers: [{{name: old, port: 12, ip: 10.0.2.1}}]}}
"""
KEY = "5e" * 32
OLAF, ISWITCH = 1, 3
LEFT, RIGHT = 11, 21
Host = tuple[str, str, int]
SERVER: Host = ("02:00:0a:00:00:fe", "10.0.0.254", 20300)
ENGINE: Host = ("02:00:0a:00:00:fa", "10.0.0.250", 20300)
_nonces = itertools.count(time.time_ns())


def host(number: int) -> Host:
    return f"02:00:0a:00:01:{number:02x}", f"10.0.1.{number}", 41000


@dataclass
class Tree:
    """A deployment of three engines that a daemon keeps."""

    testbed: Testbed
    store: Store
    client: Client
    running: Running
    hosts: dict[int, HostPort] = field(default_factory=dict)

    def attach(self) -> None:
        """Open what is outside the front ports of what runs now."""
        _, running = find(self.store)
        assert running is not None
        self.running = running
        self.hosts = {each.number: open_host_port(each) for each in running.attachments}

    def detach(self) -> None:
        for port in self.hosts.values():
            port.close()

    def send(self, port: int, source: Host, to: Host, payload: bytes, tos: int = 0) -> None:
        self.hosts[port].send(frame(source, to, payload, tos))

    def heard(self, port: int, *, controls: bool = False) -> bytes:
        """The next datagram's payload at a front port: an answer to a control message, or anything else."""
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            got = self.hosts[port].receive(DEADLINE)
            assert got is not None, f"nothing at port {port}"
            if (packet := Ether(got)).haslayer(UDP):
                payload = bytes(packet[UDP].payload)
                if (payload[0] == Action.ACK) == controls:
                    return payload
        raise AssertionError(f"nothing of ours at port {port}")

    def silent(self, port: int) -> bool:
        return self.hosts[port].receive(0.05) is None

    def ask(self, port: int, source: Host, action: Action, **values: Any) -> Values:
        """Send a control message; its answer."""
        if "cluster" in values:
            values["cluster"] = int.from_bytes(values["cluster"].encode().ljust(32, b"\0"), "big")
        layout = next(each for each in control.ALL if each.name == action.name.lower())
        fields = {"action": action, "nonce": next(_nonces), **values}
        message = signed(layout, fields, KEY, IPv4Address(source[1]), source[2])
        self.send(port, source, SERVER, message, CONTROL_TOS)
        return unpack(control.ACK, self.heard(port, controls=True))

    def join(self, cluster: str, source: Host, port: int, name: str = "") -> int:
        """By the API; the cluster's epoch."""
        mac, ip, udp_port = source
        self.client.call("Join", cluster=cluster, ip=ip, mac=mac, udp_port=udp_port, port=port, name=name)
        return self.epoch(cluster)

    def epoch(self, cluster: str) -> int:
        [status] = self.client.call("GetStatus").deployments
        return next(int(each.epoch) for each in status.clusters if each.name == cluster)

    def update(self, port: int, source: Host, epoch: int, seq: int, value: float, to: Host = SERVER) -> None:
        header = Olaf(frame_type=FrameType.UPDATE, epoch=epoch, count=1, seq=seq)
        self.send(port, source, to, bytes(header) + np.full(16, value, "<f4").tobytes())

    def arrived(self) -> tuple[int, float]:
        """Count and value of the next update at the parameter server."""
        payload = self.heard(1)
        return Olaf(payload).count, float(np.frombuffer(payload[22:86], "<f4")[0])

    def ack(self, to: Host, epoch: int, seq: int) -> None:
        header = Olaf(frame_type=FrameType.ACK, epoch=epoch, count=1, seq=seq)
        self.send(1, SERVER, to, bytes(header) + bytes(64))

    def ready(self) -> bool:
        return bool(self.client.call("GetStatus").deployments[0].ready)

    def queues(self) -> dict[str, Registers]:
        return {"root": self.running.registers, **self.running.below}

    def await_register(self, engine: str, name: str, value: int) -> None:
        end = time.monotonic() + DEADLINE
        while (now := self.queues()[engine].read_all()[name]) != value:
            assert time.monotonic() < end, f"{name} at {engine} is {now} and never became {value}"

    def differences(self) -> list[str]:
        """Between what the daemon says of the membership and what the devices and queues hold."""
        [status] = self.client.call("GetStatus").deployments
        return self.against(replace(self.testbed, clusters=clusters_of(status)))

    def settle(self) -> None:
        """Wait until all engines have what the membership asks for: those above a worker that has just left
        another cluster know it a second later."""
        until(lambda: self.differences() == [])

    def against(self, testbed: Testbed) -> list[str]:
        wanted = desired(testbed)
        with watching(self.running) as sessions:
            actual = devices.read(self.running, sessions, list(wanted.registers))
        return list(plan(actual, wanted).lines())


def frame(source: Host, to: Host, payload: bytes, tos: int = 0) -> bytes:
    headers = Ether(src=source[0], dst=to[0]) / IP(src=source[1], dst=to[1], tos=tos)
    return bytes(headers / UDP(sport=source[2], dport=to[2], chksum=0) / Raw(payload))


@pytest.fixture(scope="module", params=["twin", "bmv2"])
def deployed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tree]:
    if missing := registry.get(request.param).missing():
        pytest.skip(f"the target {request.param} needs {', '.join(missing)}")
    if request.param == "bmv2" and (reason := interfaces.why_not()):
        pytest.skip(f"the target bmv2 needs network interfaces: {reason}")
    transport = ", transport: unix" if request.param == "twin" else ""
    folder = tmp_path_factory.mktemp("s")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OLAF_STATE", str(folder))
        store = Store(folder_of("tree"))
        testbed = lab(_TESTBED.format(target=request.param, transport=transport, size=_SIZE))
        site = Deployment(store, testbed, lambda step: None)
        try:
            with serving([site], f"unix:{folder}/d/olaf.sock") as server, Client(server.address) as client:
                _, running = find(store)
                assert running is not None
                tree = Tree(testbed, store, client, running)
                tree.attach()
                yield tree
                tree.detach()
        finally:
            destroy(store)


@pytest.fixture
def tree(deployed: Tree) -> Iterator[Tree]:
    """The tree, of which each test leaves what the testbed says, at every engine."""
    yield deployed
    [status] = deployed.client.call("GetStatus").deployments
    for cluster in status.clusters:
        if cluster.name != "home":
            deployed.client.call("DeleteCluster", cluster=cluster.name)
    for port in deployed.hosts.values():
        while port.receive(0.05) is not None:
            pass
    assert deployed.against(deployed.testbed) == []


def contents(deployed: Tree) -> tuple[Any, Any]:
    return deployed.against(deployed.testbed), deployed.differences()


def test_it_begins_with_what_a_deploy_programs_each_engine_with_its_own_mode(deployed: Tree) -> None:
    """`home` has no mode and no reward rule of its own: each engine's own counts."""
    assert contents(deployed) == ([], [])
    settings = {name: queue.settings()[0].settings for name, queue in deployed.queues().items()}
    assert settings["left"].mode == settings["root"].mode != settings["right"].mode
    assert [settings[name].reward_enable for name in ("root", "left", "right")] == [0, 0, 1]


@pytest.mark.parametrize("port", [LEFT, RIGHT, 1])
def test_a_worker_joins_by_message_from_behind_any_engine_and_leaves_nothing(tree: Tree, port: int) -> None:
    tree.client.call("CreateCluster", name="red", key=KEY)
    told = tree.ask(port, host(1), Action.JOIN, cluster="red")
    assert told["reason"] == Reason.OK
    [status] = tree.client.call("GetStatus").deployments
    parents = {LEFT: "left", RIGHT: "right", 1: "root"}
    assert [each.parent for each in status.workers if each.cluster == "red"] == [parents[port]]
    tree.settle()
    if port != 1:
        tree.update(port, host(1), told["epoch"], 5, 1.5)
        assert tree.arrived() == (1, 1.5)
        tree.ack(host(1), told["epoch"], 5)
        answered = Olaf(tree.heard(port))
        assert (answered.seq, answered.flags & 2) == (5, 2)  # a queue's status is in it
    assert tree.ask(port, host(1), Action.LEAVE, cluster="red")["reason"] == Reason.OK


def test_members_at_two_engines_are_combined_at_the_root_and_each_gets_one_ack(tree: Tree) -> None:
    tree.client.call("CreateCluster", name="red", mode=OLAF, key=KEY)
    tree.join("red", host(1), LEFT)
    epoch = tree.join("red", host(2), RIGHT)
    tree.settle()
    tree.queues()["root"].write("hold", 1)
    before = tree.queues()["root"].read("in_updates")
    tree.update(LEFT, host(1), epoch, 1, 1.0)
    tree.await_register("root", "in_updates", before + 1)
    tree.update(RIGHT, host(2), epoch, 1, 2.0)
    tree.await_register("root", "in_updates", before + 2)
    tree.queues()["root"].write("hold", 0)
    assert tree.arrived() == (2, 3.0)
    tree.ack(host(1), epoch, 9)
    assert [Olaf(tree.heard(port)).seq for port in (LEFT, RIGHT)] == [9, 9]
    assert tree.silent(12)
    tree.client.call("Leave", worker=host(2)[1])
    tree.ack(host(1), epoch, 10)
    assert Olaf(tree.heard(LEFT)).seq == 10
    assert tree.silent(RIGHT)


def test_rounds_over_engines_follow_joins_and_leaves_and_are_reset_everywhere(tree: Tree) -> None:
    tree.client.call("CreateCluster", name="rounds", mode=ISWITCH, key=KEY)
    places = {1: LEFT, 2: LEFT, 3: RIGHT}
    told = [tree.ask(port, host(n), Action.JOIN, cluster="rounds") for n, port in places.items()]
    assert [each["reason"] for each in told] == [Reason.OK] * 3
    assert (told[2]["threshold"], told[2]["server_addr"]) == (3, int(IPv4Address(ENGINE[1])))
    epoch = told[0]["epoch"]

    def contribute(round_: int, *members: int) -> None:
        for n in members:
            tree.update(places[n], host(n), epoch, round_, float(n), ENGINE)

    def results(*members: int) -> set[tuple[int, int, float]]:
        heard = [tree.heard(places[n]) for n in members]
        return {
            (Olaf(each).seq, Olaf(each).count, float(np.frombuffer(each[22:86], "<f4")[0])) for each in heard
        }

    contribute(0, 1, 2, 3)
    assert results(1, 2, 3) == {(0, 3, 6.0)}
    assert tree.ask(RIGHT, host(3), Action.LEAVE, cluster="rounds")["reason"] == Reason.OK
    contribute(1, 1, 2)  # all members are at one engine now: their results end there
    assert results(1, 2) == {(1, 2, 3.0)}
    assert tree.ask(RIGHT, host(3), Action.JOIN, cluster="rounds")["threshold"] == 3
    contribute(2, 1, 3)
    tree.await_register("left", "accumulating", 1)
    tree.await_register("root", "accumulating", 1)
    assert tree.ask(LEFT, host(1), Action.RESET, segment=0)["reason"] == Reason.OK
    tree.await_register("left", "accumulating", 0)
    tree.await_register("root", "accumulating", 0)
    contribute(2, 1, 2, 3)
    assert results(1, 2, 3) == {(2, 3, 6.0)}
    assert tree.ask(LEFT, host(1), Action.HALT, halted=1)["reason"] == Reason.OK
    assert unpack(control.HALT, tree.heard(RIGHT))["halted"] == 1
    tree.settle()


def test_h_of_rounds_over_engines_is_that_of_their_members(tree: Tree) -> None:
    tree.client.call("CreateCluster", name="rounds", mode=ISWITCH, threshold=1)
    tree.join("rounds", host(1), LEFT)
    tree.join("rounds", host(2), 12)
    with pytest.raises(BadInput, match="at several engines"):
        tree.join("rounds", host(3), RIGHT)
    tree.client.call("SetThreshold", cluster="rounds", threshold=0)
    tree.join("rounds", host(3), RIGHT)
    with pytest.raises(BadInput, match="at several engines"):
        tree.client.call("SetThreshold", cluster="rounds", threshold=2)
    tree.settle()


def test_a_worker_moves_to_another_engine_and_no_update_or_ack_goes_astray(tree: Tree) -> None:
    """It is moved, or joins again behind another port, while it and another member send."""
    tree.client.call("CreateCluster", name="red", mode=OLAF, key=KEY)
    tree.join("red", host(2), LEFT)
    epoch = tree.join("red", host(1), 12, "w")
    sent, counted, place = 0, 0, 12
    replaced = sum(queue.read("replaced_worker") for queue in tree.queues().values())
    for move in range(6):
        for _ in range(5):
            tree.update(place, host(1), epoch, sent, 1.0)
            tree.update(LEFT, host(2), epoch, sent, 1.0)
            sent += 2
        old, place = place, RIGHT if place == 12 else 12
        if move % 2:
            tree.join("red", host(1), place, "w")
        else:
            tree.client.call("MoveWorker", worker="w", port=place)
        tree.settle()
        tree.ack(host(2), epoch, 1000 + move)
        assert Olaf(tree.heard(LEFT)).seq == 1000 + move
        assert Olaf(tree.heard(place)).seq == 1000 + move
        assert tree.silent(old)
    end = time.monotonic() + DEADLINE
    while counted + replaced_since(tree, replaced) != sent:
        assert time.monotonic() < end, (
            f"{counted} of {sent} updates, {replaced_since(tree, replaced)} replaced"
        )
        if (got := tree.hosts[1].receive(0.1)) is not None and Ether(got).haslayer(UDP):
            counted += Olaf(bytes(Ether(got)[UDP].payload)).count


def test_every_update_is_accounted_for_while_a_worker_changes_engine_and_cluster(tree: Tree) -> None:
    """Another sends without pause; updates arrive, are replaced by newer ones, or find a queue full."""
    for name in ("red", "blue"):
        tree.client.call("CreateCluster", name=name, mode=OLAF, key=KEY)
    tree.join("blue", host(3), 1)
    epochs = {"red": tree.join("red", host(1), LEFT), "blue": tree.epoch("blue")}
    tree.join("red", host(2), 12, "w")
    before = {name: queue.read_all() for name, queue in tree.queues().items()}
    losses = tree.running.stats()["losses"]
    moving, arriving = threading.Event(), threading.Event()
    sent, arrived = Counter[str](), Counter[str]()

    def send() -> None:
        while not moving.is_set():
            tree.update(LEFT, host(1), epochs["red"], sent["other"], 1.0)
            sent["other"] += 1

    def receive() -> None:
        while not arriving.is_set():
            if (got := tree.hosts[1].receive(0.05)) is not None and (packet := Ether(got)).haslayer(UDP):
                arrived["updates"] += Olaf(bytes(packet[UDP].payload)).count

    def lost() -> int:
        """Updates that queues replaced, or dropped because they were full."""
        names = ("replaced_worker", "dropped_full")
        now = {name: queue.read_all() for name, queue in tree.queues().items()}
        return sum(now[engine][name] - before[engine][name] for engine in now for name in names)

    def root_was_full() -> bool:
        """Then what it dropped, combined below, counts as one, and is more."""
        return tree.queues()["root"].read("dropped_full") > before["root"]["dropped_full"]

    def at_rest() -> bool:
        return not any(queue.read("resident_updates") for queue in tree.queues().values())

    threads = [threading.Thread(target=each) for each in (send, receive)]
    for thread in threads:
        thread.start()
    try:
        for port, cluster in ((RIGHT, "red"), (RIGHT, "blue"), (12, "blue"), (12, "red"), (RIGHT, "blue")):
            tree.client.call("MoveWorker", worker="w", port=port, cluster=cluster)
            for _ in range(20):
                tree.update(port, host(2), epochs[cluster], sent["w"], 1.0)
                sent["w"] += 1
        moving.set()
        threads[0].join()
        until(lambda: arrived["updates"] + lost() == sent.total() or (root_was_full() and at_rest()))
    finally:
        moving.set()
        arriving.set()
        for thread in threads:
            thread.join()
    assert arrived["updates"] + lost() <= sent.total()
    for engine, queue in tree.queues().items():
        now = queue.read_all()
        dropped = {name for name in now if name.startswith("dropped_") and now[name] != before[engine][name]}
        assert dropped <= {"dropped_full"}
    assert tree.running.stats()["losses"] == losses


def test_what_waits_for_the_old_cluster_while_a_worker_changes_it_arrives_whole(tree: Tree) -> None:
    """Another member's update is in it, and it bears the address of the one that moves."""
    for name in ("red", "blue"):
        tree.client.call("CreateCluster", name=name, mode=OLAF, key=KEY)
    tree.join("red", host(1), 12, "stays")
    old = tree.join("red", host(2), LEFT, "w")
    new = tree.join("blue", host(3), RIGHT)
    assert old != new
    left, root = tree.queues()["left"], tree.queues()["root"]
    before = left.read("in_updates"), root.read("in_updates")
    left.write("hold", 1)
    tree.update(12, host(1), old, 1, 1.0)
    tree.await_register("left", "in_updates", before[0] + 1)
    tree.update(LEFT, host(2), old, 1, 2.0)
    tree.await_register("left", "in_updates", before[0] + 2)
    tree.client.call("MoveWorker", worker="w", cluster="blue")
    tree.update(LEFT, host(2), new, 2, 5.0)
    tree.await_register("left", "in_updates", before[0] + 3)
    left.write("hold", 0)
    assert {tree.arrived(), tree.arrived()} == {(2, 3.0), (1, 5.0)}
    assert root.read("in_updates") == before[1]  # both passed it by
    tree.settle()
    tree.update(LEFT, host(2), new, 3, 7.0)
    assert tree.arrived() == (1, 7.0)
    assert root.read("in_updates") == before[1] + 1


def replaced_since(tree: Tree, before: int) -> int:
    return sum(queue.read("replaced_worker") for queue in tree.queues().values()) - before


def test_a_change_that_one_engine_refuses_is_undone_at_all(tree: Tree) -> None:
    """Someone else's entry stands where the last one of the change is to go, in the root's VNP4₁."""
    tree.client.call("CreateCluster", name="red", key=KEY)
    tree.join("red", host(8), LEFT, "stays")
    params = {"cluster": 9, "worker": 9, "index": 0, "segments": 1, "member": 9, "epoch": 9}
    stray = TableEntry("workers", {"worker_addr": int(IPv4Address(host(9)[1]))}, "assign", params)
    behind_its_back(tree.running, "root/vnp4_1", Change.INSERT, stray)
    with pytest.raises(OlafError, match="ALREADY_EXISTS"):
        tree.join("red", host(9), RIGHT, "w")
    [status] = tree.client.call("GetStatus").deployments
    assert [each.name for each in status.workers if each.cluster == "red"] == ["stays"]
    tree.settle()
    tree.join("red", host(9), RIGHT, "w")
    tree.settle()


def test_an_objective_over_several_queues_is_refused(tree: Tree) -> None:
    with pytest.raises(BadInput, match="updates pass several"):
        tree.client.call("CreateCluster", name="red", objective="peak<=20ms", period=10**7)


def test_addresses_that_engines_use_among_themselves_and_ports_of_links_are_refused(tree: Tree) -> None:
    with pytest.raises(BadInput, match="among themselves"):
        tree.client.call("Join", cluster="home", ip="240.0.1.2", port=LEFT)
    with pytest.raises(BadInput, match="no front port 13"):
        tree.client.call("Join", cluster="home", ip="10.0.1.9", port=13)


def test_each_engines_queue_is_told(tree: Tree) -> None:
    told = tree.client.call("GetQueue")
    assert [told.engine, *(each.engine for each in told.below)] == ["root", "left", "right"]
    for queue in (told, *told.below):
        assert {"slots", "in_updates"} <= {count.name for count in queue.registers}


def test_killed_engines_come_back_with_the_membership(deployed: Tree) -> None:
    """Last, because the front ports are others then."""
    tree = deployed
    tree.client.call("CreateCluster", name="red", mode=OLAF, key=KEY)
    tree.join("red", host(1), LEFT)
    tree.join("red", host(2), RIGHT)
    tree.detach()
    for process in processes.of(tree.store.folder):
        os.kill(process.pid, signal.SIGKILL)
    for number in itertools.count(3):  # the first may meet the stream just ending, or engines just starting
        try:
            epoch = tree.join("red", host(number), LEFT, "again")
            break
        except OlafError:
            continue
    tree.attach()
    tree.settle()
    tree.update(RIGHT, host(2), epoch, 1, 4.0)
    assert tree.arrived() == (1, 4.0)
    tree.client.call("DeleteCluster", cluster="red")
    assert tree.against(tree.testbed) == []


def test_a_restarted_daemon_repairs_what_others_changed_at_lower_engines(
    deployed: Tree, tmp_path: Path
) -> None:
    """In tables and settings, also by its periodic check. Last: another daemon takes over."""
    deployed.client.call("CreateCluster", name="red", mode=ISWITCH, key=KEY)
    deployed.join("red", host(1), RIGHT)
    deployed.join("red", host(2), LEFT)
    deployed.client.call("LetGo")
    site = Deployment(deployed.store, deployed.testbed, lambda step: None)
    address = f"unix:{tmp_path}/d/olaf.sock"
    with serving([site], address, check_every=0) as server, Client(server.address) as client:
        tree = replace(deployed, client=client)
        until(tree.ready)
        tree.settle()
        for _ in range(2):
            prefix = {"dst_addr": Lpm(0x0A090000, 16)}
            stray = TableEntry("forwarding", prefix, "forward", {"port": 12})
            behind_its_back(tree.running, "left/vnp4_2", Change.INSERT, stray)
            tree.running.below["right"].configure(1, 1, IndexSettings())
            tree.settle()
        client.call("DeleteCluster", cluster="red")
        assert tree.against(tree.testbed) == []
