"""Questions of a member at a fixed address to the others, and what their silence means."""

from __future__ import annotations

from collections.abc import Sequence

from olaf.transport import wire
from olaf.transport.port import Address, Port

_SILENCE = 10.0
_QUESTIONS = 10
"""Seconds and questions without an answer after which a member that used to answer has died."""
_ENDED: dict[int, str] = {
    wire.Reason.FAILED: "has given up",
    wire.Reason.NOT_A_MEMBER: "has left the job",
}


class Peers:
    """The other members. Each question gets one answer: a result, or an ACK from a member without it."""

    def __init__(self, port: Port, epoch: int) -> None:
        self._port, self._epoch = port, epoch
        self._known: set[Address] = set()
        """Members that have answered; silence means nothing where members cannot reach each other."""
        self._silent: dict[Address, tuple[float, int]] = {}
        """Time of the first question without an answer, and the number of questions since."""

    def ask(self, peers: Sequence[Address], segment: int, round_: int) -> None:
        """Ask for the result of a round."""
        message = wire.Help(wire.Action.HELP, segment, round_, 0, 0, 0, bytes(wire.MAC_BYTES)).pack()
        now = self._port.now()
        for peer in peers:
            since, questions = self._silent.get(peer, (now, 0))
            self._silent[peer] = since, questions + 1
            self._port.send(peer, message)

    def answer(self, peer: Address, reason: wire.Reason) -> None:
        """Answer a question whose result this member does not have: OK while it works on it, too."""
        action, ack = wire.Action.HELP, wire.Action.ACK
        answer = wire.Answer(ack, action, reason, self._epoch, 0, 0, 0, 0, 0, 0, bytes(wire.MAC_BYTES))
        self._port.send(peer, answer.pack())

    def heard(self, peer: Address) -> None:
        """Something came from it."""
        self._known.add(peer)
        self._silent.pop(peer, None)

    def all_there(self) -> None:
        """A result came, to which all have contributed."""
        self._silent.clear()

    def ended(self, answer: wire.Answer) -> str:
        """Why a member with this answer has ended; empty while it goes on."""
        return _ENDED.get(answer.reason, "") if answer.epoch == self._epoch else ""

    def dead(self) -> tuple[Address, float] | None:
        """A member that has died, and for how many seconds it has been silent."""
        now = self._port.now()
        for peer, (since, questions) in self._silent.items():
            if peer in self._known and now - since > _SILENCE and questions > _QUESTIONS:
                return peer, now - since
        return None
