"""Every configured name × control message × front port: a message counts only at the port of its name."""

import time
from collections.abc import Iterator

import pytest

from olafctl.daemon.controller import Controller
from olafctl.daemon.messages.listener import MessageListener
from olafctl.wire import control
from olafctl.wire.control import CLOCKS_DIFFER, ControlAction, MemberRole, Reason
from tests.daemon.conftest import Started, listen_for_messages, read_held
from tests.daemon.pair import DaemonPair
from tests.daemon.worker import ScriptedWorker
from tests.packets.rule import Name, RuleFrame, verdict

Message = tuple[ControlAction, dict[str, int | str]]
PORTS = (1, 2, 3, 4)
NAMES = {
    Name.WORKER: ("10.0.1.1", 2),
    Name.SERVER: ("10.0.0.254", 1),
    Name.ENGINE: ("10.0.0.250", 0),
    Name.UNUSED: ("240.0.0.1", 0),
    Name.HOST: ("10.0.3.1", 4),
    Name.UNKNOWN: ("10.0.9.9", 0),
}
"""The addresses of the small testbed and their ports."""
SERVER, SERVER_PORT = NAMES[Name.SERVER]


def messages_of(cluster: str) -> dict[RuleFrame, list[Message]]:
    join, every = ControlAction.JOIN, control.ALL_SEGMENTS
    return {
        RuleFrame.JOIN: [
            (join, {"cluster": cluster, "role": role}) for role in (MemberRole.SWITCH, MemberRole.WORKER)
        ],
        RuleFrame.JOIN_SERVER: [(join, {"cluster": cluster, "role": MemberRole.PARAMETER_SERVER})],
        RuleFrame.MESSAGE: [
            (ControlAction.SET_H, {"threshold": 1}),
            (ControlAction.HALT, {"halted": 0}),
            (ControlAction.RESET, {"segment": every}),
            (ControlAction.FBCAST, {"segment": every}),
            (ControlAction.HELP, {"segment": 0}),
        ],
        RuleFrame.LEAVE: [(ControlAction.LEAVE, {"cluster": cluster})],
    }


@pytest.mark.parametrize("cluster", ["red", "blue"])
@pytest.mark.parametrize("name", NAMES)
def test_a_message_counts_at_the_port_of_its_name_alone(
    listener: MessageListener, pair: DaemonPair, controller: Controller, cluster: str, name: Name
) -> None:
    """The message has the cluster's key, or is for an open cluster."""
    ip, own = NAMES[name]
    worker = ScriptedWorker(pair, 1, 2)
    assert worker.join_cluster(cluster)["reason"] == Reason.OK
    before, members = read_held(pair), controller.status().members
    for port in PORTS:
        speaker = ScriptedWorker(pair, 9, port, ip=ip)
        if name is Name.WORKER:
            speaker.mac = worker.mac
        for frame, kinds in messages_of(cluster).items():
            wanted = verdict(name, port == own, frame)
            for action, values in kinds:
                if wanted is Reason.OK and frame is RuleFrame.MESSAGE and cluster == "blue":
                    continue  # blue has no rounds
                assert speaker.ask_daemon(action, **values)["reason"] == wanted, (port, action, values)
                if (name, frame, wanted) == (Name.UNKNOWN, RuleFrame.JOIN, Reason.OK):
                    assert speaker.leave_cluster(cluster)["reason"] == Reason.OK
                if (name, frame, wanted) == (Name.WORKER, RuleFrame.LEAVE, Reason.OK):
                    # The worker does not speak here: copies of the answers to the speaker wait for it.
                    assert speaker.join_cluster(cluster)["reason"] == Reason.OK
        speaker.close()
    assert (read_held(pair), controller.status().members) == (before, members)
    worker.close()


@pytest.fixture
def server(listener: MessageListener, pair: DaemonPair) -> Iterator[ScriptedWorker]:
    made = ScriptedWorker(pair, 254, SERVER_PORT, ip=SERVER)
    yield made
    made.close()


def join_as_server(worker: ScriptedWorker, cluster: str, **values: int) -> int:
    return worker.join_cluster(cluster, role=MemberRole.PARAMETER_SERVER, **values)["reason"]


@pytest.mark.parametrize("cluster", ["red", "blue"])
def test_no_nonce_locks_the_server_out(server: ScriptedWorker, pair: DaemonPair, cluster: str) -> None:
    """Neither a nonce from another port does, nor an own one of a clock that is far ahead."""
    other = ScriptedWorker(pair, 9, 2, ip=SERVER)
    assert join_as_server(other, cluster, nonce=1 << 63) == Reason.NOT_A_MEMBER
    other.close()
    for nonce in (1 << 63, (1 << 64) - 1, time.time_ns() + 2 * CLOCKS_DIFFER):
        assert join_as_server(server, cluster, nonce=nonce) == Reason.CLOCK_AHEAD
    assert join_as_server(server, cluster) == Reason.OK


@pytest.mark.parametrize("cluster", ["red", "blue"])
def test_what_was_answered_is_a_replay_after_a_restart(
    server: ScriptedWorker, listener: MessageListener, started: Started, cluster: str
) -> None:
    """This holds for the server's messages, too, and in an open cluster."""
    first = server.make_message(ControlAction.JOIN, cluster=cluster, role=MemberRole.PARAMETER_SERVER)
    for frame in (first, server.make_message(ControlAction.JOIN, cluster=cluster, role=2)):
        server.send(frame)
        assert server.next_answer()["reason"] == Reason.OK
    listener.close()
    again = listen_for_messages(started())
    try:
        server.send(first)
        assert server.next_answer()["reason"] == Reason.OLD_NONCE
        assert join_as_server(server, cluster) == Reason.OK
    finally:
        again.close()


def test_what_was_refused_stays_refused_after_a_restart(
    workers: list[ScriptedWorker], listener: MessageListener, started: Started
) -> None:
    """This holds even where the message could be carried out by then."""
    first, second = workers
    assert first.join_cluster()["reason"] == Reason.OK
    early = first.make_message(ControlAction.SET_H, threshold=2)
    first.send(early)
    assert first.next_answer()["reason"] == Reason.FAILED
    assert second.join_cluster()["reason"] == Reason.OK
    listener.close()
    again = listen_for_messages(started())
    try:
        first.send(early)
        assert first.next_answer()["reason"] == Reason.FAILED
        assert first.ask_daemon(ControlAction.SET_H, threshold=2)["reason"] == Reason.OK
    finally:
        again.close()


def test_a_model_that_no_queue_holds_does_not_join(workers: list[ScriptedWorker]) -> None:
    """The cluster's model has an unknown length."""
    assert workers[0].join_cluster("blue", values=(1 << 32) - 1)["reason"] == Reason.WRONG_MODEL_LENGTH
    assert workers[0].join_cluster("blue", values=300)["reason"] == Reason.OK
