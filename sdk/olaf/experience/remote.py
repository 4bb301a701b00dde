"""Experience from another machine's ring to the head's, over ZeroMQ (extra ``olaf[remote]``).

ZeroMQ drops what its peer had not read when it died, so every message is answered, and sent again without an
answer. The head knows by position what it has, so a row that comes twice is written once.
"""

from __future__ import annotations

import contextlib
import json
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import zmq

from olaf.experience.pipeline import Pace
from olaf.experience.ring import REFUSE, Array, Ring, RingError
from olaf.experience.triggers import Firing, Trigger
from olaf.experience.writer import Writer

_AHEAD = 1 << 25
"""Bytes that may be on their way without an answer: a link is never idle between two large messages, and what
comes again after a loss is little."""


@dataclass
class _Message:
    trigger: Trigger
    firing: Firing
    rows: tuple[int, int, int]
    """Actor, first row and the one after the last."""
    size: int
    due: float | None = None
    """When to send it, for the first time or again; None until its turn has come."""
    sent: bool = False


class Sender:
    """A passer: sends the rows of a trigger's firings; they are done when the head has answered."""

    def __init__(
        self, ring: Ring, address: str, source: str, *, pace: Pace | None = None, again: float = 1.0
    ) -> None:
        """To a :class:`Receiver` at ``address``. ``source`` names this ring there, once in the system.

        ``pace`` limits when bytes are sent; when no answer at all has come for ``again`` seconds, what is on
        its way is sent again.
        """
        self._ring, self._source, self._pace, self._again = ring, source, pace, again
        self._socket = zmq.Context.instance().socket(zmq.DEALER)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.connect(address)
        self._waiting: dict[int, _Message] = {}
        self._number = 0
        self._next: dict[tuple[int, tuple[str, ...]], int] = {}
        """The row that the head expects next, by actor and keys."""

    @property
    def waiting(self) -> int:
        """How many messages the head has not answered."""
        return len(self._waiting)

    def __call__(self, trigger: Trigger) -> None:
        """Send what has fired; does not wait. Raises RingError for rows that are overwritten already."""
        while (firing := trigger.take()) is not None:
            width = sum(self._ring.column(key)[0].nbytes for key in self._name_columns(firing))
            for rows in firing.ranges:
                expected = self._next.get((rows[0], firing.keys), rows[1])
                if rows[1] != expected:
                    raise _make_overwritten_error(rows[0], expected, rows[1])
                self._next[rows[0], firing.keys] = rows[2]
                self._number += 1
                size = (rows[2] - rows[1]) * width
                self._waiting[self._number] = _Message(trigger, firing, rows, size)
        self.pump()

    def pump(self, seconds: float = 0.0) -> None:
        """Send what is due and take answers, for so many seconds or until all is answered."""
        until = time.monotonic() + seconds
        while True:
            due = min((self._send_message(*each) for each in self._next_messages()), default=until)
            pause = max(0.0, min(due, until) - time.monotonic())
            while self._socket.poll(int(pause * 1000)):
                self._take_answer(int(self._socket.recv()))
                pause = 0.0
            if not self._waiting or time.monotonic() >= until:
                return

    def close(self) -> None:
        """Stop; what is not answered is given out by ``trigger.cursor.again()``."""
        self._socket.close()

    def _next_messages(self) -> list[tuple[int, _Message]]:
        """List the oldest messages without an answer, as many as may be under way."""
        found: list[tuple[int, _Message]] = []
        size = 0
        for number, message in self._waiting.items():
            size += message.size
            if found and size > _AHEAD:
                break
            found.append((number, message))
        return found

    def _send_message(self, number: int, message: _Message) -> float:
        """Send a message if it is due; when it is due next."""
        now = time.monotonic()
        if message.due is None:
            message.due = now if self._pace is None else self._pace.send(message.size, now)
        if message.due <= now:
            with contextlib.suppress(zmq.Again):
                self._socket.send_multipart(self._pack_frames(number, message), zmq.NOBLOCK, copy=False)
                message.due, message.sent = now + self._again, True
        return message.due

    def _take_answer(self, number: int) -> None:
        message = self._waiting.pop(number, None)
        if message is None:
            return
        for other in self._waiting.values():
            if other.sent and other.due is not None:  # it is behind this one, not lost
                other.due = max(other.due, time.monotonic() + self._again)
        if not any(other.firing == message.firing for other in self._waiting.values()):
            message.trigger.done(message.firing)

    def _name_columns(self, firing: Firing) -> tuple[str, ...]:
        return ("version", "end", *(firing.keys or self._ring.layout.keys))

    def _pack_frames(self, number: int, message: _Message) -> list[Any]:
        names, (actor, first, last) = self._name_columns(message.firing), message.rows
        head = {"number": number, "source": self._source, "actor": actor, "first": first, "keys": names[2:]}
        # Rows stay as they are until the head has answered, which it does not before the first copy is there.
        stay = self._ring.full == REFUSE and not message.sent
        columns = [self._copy_column(name, actor, first, last, stay) for name in names]
        if not self._ring.read("end", np.array([actor]), np.array([first]))[1][0]:
            raise _make_overwritten_error(actor, first, last)
        return [json.dumps(head).encode(), *columns]

    def _copy_column(self, name: str, actor: int, first: int, last: int, stay: bool) -> Array:
        """Return a key's rows side by side: where they lie if they ``stay`` and lie so, else a copy."""
        column, start = self._ring.column(name, actor), first % self._ring.rows
        part = column[start : start + last - first]
        if len(part) < last - first:
            return np.concatenate([part, column[: last - first - len(part)]])
        return part if stay and part.flags.c_contiguous else np.array(part, order="C")


def _make_overwritten_error(actor: int, first: int, stop: int) -> RingError:
    return RingError(
        f"rows {first} to {stop - 1} of actor {actor} were overwritten before the head had them, and it "
        'cannot go on without: make the ring with full="refuse"'
    )


class Receiver:
    """The head's end: writes what comes into a ring, a block for each actor of each sender."""

    def __init__(self, ring: Ring, address: str) -> None:
        """Listen at ``address``; ``tcp://…:*`` takes a free port, which :attr:`address` tells."""
        self._ring = ring
        self._socket = zmq.Context.instance().socket(zmq.ROUTER)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.bind(address)
        self.address: str = self._socket.getsockopt_string(zmq.LAST_ENDPOINT)
        self._blocks: dict[tuple[str, int], tuple[Writer, int]] = {}
        """The writer and its first row's position there, by sender and actor."""

    def receive(self, seconds: float = 0.0) -> int:
        """Wait so long for a message, then take all that is there; how many were new and are written.

        What the ring refuses is not answered, so it comes again. Raises RingError for more actors than it has
        room for.
        """
        written = 0
        pause = int(seconds * 1000)
        while self._socket.poll(pause):
            peer, head, *frames = self._socket.recv_multipart(copy=False)
            values = json.loads(head.bytes)
            has, new = self._write_rows(values, [frame.buffer for frame in frames])
            written += new
            if has:
                self._socket.send_multipart([peer.bytes, str(values["number"]).encode()])
            pause = 0
        return written

    def close(self) -> None:
        """Stop listening and give the blocks back."""
        self._socket.close()
        for writer, _ in self._blocks.values():
            writer.close()

    def _write_rows(self, head: dict[str, Any], frames: list[memoryview]) -> tuple[bool, bool]:
        """Write rows; return whether they are in the ring now, and whether they were not before."""
        where = (head["source"], head["actor"])
        if where not in self._blocks:
            if len(self._blocks) == self._ring.actors:
                self._ring.grow(self._ring.actors + 1)
            writer = Writer(self._ring, len(self._blocks))
            self._blocks[where] = writer, head["first"] - writer.position()
        writer, offset = self._blocks[where]
        version, end = np.frombuffer(frames[0], "<u4"), np.frombuffer(frames[1], "u1")
        first, have = head["first"] - offset, min(writer.position(key) for key in head["keys"])
        if first + len(end) <= have:
            return True, False
        if first != have:
            return False, False  # one before it is missing; it comes again
        rows = {}
        for key, frame in zip(head["keys"], frames[2:]):
            column = self._ring.column(key)
            rows[key] = np.frombuffer(frame, column.dtype).reshape(len(end), *column.shape[1:])
        wrote = writer.copy(rows, version, end)
        return wrote, wrote
