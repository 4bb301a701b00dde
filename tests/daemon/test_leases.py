"""Leases: a worker that is silent for too long leaves, and no other worker does."""

from ipaddress import IPv4Address

from olafctl.daemon.controller import Controller
from olafctl.daemon.leases import Leases
from olafctl.membership.model import Cluster
from olafctl.membership.operations import MemberWish, Operations
from olafctl.testbed.ground import make_ground
from olafctl.wire.layouts import QUEUE_PORT, FrameType
from olafctl.wire.scapy_layers import Olaf
from tests.daemon.conftest import lab
from tests.daemon.deployment import DEADLINE
from tests.daemon.pair import DaemonPair
from tests.daemon.test_controller import answer_of
from tests.daemon.worker import ScriptedWorker

ASK = Operations(make_ground(lab()))


def names_of_members(controller: Controller) -> list[str]:
    return sorted(member["name"] for member in controller.status().members)


def test_a_silent_worker_leaves_and_one_that_sends_stays(controller: Controller, pair: DaemonPair) -> None:
    answer_of(controller, ASK.create_cluster(Cluster("red")))
    for number, lease in ((1, 10.0), (2, 10.0), (3, 0.0)):
        ip = IPv4Address(f"10.0.1.{number}")
        answer_of(controller, ASK.join(MemberWish("red", ip, 2, 41000, name=f"w{number}", lease=lease)))
    now = [100.0]
    leases = Leases(controller, controller.submit, every=None, clock=lambda: now[0])
    assert leases.remove_silent() == []
    now[0] = 105.0
    send_update(pair)
    assert leases.remove_silent() == []
    now[0] = 112.0
    for left in leases.remove_silent():
        assert left.result(DEADLINE)["name"] == "w1"
    assert names_of_members(controller) == ["w2", "w3"]
    now[0] = 115.0
    for left in leases.remove_silent():
        left.result(DEADLINE)
    assert names_of_members(controller) == ["w3"]


def test_while_devices_do_not_answer_no_member_is_silent(controller: Controller, pair: DaemonPair) -> None:
    answer_of(controller, ASK.create_cluster(Cluster("red")))
    answer_of(controller, ASK.join(MemberWish("red", IPv4Address("10.0.1.1"), 2, 41000, lease=10)))
    now = [0.0]
    leases = Leases(controller, controller.submit, every=None, clock=lambda: now[0])
    leases.remove_silent()
    pair.unreachable = True
    pair.kill("vnp4_1")
    now[0] = 100.0
    try:
        assert leases.remove_silent() == []
    finally:
        pair.unreachable = False
    assert len(controller.status().members) == 1


def send_update(pair: DaemonPair) -> None:
    """Send an update of the second worker, and wait until VNP4₁ has counted it."""
    worker, queue = ScriptedWorker(pair, 2, 2), pair.host("vnp4_1", QUEUE_PORT)
    update = Olaf(frame_type=FrameType.UPDATE, epoch=1, count=1)
    worker.send(worker.make_frame(bytes(update) + bytes(64), tos=0))
    assert queue.receive(DEADLINE)
    worker.close()
    queue.close()
