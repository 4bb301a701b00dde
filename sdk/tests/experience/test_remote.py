"""Rows from another machine: each once, in stages, whatever is lost on the way."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("zmq", reason="pyzmq is not installed")

from olaf.experience.layout import CUT, TERMINATED, layout
from olaf.experience.passers import Bound
from olaf.experience.remote import Receiver, Sender
from olaf.experience.ring import REFUSE, Ring, RingError
from olaf.experience.triggers import DataKey, Transfer
from olaf.experience.writer import Writer

STEP = layout({"obs": 3, "reward": ()})
ARRAYS = layout({"obs": 3, "reward": ()}, joint=False)
STAGES = (("reward",), ("obs",))


def played(ring: Ring, actor: int, count: int) -> None:
    mark = actor * 1000 + np.arange(count)
    rows = {"obs": np.repeat(mark[:, None], 3, axis=1), "reward": mark}
    Writer(ring, actor).write(rows, version=7, end=[TERMINATED, *[0] * (count - 2), CUT])


def pumped(sender: Sender, receiver: Receiver) -> int:
    """Send and receive until all is answered, and return how many messages were new."""
    new = 0
    for _ in range(500):
        sender.pump(0.01)
        new += receiver.receive(0.01)
        if not sender.waiting:
            return new
    raise AssertionError("not all was answered")


def test_rows_come_once_in_stages_with_their_stamps() -> None:
    cache, head = Ring(STEP, 8, 2, full=REFUSE), Ring(STEP, 16, 1, most=4)
    receiver = Receiver(head, "tcp://127.0.0.1:*")
    sender = Sender(cache, receiver.address, "one", again=0.0)  # all is sent again, all the time
    bound = Bound({Transfer(cache, "send", STAGES, 4): sender})
    early = DataKey(head, "advantages", 2, 4, ("reward",))
    try:
        for actor in range(2):
            played(cache, actor, 4)
        bound.check()
        assert pumped(sender, receiver) == 4
        assert early.check() and head.actors == 2 and head.count().tolist() == [4, 4]
        for actor in range(2):
            batch = head.gather(np.full(4, actor), np.arange(4))
            block = int(batch["reward"][0]) // 1000
            assert batch["reward"].tolist() == [block * 1000 + step for step in range(4)]
            assert (batch["obs"] == batch["reward"][:, None]).all()
            assert batch["version"].tolist() == [7] * 4 and batch["end"].tolist() == [TERMINATED, 0, 0, CUT]
    finally:
        sender.close()
        receiver.close()


def test_what_the_head_refuses_comes_again_when_there_is_room() -> None:
    cache, head = Ring(STEP, 32, 1), Ring(STEP, 4, 1, full=REFUSE)
    learn = DataKey(head, "learn", 1, 4)
    receiver = Receiver(head, "tcp://127.0.0.1:*")
    sender = Sender(cache, receiver.address, "one", again=0.01)
    try:
        played(cache, 0, 12)
        Bound({DataKey(cache, "send", 1, 4): sender}).check()
        learnt: list[float] = []
        for _ in range(500):
            sender.pump(0.01)
            receiver.receive(0.01)
            learn.check()
            if (firing := learn.take()) is not None:
                learnt.extend(learn.learnable(firing).batch["reward"].tolist())
                learn.done(firing)
            if not sender.waiting:
                break
        learn.check()
        if (firing := learn.take()) is not None:
            learnt.extend(learn.learnable(firing).batch["reward"].tolist())
        assert learnt == list(range(12)) and head.control["refused"][0] > 0
    finally:
        sender.close()
        receiver.close()


def test_rows_that_wrap_come_whole() -> None:
    cache, head = Ring(ARRAYS, 6, 1, full=REFUSE), Ring(ARRAYS, 16, 1)
    receiver = Receiver(head, "tcp://127.0.0.1:*")
    sender = Sender(cache, receiver.address, "one")
    bound, writer = Bound({DataKey(cache, "send", 1, 4): sender}), Writer(cache, 0)
    try:
        for turn in range(3):
            mark = 4 * turn + np.arange(4)
            assert writer.write({"obs": np.repeat(mark[:, None], 3, axis=1), "reward": mark})
            bound.check()
            assert pumped(sender, receiver) == 1
        batch = head.gather(np.zeros(12, np.int64), np.arange(12))
        assert batch["reward"].tolist() == list(range(12))
        assert (batch["obs"] == batch["reward"][:, None]).all()
    finally:
        sender.close()
        receiver.close()


def test_a_slow_head_gets_at_most_a_window_and_nothing_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six messages of 8 MiB, and a head that answers one after 0.9 s: nothing is lost."""
    import zmq

    clock = Clock()
    monkeypatch.setattr("olaf.experience.remote.time", clock)
    cache = Ring(layout({"obs": ((1 << 20,), "u1")}, joint=False), 48, 1, full=REFUSE)
    with zmq.Context() as context, context.socket(zmq.ROUTER) as head:
        head.setsockopt(zmq.LINGER, 0)
        port = head.bind_to_random_port("tcp://127.0.0.1")
        sender = Sender(cache, f"tcp://127.0.0.1:{port}", "one")
        peers: list[bytes] = []

        def heard(expected: int) -> list[int]:
            """Take as many messages, and none after them."""
            numbers: list[int] = []
            while head.poll(5000 if len(numbers) < expected else 50):
                peer, what, *_ = head.recv_multipart()
                numbers.append(json.loads(what)["number"])
                peers.append(peer)
            return numbers

        try:
            assert Writer(cache, 0).write({"obs": np.zeros((48, 1 << 20), np.uint8)})
            Bound({DataKey(cache, "send", 1, 8): sender}).check()
            sender.pump()
            assert heard(3) == [1, 2, 3]  # 24 MiB; a fourth would be more than 32 with its stamps
            clock.now = 0.9
            head.send_multipart([peers[0], b"1"])
            while sender.waiting == 6:
                sender.pump()
            sender.pump()
            assert heard(1) == [4]
            clock.now = 1.5
            sender.pump()
            assert heard(0) == []  # those behind the answered one are on their way
            clock.now = 2.0
            sender.pump()
            assert heard(3) == [2, 3, 4]
        finally:
            sender.close()


class Clock:
    """In the place of the module ``time``."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


def test_a_head_that_comes_later_gets_everything() -> None:
    cache = Ring(STEP, 8, 1)
    first = Receiver(Ring(STEP, 8, 1), "tcp://127.0.0.1:*")
    address = first.address
    first.close()
    sender = Sender(cache, address, "one", again=0.05)
    try:
        played(cache, 0, 4)
        trigger = Transfer(cache, "send", STAGES, 4)
        Bound({trigger: sender}).check()
        sender.pump(0.1)
        assert sender.waiting == 2
        head = Ring(STEP, 8, 1)
        receiver = Receiver(head, address)
        assert pumped(sender, receiver) == 2 and head.count().tolist() == [4]
        receiver.close()
    finally:
        sender.close()


@pytest.mark.parametrize("late", [False, True])
def test_rows_that_were_overwritten_are_never_sent(late: bool) -> None:
    """A ring that overwrites may lose rows before they are sent, or fire without some."""
    cache, head = Ring(STEP, 8, 1), Ring(STEP, 64, 1)
    receiver = Receiver(head, "tcp://127.0.0.1:*")
    sender = Sender(cache, receiver.address, "one")
    trigger = DataKey(cache, "send", 1, 4)
    try:
        played(cache, 0, 4)
        assert trigger.check()
        if late:
            sender(trigger)
            assert pumped(sender, receiver) == 1
        played(cache, 0, 8)
        played(cache, 0, 4)
        if late:
            assert trigger.check()
        with pytest.raises(RingError, match='full="refuse"'):
            sender(trigger)
        assert head.count()[0] == (4 if late else 0)
    finally:
        sender.close()
        receiver.close()
