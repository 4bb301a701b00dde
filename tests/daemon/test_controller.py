"""Membership changes as one step over the store and both devices, or none at all."""

from collections.abc import Mapping
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest

from olafctl.control.desired import desired_state
from olafctl.control.state import DeviceState
from olafctl.daemon.controller import Controller, Unavailable
from olafctl.membership.model import Cluster
from olafctl.membership.operations import MemberWish, Operation, Operations
from olafctl.membership.sqlite import SqliteStore
from olafctl.queue.registers import Command, IndexSettings
from olafctl.testbed.ground import make_ground
from olafctl.wire.modes import Mode
from olafswitch.errors import BadInput, OlafError
from olafswitch.p4runtime.entities import Exact, MulticastGroup, Replica, TableEntry
from olaftest.daemon.daemon_process import wait_until
from olaftest.daemon.switch_pair import PairRegisters
from tests.daemon.conftest import Started, lab, read_held
from tests.daemon.deployment import DEADLINE
from tests.daemon.pair import DaemonPair

ASK = Operations(make_ground(lab()))


def answer_of(controller: Controller, operation: Operation) -> dict[str, Any]:
    """Return the answer of an operation, or raise its error."""
    return controller.submit(operation).result(DEADLINE)


def join_worker(number: int, cluster: str = "red", port: int = 2, **more: Any) -> Operation:
    """Return the join of the worker 10.0.1.``number``."""
    ip = IPv4Address(f"10.0.1.{number}")
    return ASK.join(MemberWish(cluster, ip, port, 41000, name=f"w{number}", **more))


def test_a_join_reaches_both_devices_and_a_leave_leaves_nothing(
    controller: Controller, pair: DaemonPair
) -> None:
    answer_of(controller, ASK.create_cluster(Cluster("red")))
    empty = read_held(pair)
    assert empty == desired_state(lab()).devices
    first = answer_of(controller, join_worker(1))
    second = answer_of(controller, join_worker(2, port=3))
    assert (first["number"], second["number"]) == (0, 1)
    assert read_held(pair)["vnp4_2"].groups[1] == MulticastGroup(1, [Replica(2, 1), Replica(3, 2)])
    assert len(read_held(pair)["vnp4_1"].entries) == len(empty["vnp4_1"].entries) + 2
    answer_of(controller, ASK.leave("w1"))
    answer_of(controller, ASK.leave("w2"))
    assert read_held(pair) == empty


def test_a_join_again_changes_nothing_and_keeps_the_number(controller: Controller, pair: DaemonPair) -> None:
    answer_of(controller, ASK.create_cluster(Cluster("red")))
    answer_of(controller, join_worker(1))
    before, revision = read_held(pair), controller.status().revision
    assert answer_of(controller, join_worker(1))["number"] == 0
    assert (read_held(pair), controller.status().revision) == (before, revision)


def test_a_number_is_used_again_after_its_member_left(controller: Controller) -> None:
    answer_of(controller, ASK.create_cluster(Cluster("red")))
    for number in (1, 2, 3):
        answer_of(controller, join_worker(number))
    answer_of(controller, ASK.leave("w2"))
    again = answer_of(controller, join_worker(4))
    assert (again["number"], again["replica"]) == (1, 2)


def test_a_move_takes_one_group_to_the_other(controller: Controller, pair: DaemonPair) -> None:
    for name in ("red", "blue"):
        answer_of(controller, ASK.create_cluster(Cluster(name)))
    answer_of(controller, join_worker(1))
    answer_of(controller, join_worker(2, cluster="blue"))
    moved = answer_of(controller, ASK.move("w1", "blue"))
    assert (moved["cluster"], moved["number"], moved["replica"]) == ("blue", 1, 1)
    groups = read_held(pair)["vnp4_2"].groups
    assert 1 not in groups
    assert groups[2] == MulticastGroup(2, [Replica(2, 1), Replica(2, 2)])


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        (join_worker(1, cluster="green"), "cluster 'green' does not exist.*clusters: blue, red"),
        (join_worker(1, port=9), "front port 9 does not exist"),
        (join_worker(1, values=5), "a model of 5 values, but 'red' trains one of 300"),
        (join_worker(1, mtu=1000), r"an MTU of 1000 bytes, but updates of 'red' take 1250"),
        (join_worker(1, mac="02:zz"), "mac: .*02:zz"),
        (join_worker(9, worker_id=7), "worker_id: 7 is already w8's"),
        (ASK.join(MemberWish("red", IPv4Address("10.0.0.254"), 2, 1)), "is the address of ps"),
        (
            ASK.join(MemberWish("red", IPv4Address("10.0.1.8"), 2, 1)),
            "10.0.1.8 is the address of w8, in 'red'",
        ),
        (ASK.join(MemberWish("red", IPv4Address("224.0.0.1"), 2, 1)), "is not a host's address"),
        (ASK.create_cluster(Cluster("red")), "there is a cluster 'red' already"),
        (ASK.create_cluster(Cluster("big", values=360 * 20)), "20 consecutive indices, but 14"),
        (ASK.create_cluster(Cluster("big", key="abcd")), "key: is not a key"),
        (ASK.delete_cluster("green"), "cluster 'green' does not exist"),
        (ASK.leave("absent"), "worker 'absent' does not exist"),
        (ASK.move("w8", "green"), "cluster 'green' does not exist"),
        (ASK.command(Command.RESET, "red", 1), "segment 1 of 'red', whose model has 1"),
    ],
)
def test_what_is_wrong_is_refused_before_anything_is_written(
    controller: Controller, pair: DaemonPair, operation: Operation, reason: str
) -> None:
    for name in ("red", "blue"):
        answer_of(controller, ASK.create_cluster(Cluster(name, values=300)))
    answer_of(controller, join_worker(8, worker_id=7))
    before, revision = read_held(pair), controller.status().revision
    with pytest.raises(BadInput, match=reason):
        answer_of(controller, operation)
    assert (read_held(pair), controller.status().revision) == (before, revision)


def test_settings_reach_every_index_of_the_cluster(controller: Controller, registers: PairRegisters) -> None:
    answer_of(controller, ASK.create_cluster(Cluster("other")))
    answer_of(controller, ASK.create_cluster(Cluster("red", values=360 * 3, mode=Mode.ISWITCH)))
    assert registers.of_indices[1:4] == [IndexSettings(Mode.ISWITCH)] * 3
    answer_of(controller, join_worker(1))
    answer_of(controller, join_worker(2))
    two = IndexSettings(Mode.ISWITCH, threshold=2)  # H follows the members
    assert registers.of_indices[:5] == [IndexSettings(), two, two, two, IndexSettings()]
    answer_of(controller, ASK.set_threshold("red", 1))
    answer_of(controller, ASK.set_reward("red", 0.5))
    answer_of(controller, ASK.set_halted("red", True))
    assert registers.of_indices[1:4] == [IndexSettings(Mode.ISWITCH, True, 1, 1, 0x3F000000)] * 3
    answer_of(controller, ASK.command(Command.FBCAST, "red", 1))
    answer_of(controller, ASK.command(Command.RESET, "red", None))
    assert registers.commands[-2:] == [(Command.FBCAST, 2, 2), (Command.RESET, 1, 3)]
    answer_of(controller, ASK.delete_cluster("red"))
    assert registers.of_indices == [IndexSettings()] * 16


def test_numbered_sums_take_an_h_beyond_the_members(controller: Controller, registers: PairRegisters) -> None:
    answer_of(controller, ASK.create_cluster(Cluster("red", values=360 * 3, mode=Mode.ISWITCH)))
    answer_of(controller, join_worker(1))
    answer_of(controller, join_worker(2))
    registers.commands.clear()
    answer_of(controller, ASK.set_mode("red", Mode.ISWITCH_ASYNC))
    assert registers.commands == [(Command.RESET, 0, 2)]
    answer_of(controller, ASK.set_threshold("red", 32))
    assert registers.of_indices[:3] == [IndexSettings(Mode.ISWITCH_ASYNC, threshold=32)] * 3
    with pytest.raises(BadInput, match=r"has 2 workers, each with up to 16 .*give 1 … 32"):
        answer_of(controller, ASK.set_threshold("red", 33))
    with pytest.raises(BadInput, match=r"32 updates make a result, but the cluster has 2 workers"):
        answer_of(controller, ASK.set_mode("red", Mode.ISWITCH))
    with pytest.raises(BadInput, match=r"can never make a result: a result counts 65535 at most"):
        answer_of(controller, ASK.create_cluster(Cluster("blue", mode=Mode.ISWITCH_ASYNC, threshold=65536)))
    assert registers.of_indices[:4] == [IndexSettings(Mode.ISWITCH_ASYNC, threshold=32)] * 3 + [
        IndexSettings()
    ]
    assert registers.commands == [(Command.RESET, 0, 2)]


def test_the_membership_survives_the_daemon(started: Started, pair: DaemonPair) -> None:
    controller = started()
    answer_of(controller, ASK.create_cluster(Cluster("red")))
    answer_of(controller, join_worker(1))
    before, starts = controller.status(), pair.starts
    again = started()
    answer_of(again, join_worker(1))
    assert (again.status(), pair.starts) == (before, starts)


def test_an_interrupted_change_is_undone_at_start(started: Started, pair: DaemonPair) -> None:
    """The daemon ends between the devices and the store: no answer was given."""
    controller = started()
    answer_of(controller, ASK.create_cluster(Cluster("red")))
    before = read_held(pair)
    answer_of(controller, join_worker(1))
    rows = SqliteStore(pair.folder)
    _, stored = rows.rows()
    row = stored["member/w1"]
    rows.finish({"member/w1": None})
    rows.begin({"member/w1": row})
    rows.close()
    again = started()
    answer_of(again, ASK.create_cluster(Cluster("blue")))
    assert [member["name"] for member in again.status().members] == []
    assert read_held(pair) == before
    store = SqliteStore(pair.folder)
    assert store.intent() is None
    store.close()


@pytest.mark.parametrize("block", ["vnp4_1", "vnp4_2"])
def test_a_switch_that_vanished_returns_with_everything(
    controller: Controller, pair: DaemonPair, block: str
) -> None:
    answer_of(controller, ASK.create_cluster(Cluster("red", values=360 * 2, mode=Mode.ISWITCH)))
    answer_of(controller, join_worker(1))
    before, settings = read_held(pair), list(pair.registers.of_indices)
    pair.kill(block)
    answers = []
    for number in range(2, 100):  # the first calls may meet an ending stream
        try:
            answers.append(answer_of(controller, join_worker(number))["name"])
            break
        except OlafError:
            continue
    assert answers
    answer_of(controller, ASK.leave(answers[0]))
    assert read_held(pair) == before
    assert pair.registers.of_indices == settings


def test_while_the_devices_are_unreachable_changes_are_refused(
    controller: Controller, pair: DaemonPair
) -> None:
    answer_of(controller, ASK.create_cluster(Cluster("red")))
    before = controller.status()
    pair.unreachable = True
    pair.kill("vnp4_1")
    with pytest.raises(OlafError):
        answer_of(controller, join_worker(1))
    with pytest.raises(Unavailable, match="lab: nothing was changed"):
        answer_of(controller, join_worker(1))
    assert controller.status().members == before.members
    pair.unreachable = False
    answer_of(controller, join_worker(1))
    assert [member["name"] for member in controller.status().members] == ["w1"]


def test_a_defect_is_answered_and_survived(
    controller: Controller, pair: DaemonPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer_of(controller, ASK.create_cluster(Cluster("red")))
    before = read_held(pair)

    def broken(*_: object) -> None:
        raise ValueError("a defect")

    with monkeypatch.context() as patch:
        patch.setattr(controller.southbound, "apply_change", broken)
        with pytest.raises(Unavailable, match="not known"):
            answer_of(controller, join_worker(1))
    second = answer_of(controller, join_worker(2))
    assert second["number"] == 0, "nothing of the first is left"
    answer_of(controller, ASK.leave("w2"))
    assert read_held(pair) == before


def test_a_mac_address_is_shared_behind_one_port_alone(controller: Controller, pair: DaemonPair) -> None:
    """The addresses of one NIC, and workers behind a router, share one."""
    answer_of(controller, ASK.create_cluster(Cluster("red")))
    answer_of(controller, ASK.create_cluster(Cluster("blue")))
    router = "02:aa:00:00:00:01"
    answer_of(controller, join_worker(1, mac=router))
    alone = read_held(pair)
    answer_of(controller, join_worker(2, cluster="blue", mac=router))
    assert router_of(pair) == alone_of(alone)
    with pytest.raises(BadInput, match=f"mac: {router} is the MAC address of w[12], behind port 2"):
        answer_of(controller, join_worker(3, port=3, mac=router.upper()))
    assert (
        answer_of(controller, join_worker(2, cluster="blue", mac=router.upper().replace(":", "-")))["mac"]
        == router
    )
    with pytest.raises(BadInput, match="behind port 2"):
        answer_of(controller, ASK.move("w1", port=3))
    answer_of(controller, ASK.leave("w1"))
    assert router_of(pair) == alone_of(alone), "the other one is still reached by it"
    answer_of(controller, ASK.leave("w2"))
    assert router_of(pair) == []


def router_of(pair: DaemonPair) -> list[TableEntry]:
    """Return VNP4₂'s entries on the way to the router of the test above."""
    return alone_of(read_held(pair))


def alone_of(devices: Mapping[str, DeviceState]) -> list[TableEntry]:
    entries = devices["vnp4_2"].entries.values()
    return [each for each in entries if each.match == {"dst_mac": Exact(0x02AA00000001)}]


def test_the_staleness_rule_needs_acknowledged_updates(controller: Controller, registers: Any) -> None:
    answer_of(controller, ASK.create_cluster(Cluster("red", staleness_bound=8)))
    assert registers.of_indices[0] == IndexSettings(stale_enable=1, stale_bound=8)
    answer_of(controller, ASK.set_staleness("red", 0))
    assert registers.of_indices[0] == IndexSettings(stale_enable=1, stale_bound=0)
    for refused in (
        ASK.set_mode("red", Mode.ISWITCH),
        ASK.set_staleness("red", 65536),
        ASK.set_staleness("red", -1),
        ASK.create_cluster(Cluster("sums", mode=Mode.ISWITCH, staleness_bound=1)),
        ASK.create_cluster(Cluster("numbered", mode=Mode.ISWITCH_ASYNC, staleness_bound=1)),
    ):
        with pytest.raises(BadInput, match=r"staleness|answers its updates"):
            answer_of(controller, refused)
    answer_of(controller, ASK.set_staleness("red", None))
    assert registers.of_indices[0] == IndexSettings()


@pytest.mark.parametrize("threshold", [float("nan"), float("inf"), -1.0, 1e300, -0.5])
def test_a_reward_threshold_that_no_register_holds_is_refused(
    controller: Controller, threshold: float
) -> None:
    answer_of(controller, ASK.create_cluster(Cluster("red")))
    with pytest.raises(BadInput, match="a reward threshold of"):
        answer_of(controller, ASK.create_cluster(Cluster("blue", reward_threshold=threshold)))
    with pytest.raises(BadInput, match="a reward threshold of"):
        answer_of(controller, ASK.set_reward("red", threshold))
    assert [cluster["name"] for cluster in controller.status().clusters] == ["red"]


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        (ASK.create_cluster(Cluster("n" * 33)), "has 33 characters, and control messages carry 32"),
        (
            ASK.create_cluster(Cluster("red", threshold=65535, mode=Mode.ISWITCH)),
            "can never make a result",
        ),
        (ASK.create_cluster(Cluster("red", threshold=2)), "of mode olaf, and H .* are of the modes iswitch"),
    ],
)
def test_a_cluster_that_could_not_work_is_refused(
    controller: Controller, operation: Operation, reason: str
) -> None:
    with pytest.raises(BadInput, match=reason):
        answer_of(controller, operation)


def test_a_damaged_page_of_the_store_is_found_without_a_change(
    pair: DaemonPair, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The controller has read the page, and does not need it before the next start."""
    store = SqliteStore(pair.folder)
    store.finish({f"note/{number}": {"text": "x" * 1000} for number in range(200)})
    store.close()
    controller = Controller(pair, SqliteStore(pair.folder), check_every=0.05)
    controller.start()
    try:
        wait_until(lambda: controller.status(summary=True).ready)
        file = pair.folder / "membership.db"
        with file.open("r+b") as pages:
            pages.seek(4096 * (file.stat().st_size // 4096 // 2))
            pages.write(b"\xff" * 4096)
        wait_until(lambda: not controller.status(summary=True).ready)
        assert "is damaged" in controller.status(summary=True).problem
        assert "olafctl restore" in controller.status(summary=True).problem
        assert sum("is damaged" in record.getMessage() for record in caplog.records) == 1
    finally:
        controller.close()
