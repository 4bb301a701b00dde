"""One segment of an iswitch cluster at one member: the chunk that is summed there, and those that wait."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Callable, Optional

from olaf.errors import NoAnswer
from olaf.serial import ROUND_BITS
from olaf.transport import wire
from olaf.transport.port import Address, Port
from olaf.transport.segments import Vector

_FIRST_PAUSE = 0.02
_LONGEST_PAUSE = 1.0
_MOST_DOUBLED = 16
"""More would be no number any more, for a round that lasts half an hour."""
NUMBERS = 8
"""Numbers of one chunk: its first round, and further ones in case that a result reaches no member."""


@dataclass
class Lane:
    """One segment's current round."""

    segment: int
    round: int = 0
    """The number of the chunk that is contributed now."""
    waiting: deque[tuple[Reduction, slice]] = field(default_factory=deque)
    """Chunks in order; the first one is this round's."""
    began: float = 0.0
    due: float = 0.0
    tries: int = 0
    reported: bool = False
    kept: tuple[wire.Olaf, bytes] | None = None
    """The last result, for members that missed it."""
    lacking: set[Address] = field(default_factory=set)
    """Members at fixed addresses that lack the result of ``round``, too."""

    def next_pause(self) -> float:
        """Return the seconds until the next try.

        They grow with the number, too: where results take long, the one before was perhaps only under way.
        """
        doubled = min(self.tries + self.round % NUMBERS, _MOST_DOUBLED)
        return min(_FIRST_PAUSE * 2.0**doubled, _LONGEST_PAUSE)


def chunk_of(number: int) -> int:
    """Return the chunk that a number belongs to, as the first of its numbers."""
    return (number - number % NUMBERS) % (1 << ROUND_BITS)


Then = Callable[[Optional[NoAnswer]], object]
"""Called at the end of a reduction, with the failure if there is one."""


class Reduction:
    """One vector on its way to its sum."""

    def __init__(self, vector: Vector, chunks: int, then: Then) -> None:
        self.vector = vector
        self.left = chunks
        self.failure: NoAnswer | None = None
        self._then = then

    @property
    def done(self) -> bool:
        """Whether ``vector`` is the sum now."""
        return self.left == 0

    def note_arrival(self, place: slice, values: Vector) -> None:
        """Note that the sum of one chunk has come."""
        self.vector[place] = values
        self.left -= 1
        if self.done:
            self._then(None)

    def fail_with(self, failure: NoAnswer) -> None:
        """Fail once: the reduction will never be done."""
        if self.failure is None:
            self.failure = failure
            self._then(failure)


_SILENCE = 10.0
_QUESTIONS = 10
"""Seconds and questions without an answer after which a member that used to answer has died."""
_ENDED: dict[int, str] = {wire.Reason.FAILED: "has given up", wire.Reason.NOT_A_MEMBER: "has left the job"}


class Peers:
    """The other members. Each question gets one answer: a result, or an ACK from a member without it."""

    def __init__(self, port: Port, epoch: int) -> None:
        self._port, self._epoch = port, epoch
        self._known: set[Address] = set()
        """Members that have answered; silence means nothing where members cannot reach each other."""
        self._silent: dict[Address, tuple[float, int]] = {}
        """Time of the first question without an answer, and the number of questions since."""

    def ask_peers(self, peers: Sequence[Address], segment: int, round_: int) -> None:
        """Ask for the result of a round."""
        message = wire.Help(wire.ControlAction.HELP, segment, round_, 0, 0, 0, bytes(wire.MAC_BYTES)).pack()
        now = self._port.now()
        for peer in peers:
            since, questions = self._silent.get(peer, (now, 0))
            self._silent[peer] = since, questions + 1
            self._port.send(peer, message)

    def answer_peer(self, peer: Address, reason: wire.Reason) -> None:
        """Answer a question whose result this member does not have: OK while it works on it, too."""
        action, ack = wire.ControlAction.HELP, wire.ControlAction.ACK
        answer = wire.Answer(ack, action, reason, self._epoch, 0, 0, 0, 0, 0, 0, bytes(wire.MAC_BYTES))
        self._port.send(peer, answer.pack())

    def note_answer(self, peer: Address) -> None:
        """Note that a member was heard."""
        self._known.add(peer)
        self._silent.pop(peer, None)

    def all_there(self) -> None:
        """Note that a result came, to which all have contributed."""
        self._silent.clear()

    def note_end(self, answer: wire.Answer) -> str:
        """Say why a member with this answer has ended; empty while it goes on."""
        return _ENDED.get(answer.reason, "") if answer.epoch == self._epoch else ""

    def find_dead(self) -> tuple[Address, float] | None:
        """Return a member that has died, and for how many seconds it has been silent."""
        now = self._port.now()
        for peer, (since, questions) in self._silent.items():
            if peer in self._known and now - since > _SILENCE and questions > _QUESTIONS:
                return peer, now - since
        return None
