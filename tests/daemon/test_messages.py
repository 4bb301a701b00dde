"""Control messages as a worker meets them: frames into VNP4₁'s ports, answers out of VNP4₂'s."""

import logging
import random
import time
from typing import Any

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from olafctl.daemon.controller import Controller
from olafctl.daemon.messages.listener import MessageListener
from olafctl.daemon.messages.shares import Rates, Turns
from olafctl.daemon.messages.summary import Summary
from olafctl.queue.registers import Command
from olafctl.wire import control
from olafctl.wire.control import ControlAction, Reason
from olafctl.wire.frames import ipv4_checksum, pack_header, unpack_header
from olafctl.wire.layouts import QUEUE_PORT, TUSER, FrameKind, FrameType
from olafctl.wire.modes import Mode
from olafctl.wire.scapy_layers import Olaf
from olaftest.daemon.switch_pair import PairRegisters
from tests.daemon.conftest import listen_for_messages, read_held
from tests.daemon.deployment import DEADLINE, SERVER
from tests.daemon.pair import DaemonPair
from tests.daemon.test_controller import ASK, answer_of
from tests.daemon.worker import ScriptedWorker


def test_a_worker_joins_is_recognised_and_leaves_nothing(
    workers: list[ScriptedWorker], pair: DaemonPair
) -> None:
    worker, empty = workers[0], read_held(pair)
    queue = pair.host("vnp4_1", QUEUE_PORT)
    seen = worker.join_cluster(values=700)
    assert (seen["answered"], seen["reason"]) == (ControlAction.JOIN, Reason.OK)
    assert (seen["epoch"], seen["member"], seen["threshold"], seen["segments"]) == (1, 0, 1, 2)
    assert (seen["server_addr"], seen["server_port"]) == (0x0A0000FA, 20300)
    update = Olaf(frame_type=FrameType.UPDATE, epoch=seen["epoch"], count=1, segment=1)
    worker.send(worker.make_frame(bytes(update) + bytes(64), tos=0))
    shim = unpack_header(TUSER, queue.receive(DEADLINE) or b"")
    assert (shim["kind"], shim["index"], shim["member"], shim["cluster"]) == (FrameKind.UPDATE, 1, 0, 0)
    assert worker.leave_cluster()["reason"] == Reason.OK
    assert read_held(pair) == empty
    worker.send(worker.make_frame(bytes(update) + bytes(64), tos=0))
    assert unpack_header(TUSER, queue.receive(DEADLINE) or b"")["kind"] == FrameKind.BYPASS
    queue.close()


def test_an_ack_reaches_the_whole_cluster(workers: list[ScriptedWorker], pair: DaemonPair) -> None:
    for worker in workers:
        worker.join_cluster()
    queue = pair.host("vnp4_2", QUEUE_PORT)
    frame = Ether(src=SERVER[0], dst=workers[0].mac) / IP(src="10.0.0.254", dst=workers[0].ip)
    ack = bytes(
        frame / UDP(sport=20300, dport=41000, chksum=0) / Olaf(frame_type=FrameType.ACK, epoch=1, seq=9)
    )
    queue.send(pack_header(TUSER, {"size": len(ack), "src": 1, "kind": FrameKind.ACK, "cluster": 0}) + ack)
    for worker in workers:
        got = Ether(worker.receive())
        assert (got[IP].dst, got.dst, Olaf(bytes(got[UDP].payload)).seq) == (worker.ip, worker.mac, 9)
    queue.close()


def test_settings_reach_the_queue(workers: list[ScriptedWorker], registers: PairRegisters) -> None:
    worker, second = workers
    worker.join_cluster()
    second.join_cluster()
    assert [each.threshold for each in registers.of_indices[:3]] == [2, 2, 1]
    assert worker.ask_daemon(ControlAction.SET_H, threshold=65535)["reason"] == Reason.FAILED
    assert worker.ask_daemon(ControlAction.SET_H, threshold=1)["threshold"] == 1
    assert [each.threshold for each in registers.of_indices[:3]] == [1, 1, 1]
    registers.commands.clear()
    assert worker.ask_daemon(ControlAction.FBCAST, segment=1)["reason"] == Reason.OK
    assert worker.ask_daemon(ControlAction.RESET, segment=control.ALL_SEGMENTS)["reason"] == Reason.OK
    assert registers.commands == [(Command.FBCAST, 1, 1), (Command.RESET, 0, 1)]
    assert worker.ask_daemon(ControlAction.RESET, segment=2)["reason"] == Reason.FAILED


def test_help_is_forwarded_and_a_round_begins_again_if_all_ask(
    workers: list[ScriptedWorker], registers: PairRegisters
) -> None:
    for worker in workers:
        worker.join_cluster()
    first, second = workers
    registers.commands.clear()
    first.ask_daemon(ControlAction.HELP, segment=1, round=7)
    seen = unpack_header(control.HELP, bytes(Ether(second.receive())[UDP].payload))
    assert (seen["segment"], seen["round"]) == (1, 7)
    assert (seen["asker_addr"], seen["asker_port"]) == (0x0A000101, 41000)
    assert registers.commands == []
    second.ask_daemon(ControlAction.HELP, segment=1, round=7)
    assert registers.commands == [(Command.RESET, 1, 1)]


def test_help_of_all_members_resets_no_numbered_sums(
    controller: Controller, workers: list[ScriptedWorker], registers: PairRegisters
) -> None:
    """The request is passed on; members find out by themselves whether any has the result."""
    for worker in workers:
        worker.join_cluster()
    answer_of(controller, ASK.set_mode("red", Mode.ISWITCH_ASYNC))
    registers.commands.clear()
    first, second = workers
    for asker, other in ((first, second), (second, first)):
        assert asker.ask_daemon(ControlAction.HELP, segment=1, round=7)["reason"] == Reason.OK
        assert unpack_header(control.HELP, bytes(Ether(other.receive())[UDP].payload))["round"] == 7
    assert registers.commands == []
    assert first.ask_daemon(ControlAction.RESET, segment=1)["reason"] == Reason.OK
    assert registers.commands == [(Command.RESET, 1, 1)]


def test_old_requests_for_help_no_longer_count(
    workers: list[ScriptedWorker], registers: PairRegisters, now: list[float]
) -> None:
    for worker in workers:
        worker.join_cluster()
    first, second = workers
    registers.commands.clear()
    first.ask_daemon(ControlAction.HELP, segment=1, round=7)
    assert second.receive()
    now[0] += 3600
    second.ask_daemon(ControlAction.HELP, segment=1, round=7)
    assert first.receive()
    assert registers.commands == []
    first.ask_daemon(ControlAction.HELP, segment=1, round=7)
    assert registers.commands == [(Command.RESET, 1, 1)]


@pytest.mark.parametrize(
    ("reason", "values"),
    [
        (Reason.UNKNOWN_CLUSTER, {"cluster": "green"}),
        (Reason.WRONG_MODEL_LENGTH, {"values": 5}),
        (Reason.BAD_MESSAGE, {"role": 2}),
    ],
)
def test_a_join_is_refused_with_its_reason(
    workers: list[ScriptedWorker], pair: DaemonPair, reason: Reason, values: dict[str, int | str]
) -> None:
    before = read_held(pair)
    assert workers[0].join_cluster(**values)["reason"] == reason  # type: ignore[arg-type]
    assert read_held(pair) == before


def test_a_player_joins_as_a_member_of_that_kind(
    workers: list[ScriptedWorker], controller: Controller
) -> None:
    assert workers[0].join_cluster("blue", role=control.MemberRole.PLAYER)["reason"] == Reason.OK
    (player,) = controller.look(lambda membership: membership.clusters["blue"].workers)
    assert player.kind == "player"
    assert workers[1].join_cluster("blue", role=9)["reason"] == Reason.BAD_MESSAGE


def test_a_publishers_reports_show_its_players_and_no_one_elses_do(
    workers: list[ScriptedWorker], listener: MessageListener, pair: DaemonPair
) -> None:
    workers[0].join_cluster("red", role=control.MemberRole.PLAYER)
    publisher = ScriptedWorker(pair, 0, 1, ip="10.0.0.254")
    values: dict[str, Any] = {"cluster": "red", "player_addr": 0x0A000101, "player_port": 41000}
    values |= {"version": 7, "lag": 3}
    first = publisher.make_message(ControlAction.REPORT, age=1500, state=2, **values)
    assert workers[0].ask_daemon(ControlAction.REPORT, **values)["reason"] == Reason.NOT_A_MEMBER
    publisher.key = "ff" * 32
    forged = publisher.make_message(ControlAction.REPORT, **values)
    publisher.send(forged)
    assert publisher.receive()  # this is the refusal, made with another key
    assert not listener.players.recent_reports()
    publisher.send(first)
    end = time.monotonic() + DEADLINE
    while not (known := listener.players.recent_reports()):
        assert time.monotonic() < end
        time.sleep(0.001)
    (player,) = known.values()
    assert (player.worker, player.cluster, player.version, player.lag) == ("10.0.1.1", "red", 7, 3)
    assert (player.age, player.slow, player.dead) == (1.5, False, True)
    publisher.key = workers[0].key
    publisher.send(first)
    assert publisher.next_answer()["reason"] == Reason.OLD_NONCE
    publisher.close()


def test_a_wrong_key_changes_nothing(workers: list[ScriptedWorker], pair: DaemonPair) -> None:
    before = read_held(pair)
    workers[0].key = "ff" * 32
    assert workers[0].join_cluster()["reason"] == Reason.BAD_MAC
    workers[0].key = ""
    assert workers[0].join_cluster()["reason"] == Reason.BAD_MAC
    assert read_held(pair) == before
    assert workers[0].join_cluster("blue")["reason"] == Reason.OK


def test_a_replay_is_refused_and_a_repetition_answered_again(
    workers: list[ScriptedWorker], pair: DaemonPair
) -> None:
    worker, empty = workers[0], read_held(pair)
    join = worker.make_message(ControlAction.JOIN, cluster="red")
    for _ in range(2):
        worker.send(join)
        assert worker.next_answer()["reason"] == Reason.OK
    leave = worker.make_message(ControlAction.LEAVE, cluster="red")
    for _ in range(2):
        worker.send(leave)
        assert worker.next_answer()["reason"] == Reason.OK
    worker.send(join)
    assert worker.next_answer()["reason"] == Reason.OLD_NONCE
    assert read_held(pair) == empty


def test_a_repetition_of_what_was_refused_is_refused_again(
    workers: list[ScriptedWorker], pair: DaemonPair
) -> None:
    worker = workers[0]
    worker.join_cluster()
    wrong = worker.make_message(ControlAction.RESET, segment=9)
    for _ in range(2):
        worker.send(wrong)
        assert worker.next_answer()["reason"] == Reason.FAILED


def test_what_one_source_sent_is_refused_of_another(
    workers: list[ScriptedWorker], listener: MessageListener, pair: DaemonPair
) -> None:
    """The MAC covers the address: a captured Join that never arrived admits no other address."""
    first, second = workers
    before = read_held(pair)
    captured = first.make_message(ControlAction.JOIN, cluster="red")[42:]
    second.send(second.make_frame(captured))
    assert second.next_answer()["reason"] == Reason.BAD_MAC
    assert read_held(pair) == before


def test_after_a_restart_what_was_sent_before_it_is_refused(
    workers: list[ScriptedWorker], controller: Controller, listener: MessageListener
) -> None:
    worker = workers[0]
    captured = worker.make_message(ControlAction.JOIN, cluster="red")
    worker.send(captured)
    worker.next_answer()
    worker.leave_cluster()
    listener.close()
    again = listen_for_messages(controller)
    try:
        worker.send(captured)
        assert worker.next_answer()["reason"] == Reason.OLD_NONCE
        assert worker.join_cluster()["reason"] == Reason.OK
    finally:
        again.close()


def test_only_a_member_may_change_its_cluster(workers: list[ScriptedWorker]) -> None:
    assert workers[0].ask_daemon(ControlAction.SET_H, threshold=5)["reason"] == Reason.NOT_A_MEMBER


def from_elsewhere(frame: bytes, number: int) -> bytes:
    """Return the frame as another source sends it."""
    header = frame[14:24] + bytes(2) + (0x0A640000 + number).to_bytes(4, "big") + frame[30:34]
    return frame[:14] + header[:10] + ipv4_checksum(header).to_bytes(2, "big") + header[12:] + frame[34:]


def test_random_and_damaged_messages_change_nothing(
    workers: list[ScriptedWorker], listener: MessageListener, pair: DaemonPair
) -> None:
    before, chance = read_held(pair), random.Random(3)
    good = workers[0].make_message(ControlAction.JOIN, cluster="red")
    total = 5000
    for number in range(total):
        # Each frame has its own source: rates are another test's.
        damaged = bytearray(good)
        for place in chance.sample(range(42, len(damaged)), chance.randrange(1, 4)):
            damaged[place] ^= chance.randrange(1, 256)
        damaged = bytearray(from_elsewhere(bytes(damaged), number))
        cut = chance.choice([len(damaged), chance.randrange(len(damaged))])
        listener.take_message(2 + number % 3, bytes(damaged[:cut]))
    assert sum(listener.counts.values()) == total
    assert listener.counts["ok"] == 0
    assert read_held(pair) == before


def test_a_flood_from_one_source_is_cut_and_others_are_heard(
    workers: list[ScriptedWorker], listener: MessageListener
) -> None:
    flood = workers[0].make_message(ControlAction.JOIN, cluster="green")
    for _ in range(1000):
        listener.hear_frame(2, flood)
    assert listener.counts["flooded"] >= 1000 - 150
    assert workers[1].join_cluster()["reason"] == Reason.OK


def test_a_flood_costs_others_at_the_same_port_nothing(
    workers: list[ScriptedWorker], listener: MessageListener
) -> None:
    flood = workers[1].make_message(ControlAction.JOIN, cluster="green")
    flood = flood[:26] + bytes([10, 100, 0, 1]) + flood[30:]
    join = workers[0].make_message(ControlAction.JOIN, cluster="red")
    for _ in range(20_000):
        listener.hear_frame(workers[0].port, flood)
    listener.hear_frame(workers[0].port, join)
    while Ether(workers[0].receive())[IP].dst != workers[0].ip:
        pass  # the first frames of the flood were answered
    assert listener.counts["ok"] == 1


def test_thousands_of_sources_at_one_port_share_its_limit(
    workers: list[ScriptedWorker], listener: MessageListener, caplog: pytest.LogCaptureFixture
) -> None:
    """Each source is below its rate. Messages that their port may not send are not even parsed."""
    flood = workers[0].make_message(ControlAction.JOIN, cluster="green")
    with caplog.at_level(logging.INFO, logger="olafctl"):
        for number in range(20_000):
            source = (0x0A640000 + number % 2000).to_bytes(4, "big")
            listener.hear_frame(workers[0].port, flood[:26] + source + flood[30:])
        assert workers[1].join_cluster()["reason"] == Reason.OK
    assert listener.counts["flooded"] > 15_000
    lines = [record for record in caplog.records if "control messages" in record.getMessage()]
    assert len(lines) <= 2
    assert all("refused JOIN" not in record.getMessage() for record in caplog.records)


def test_only_some_refusals_of_a_port_are_answered(
    workers: list[ScriptedWorker], listener: MessageListener
) -> None:
    flood = workers[0].make_message(ControlAction.JOIN, cluster="green")
    for number in range(400):
        listener.take_message(workers[0].port, from_elsewhere(flood, number))
    assert listener.counts["unknown_cluster"] == 400
    listener.take_message(workers[0].port, workers[0].make_message(ControlAction.JOIN, cluster="red"))
    answered = 0
    while Ether(workers[0].receive())[IP].dst != workers[0].ip:
        answered += 1
    assert 200 <= answered < 300


def test_ports_have_their_turns() -> None:
    turns = Turns(3)
    assert [turns.put(2, b"%d" % number) for number in range(5)] == [True, True, True, False, False]
    assert turns.put(3, b"other")
    taken = [turns.take_message(0) for _ in range(5)]
    assert taken == [(2, b"0"), (3, b"other"), (2, b"1"), (2, b"2"), None]


def test_refusals_are_logged_as_a_sum_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    summary = Summary("lab", lambda: now[0])
    with caplog.at_level(logging.INFO, logger="olafctl"):
        for second in range(12):
            now[0] = float(second)
            for _ in range(1000):
                summary.add_message(2, "bad_mac")
                summary.log_counts()
    assert [record.getMessage() for record in caplog.records] == [
        f"lab: control messages not done: {count} bad_mac at port 2" for count in (1, 5000, 5000)
    ]


def test_rates_forget_the_sources_longest_silent() -> None:
    now = [0.0]
    rates = Rates(2, 3, 2, lambda: now[0])
    assert [rates.allows_message("a") for _ in range(4)] == [True, True, True, False]
    now[0] = 0.5
    assert [rates.allows_message("a") for _ in range(2)] == [True, False]
    assert all(rates.allows_message(name) for name in ("b", "c"))
    assert rates.allows_message("a")
