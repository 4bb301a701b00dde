"""Every configured name × control message × front port: a message is held to the port of its name."""

import time
from collections.abc import Iterator

import pytest

from olafctl.daemon.controller import Controller
from olafctl.daemon.messages.listener import Listener
from olafctl.wire import control
from olafctl.wire.control import CLOCKS_DIFFER, Action, Reason, Role
from olafctl.wire.layouts import Layout
from tests.daemon.conftest import Started, held, listen
from tests.daemon.pair import Pair
from tests.daemon.worker import Worker
from tests.packets.rule import Frame, Name, verdict

Message = tuple[Layout, Action, dict[str, int | str]]
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


def messages(cluster: str) -> dict[Frame, list[Message]]:
    join, every = control.JOIN, control.ALL_SEGMENTS
    return {
        Frame.JOIN: [
            (join, Action.JOIN, {"cluster": cluster, "role": role}) for role in (Role.SWITCH, Role.WORKER)
        ],
        Frame.JOIN_SERVER: [(join, Action.JOIN, {"cluster": cluster, "role": Role.PARAMETER_SERVER})],
        Frame.MESSAGE: [
            (control.SET_H, Action.SET_H, {"threshold": 1}),
            (control.HALT, Action.HALT, {"halted": 0}),
            (control.RESET, Action.RESET, {"segment": every}),
            (control.FBCAST, Action.FBCAST, {"segment": every}),
            (control.HELP, Action.HELP, {"segment": 0}),
        ],
        Frame.LEAVE: [(control.LEAVE, Action.LEAVE, {"cluster": cluster})],
    }


@pytest.mark.parametrize("cluster", ["red", "blue"])
@pytest.mark.parametrize("name", NAMES)
def test_a_message_counts_at_the_port_of_its_name_alone(
    listener: Listener, pair: Pair, controller: Controller, cluster: str, name: Name
) -> None:
    """With the cluster's key, or in an open cluster."""
    ip, own = NAMES[name]
    worker = Worker(pair, 1, 2)
    assert worker.join(cluster)["reason"] == Reason.OK
    before, members = held(pair), controller.status().members
    for port in PORTS:
        speaker = Worker(pair, 9, port, ip=ip)
        if name is Name.WORKER:
            speaker.mac = worker.mac
        for frame, kinds in messages(cluster).items():
            wanted = verdict(name, port == own, frame)
            for layout, action, values in kinds:
                if wanted is Reason.OK and frame is Frame.MESSAGE and cluster == "blue":
                    continue  # blue has no rounds
                assert speaker.ask(layout, action, **values)["reason"] == wanted, (port, action, values)
                if (name, frame, wanted) == (Name.UNKNOWN, Frame.JOIN, Reason.OK):
                    assert speaker.leave(cluster)["reason"] == Reason.OK
                if (name, frame, wanted) == (Name.WORKER, Frame.LEAVE, Reason.OK):
                    # Not the worker: copies of the answers to the speaker wait for it.
                    assert speaker.join(cluster)["reason"] == Reason.OK
        speaker.close()
    assert (held(pair), controller.status().members) == (before, members)
    worker.close()


@pytest.fixture
def server(listener: Listener, pair: Pair) -> Iterator[Worker]:
    made = Worker(pair, 254, SERVER_PORT, ip=SERVER)
    yield made
    made.close()


def join_as_server(worker: Worker, cluster: str, **values: int) -> int:
    return worker.join(cluster, role=Role.PARAMETER_SERVER, **values)["reason"]


@pytest.mark.parametrize("cluster", ["red", "blue"])
def test_no_nonce_locks_the_server_out(server: Worker, pair: Pair, cluster: str) -> None:
    """Neither one from another port, nor one of its own of a clock that is far ahead."""
    other = Worker(pair, 9, 2, ip=SERVER)
    assert join_as_server(other, cluster, nonce=1 << 63) == Reason.NOT_A_MEMBER
    other.close()
    for nonce in (1 << 63, (1 << 64) - 1, time.time_ns() + 2 * CLOCKS_DIFFER):
        assert join_as_server(server, cluster, nonce=nonce) == Reason.CLOCK_AHEAD
    assert join_as_server(server, cluster) == Reason.OK


@pytest.mark.parametrize("cluster", ["red", "blue"])
def test_what_was_answered_is_a_replay_after_a_restart(
    server: Worker, listener: Listener, started: Started, cluster: str
) -> None:
    """The server's messages too, and in an open cluster."""
    first = server.message(control.JOIN, Action.JOIN, cluster=cluster, role=Role.PARAMETER_SERVER)
    for frame in (first, server.message(control.JOIN, Action.JOIN, cluster=cluster, role=2)):
        server.send(frame)
        assert server.answer()["reason"] == Reason.OK
    listener.close()
    again = listen(started())
    try:
        server.send(first)
        assert server.answer()["reason"] == Reason.OLD_NONCE
        assert join_as_server(server, cluster) == Reason.OK
    finally:
        again.close()


def test_what_was_refused_stays_refused_after_a_restart(
    workers: list[Worker], listener: Listener, started: Started
) -> None:
    """Even where it would be carried out by then."""
    first, second = workers
    assert first.join()["reason"] == Reason.OK
    early = first.message(control.SET_H, Action.SET_H, threshold=2)
    first.send(early)
    assert first.answer()["reason"] == Reason.FAILED
    assert second.join()["reason"] == Reason.OK
    listener.close()
    again = listen(started())
    try:
        first.send(early)
        assert first.answer()["reason"] == Reason.FAILED
        assert first.ask(control.SET_H, Action.SET_H, threshold=2)["reason"] == Reason.OK
    finally:
        again.close()


def test_a_model_that_no_queue_holds_does_not_join(workers: list[Worker]) -> None:
    """In a cluster whose model's length is not known."""
    assert workers[0].join("blue", values=(1 << 32) - 1)["reason"] == Reason.WRONG_MODEL_LENGTH
    assert workers[0].join("blue", values=300)["reason"] == Reason.OK
