"""A daemon over a tree of three engines, twin and BMv2: the state of a membership is at every engine on the
path to the parameter server, all of it or nothing, and workers join from behind any engine."""

import itertools
import os
import signal
from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olafctl.daemon.api.client import DaemonClient
from olafctl.daemon.daemon import serve_deployments
from olafctl.daemon.site import Deployment
from olafctl.queue.registers import IndexSettings
from olafctl.targets import processes
from olafctl.wire import control
from olafctl.wire.control import ControlAction, Reason
from olafctl.wire.frames import unpack_header
from olafctl.wire.scapy_layers import Olaf
from olafswitch.errors import BadInput, OlafError
from olafswitch.p4runtime.entities import Lpm, TableEntry
from olafswitch.p4runtime.session import Change
from olaftest.daemon.daemon_process import wait_until
from tests.daemon.deployment import ENGINE, KEY, behind_its_back, worker_of
from tests.daemon.several_engines.tree import ISWITCH, LEFT, OLAF, RIGHT, Tree


def contents_of(deployed: Tree) -> tuple[Any, Any]:
    return deployed.find_drift(deployed.testbed), deployed.find_differences()


def test_it_begins_with_each_engines_own_mode(deployed: Tree) -> None:
    """`home` has no mode and no reward rule of its own: each engine's own apply."""
    assert contents_of(deployed) == ([], [])
    settings = {name: queue.settings()[0].settings for name, queue in deployed.read_queues().items()}
    assert settings["left"].mode == settings["root"].mode != settings["right"].mode
    assert [settings[name].reward_enable for name in ("root", "left", "right")] == [0, 0, 1]


@pytest.mark.parametrize("port", [LEFT, RIGHT, 1])
def test_a_worker_joins_behind_any_engine_and_leaves_nothing(tree: Tree, port: int) -> None:
    tree.client.call("CreateCluster", name="red", key=KEY)
    seen = tree.ask_daemon(port, worker_of(1), ControlAction.JOIN, cluster="red")
    assert seen["reason"] == Reason.OK
    [status] = tree.client.call("GetStatus").deployments
    parents = {LEFT: "left", RIGHT: "right", 1: "root"}
    assert [each.parent for each in status.workers if each.cluster == "red"] == [parents[port]]
    tree.await_settled()
    if port != 1:
        tree.send_update(port, worker_of(1), seen["epoch"], 5, 1.5)
        assert tree.next_arrived() == (1, 1.5)
        tree.send_ack(worker_of(1), seen["epoch"], 5)
        answered = Olaf(tree.hear_datagram(port))
        assert (answered.seq, answered.flags & 2) == (5, 2)  # a queue's status is in it
    assert tree.ask_daemon(port, worker_of(1), ControlAction.LEAVE, cluster="red")["reason"] == Reason.OK


def test_members_at_two_engines_are_combined_at_the_root(tree: Tree) -> None:
    tree.client.call("CreateCluster", name="red", mode=OLAF, key=KEY)
    tree.join("red", worker_of(1), LEFT)
    epoch = tree.join("red", worker_of(2), RIGHT)
    tree.await_settled()
    tree.read_queues()["root"].write("hold", 1)
    before = tree.read_queues()["root"].read("in_updates")
    tree.send_update(LEFT, worker_of(1), epoch, 1, 1.0)
    tree.await_register("root", "in_updates", before + 1)
    tree.send_update(RIGHT, worker_of(2), epoch, 1, 2.0)
    tree.await_register("root", "in_updates", before + 2)
    tree.read_queues()["root"].write("hold", 0)
    assert tree.next_arrived() == (2, 3.0)
    tree.send_ack(worker_of(1), epoch, 9)
    assert [Olaf(tree.hear_datagram(port)).seq for port in (LEFT, RIGHT)] == [9, 9]
    assert tree.is_silent(12)
    tree.client.call("Leave", worker=worker_of(2)[1])
    tree.send_ack(worker_of(1), epoch, 10)
    assert Olaf(tree.hear_datagram(LEFT)).seq == 10
    assert tree.is_silent(RIGHT)


def test_rounds_over_engines_follow_joins_leaves_and_resets(tree: Tree) -> None:
    tree.client.call("CreateCluster", name="rounds", mode=ISWITCH, key=KEY)
    places = {1: LEFT, 2: LEFT, 3: RIGHT}
    seen = [
        tree.ask_daemon(port, worker_of(n), ControlAction.JOIN, cluster="rounds")
        for n, port in places.items()
    ]
    assert [each["reason"] for each in seen] == [Reason.OK] * 3
    assert (seen[2]["threshold"], seen[2]["server_addr"]) == (3, int(IPv4Address(ENGINE[1])))
    epoch = seen[0]["epoch"]

    def contribute(round_: int, *members: int) -> None:
        for n in members:
            tree.send_update(places[n], worker_of(n), epoch, round_, float(n), ENGINE)

    def results(*members: int) -> set[tuple[int, int, float]]:
        heard = [tree.hear_datagram(places[n]) for n in members]
        return {
            (Olaf(each).seq, Olaf(each).count, float(np.frombuffer(each[22:86], "<f4")[0])) for each in heard
        }

    contribute(0, 1, 2, 3)
    assert results(1, 2, 3) == {(0, 3, 6.0)}
    assert tree.ask_daemon(RIGHT, worker_of(3), ControlAction.LEAVE, cluster="rounds")["reason"] == Reason.OK
    contribute(1, 1, 2)  # all members are at one engine now: their results end there
    assert results(1, 2) == {(1, 2, 3.0)}
    assert tree.ask_daemon(RIGHT, worker_of(3), ControlAction.JOIN, cluster="rounds")["threshold"] == 3
    contribute(2, 1, 3)
    tree.await_register("left", "accumulating", 1)
    tree.await_register("root", "accumulating", 1)
    assert tree.ask_daemon(LEFT, worker_of(1), ControlAction.RESET, segment=0)["reason"] == Reason.OK
    tree.await_register("left", "accumulating", 0)
    tree.await_register("root", "accumulating", 0)
    contribute(2, 1, 2, 3)
    assert results(1, 2, 3) == {(2, 3, 6.0)}
    assert tree.ask_daemon(LEFT, worker_of(1), ControlAction.HALT, halted=1)["reason"] == Reason.OK
    assert unpack_header(control.HALT, tree.hear_datagram(RIGHT))["halted"] == 1
    tree.await_settled()


def test_h_of_rounds_over_engines_is_that_of_their_members(tree: Tree) -> None:
    tree.client.call("CreateCluster", name="rounds", mode=ISWITCH, threshold=1)
    tree.join("rounds", worker_of(1), LEFT)
    tree.join("rounds", worker_of(2), 12)
    with pytest.raises(BadInput, match="at several engines"):
        tree.join("rounds", worker_of(3), RIGHT)
    tree.client.call("SetThreshold", cluster="rounds", threshold=0)
    tree.join("rounds", worker_of(3), RIGHT)
    with pytest.raises(BadInput, match="at several engines"):
        tree.client.call("SetThreshold", cluster="rounds", threshold=2)
    tree.await_settled()


def test_a_change_that_one_engine_refuses_is_undone_at_all(tree: Tree) -> None:
    """Someone else's entry is in the place of the change's last entry, in the root's VNP4₁."""
    tree.client.call("CreateCluster", name="red", key=KEY)
    tree.join("red", worker_of(8), LEFT, "stays")
    params = {"cluster": 9, "worker": 9, "index": 0, "segments": 1, "member": 9, "epoch": 9, "port": 1}
    stray = TableEntry("workers", {"worker_addr": int(IPv4Address(worker_of(9)[1]))}, "assign", params)
    behind_its_back(tree.running, "root/vnp4_1", Change.INSERT, stray)
    with pytest.raises(OlafError, match="ALREADY_EXISTS"):
        tree.join("red", worker_of(9), RIGHT, "w")
    [status] = tree.client.call("GetStatus").deployments
    assert [each.name for each in status.workers if each.cluster == "red"] == ["stays"]
    tree.await_settled()
    tree.join("red", worker_of(9), RIGHT, "w")
    tree.await_settled()


def test_an_objective_over_several_queues_is_refused(tree: Tree) -> None:
    with pytest.raises(BadInput, match="updates pass several"):
        tree.client.call("CreateCluster", name="red", objective="peak<=20ms", period=10**7)


def test_addresses_of_engines_and_ports_of_links_are_refused(tree: Tree) -> None:
    with pytest.raises(BadInput, match="among themselves"):
        tree.client.call("Join", cluster="home", ip="240.0.1.2", port=LEFT)
    with pytest.raises(BadInput, match="front port 13 does not exist"):
        tree.client.call("Join", cluster="home", ip="10.0.1.9", port=13)


def test_each_engines_queue_gets_the_change(tree: Tree) -> None:
    seen = tree.client.call("GetQueues").queues
    assert [each.engine for each in seen] == ["root", "left", "right"]
    for queue in seen:
        assert {"slots", "in_updates"} <= {count.name for count in queue.registers}


def test_killed_engines_come_back_with_the_membership(deployed: Tree) -> None:
    """This test is last, because the front ports change."""
    tree = deployed
    tree.client.call("CreateCluster", name="red", mode=OLAF, key=KEY)
    tree.join("red", worker_of(1), LEFT)
    tree.join("red", worker_of(2), RIGHT)
    tree.detach_hosts()
    for process in processes.find_processes(tree.kept.store.folder):
        os.kill(process.pid, signal.SIGKILL)
    for number in itertools.count(3):  # the first may meet an ending stream, or starting engines
        try:
            epoch = tree.join("red", worker_of(number), LEFT, "again")
            break
        except OlafError:
            continue
    tree.attach_hosts()
    tree.await_settled()
    tree.send_update(RIGHT, worker_of(2), epoch, 1, 4.0)
    assert tree.next_arrived() == (1, 4.0)
    tree.client.call("DeleteCluster", cluster="red")
    assert tree.find_drift(tree.testbed) == []


def test_a_restarted_daemon_repairs_changes_at_lower_engines(deployed: Tree, tmp_path: Path) -> None:
    """The periodic check repairs tables and settings, too. Last: another daemon takes over."""
    deployed.client.call("CreateCluster", name="red", mode=ISWITCH, key=KEY)
    deployed.join("red", worker_of(1), RIGHT)
    deployed.join("red", worker_of(2), LEFT)
    deployed.client.call("LetGo")
    site = Deployment(deployed.kept.store, deployed.testbed, lambda step: None)
    address = f"unix:{tmp_path}/d/olaf.sock"
    with serve_deployments([site], address, check_every=0) as server, DaemonClient(server.address) as client:
        tree = replace(deployed, client=client)
        wait_until(tree.ready)
        tree.await_settled()
        for _ in range(2):
            prefix = {"dst_addr": Lpm(0x0A090000, 16)}
            stray = TableEntry("forwarding", prefix, "forward", {"port": 12})
            behind_its_back(tree.running, "left/vnp4_2", Change.INSERT, stray)
            tree.running.queues["right"].configure(1, 1, IndexSettings())
            tree.await_settled()
        client.call("DeleteCluster", cluster="red")
        assert tree.find_drift(tree.testbed) == []
