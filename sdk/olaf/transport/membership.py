"""Joining and leaving a cluster by control messages (iSwitch §3.2, table 2)."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import struct
from dataclasses import dataclass
from typing import Protocol

from olaf.errors import JoinRefused, NoAnswer
from olaf.transport import wire
from olaf.transport.address import Cluster
from olaf.transport.port import Address, Port, Run

_LEAVES = 3
"""Leaves sent, because no answer is waited for."""
_AGAIN = 0.5
"""Seconds until a Join that was not answered is sent again."""
_NOT_KNOWN = 0xFFFFFFFF
"""As the age in a report."""

_REFUSALS: dict[int, str] = {
    wire.Reason.UNKNOWN_CLUSTER: "the cluster does not exist",
    wire.Reason.BAD_MAC: "the key is wrong or missing; set OLAF_KEY or key=. If the cluster has none, only "
    "members that its testbed lists join, from their address and port; others need olafctl cluster create",
    wire.Reason.OLD_NONCE: "this machine's clock is behind what it was; set the clock",
    wire.Reason.CLOCK_AHEAD: "this machine's clock is more than an hour ahead of the daemon's; set the clock",
    wire.Reason.CLUSTER_FULL: "the cluster has no place for another member",
    wire.Reason.WRONG_MODEL_LENGTH: "the cluster trains a model of another length",
    wire.Reason.OBJECTIVE_VIOLATED: "with this member the cluster's Age-of-Model objective would not hold",
    wire.Reason.BAD_MESSAGE: "the control plane does not understand the message: is it of another version?",
    wire.Reason.NOT_A_MEMBER: "this address is not a member of the cluster",
    wire.Reason.FAILED: "olafctl audit on the engine's machine says why",
}


class _Message(Protocol):
    mac: bytes

    def pack(self) -> bytes: ...


@dataclass(frozen=True)
class Joined:
    """The control plane's answer."""

    epoch: int
    member: int
    threshold: int
    segments: int
    server: Address


def key_of(text: str) -> bytes:
    """Read a cluster's key, given in hexadecimal digits as to ``olafctl cluster create --key-file``.

    Raises ValueError.
    """
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise ValueError("the cluster's key (key=, OLAF_KEY) must be hexadecimal digits") from None


def signed(message: _Message, key: bytes, member: Address) -> bytes:
    """Return the message with its MAC, which is zero without a key; ``member`` sends or gets it."""
    if key:
        message.mac = _compute_mac(message.pack()[: -wire.MAC_BYTES], key, member)
    return message.pack()


def genuine(datagram: memoryview, size: int, key: bytes, member: Address) -> bool:
    """Return whether a control message of ``size`` bytes that ``member`` received has this key's MAC."""
    body = bytes(datagram[:size])
    mac = _compute_mac(body[: -wire.MAC_BYTES], key, member) if key else bytes(wire.MAC_BYTES)
    return len(body) == size and hmac.compare_digest(mac, body[-wire.MAC_BYTES :])


def _compute_mac(body: bytes, key: bytes, member: Address) -> bytes:
    covered = ipaddress.IPv4Address(member[0]).packed + member[1].to_bytes(2, "big") + body
    return hmac.new(key, covered, hashlib.sha256).digest()[: wire.MAC_BYTES]


def is_control(datagram: memoryview) -> bool:
    """Return whether this is a control message: no Olaf header has version 0."""
    return len(datagram) > 0 and datagram[0] >> 4 == 0


class Membership:
    """One member's place in its cluster; asks until an answer arrives, and again on demand."""

    def __init__(self, port: Port, cluster: Cluster, values: int, role: wire.MemberRole, key: bytes) -> None:
        self.joined: Joined | None = None
        self.refused: int | None = None
        """Reason of the last refusal."""
        self.halted = False
        self._port, self._cluster, self._values, self._role, self._key = port, cluster, values, role, key
        self._request: tuple[int, int] | None = None
        """Action and nonce of the question under way: a Join, or a SetH."""
        self._wanted = 0
        """H, if the member requests one."""
        self._due: float | None = None
        self._nonce = 0
        self._own = port.reachable(cluster.control)
        """This member's address; the control plane refuses its messages from any other."""
        self._told = -1
        """Nonce of the newest Halt; an older one is replayed."""

    def join(self) -> None:
        """Ask to join, from the next tick on; the place held so far stays until the answer."""
        self._own = self._port.reachable(self._cluster.control)
        self._ask_control(wire.ControlAction.JOIN)

    def admit(self, seconds: float) -> Joined:
        """Join and block until the answer is here; the port serves this membership meanwhile.

        Raises JoinRefused with the reason, and NoAnswer after ``seconds``.
        """
        self.join()
        self._port.serve(self)
        self._await_answer("the Join", seconds)
        assert self.joined is not None
        return self.joined

    def set_threshold(self, threshold: int, seconds: float) -> None:
        """Make H ``threshold``, and block until it is; after :meth:`admit`, and raises as that does."""
        self._wanted = threshold
        self._ask_control(wire.ControlAction.SET_H)
        self._port.wake()
        self._await_answer(f"an H of {threshold}", seconds)

    def leave(self) -> None:
        """Leave the cluster; sent a few times, because no answer is waited for."""
        message = wire.Leave(wire.ControlAction.LEAVE, self._pack_name(), self.nonce(), bytes(wire.MAC_BYTES))
        for _ in range(_LEAVES):
            self.send(signed(message, self._key, self._own))

    def help(self, segment: int, round_: int) -> None:
        """Ask for the result of a round."""
        message = wire.Help(
            wire.ControlAction.HELP, segment, round_, 0, 0, self.nonce(), bytes(wire.MAC_BYTES)
        )
        self.send(signed(message, self._key, self._own))

    def report(self, player: Address, version: int, lag: int, age: float | None, state: int) -> None:
        """Report the state of a player of this publisher's weights; the message may be lost."""
        milliseconds = _NOT_KNOWN if age is None else min(round(age * 1000), _NOT_KNOWN - 1)
        message = wire.Report(
            wire.ControlAction.REPORT,
            state,
            self._pack_name(),
            int(ipaddress.IPv4Address(player[0])),
            player[1],
            version,
            lag,
            milliseconds,
            self.nonce(),
            bytes(wire.MAC_BYTES),
        )
        self.send(signed(message, self._key, self._own))

    def receive(self, run: Run, source: Address) -> None:
        """Receive control messages, while ``admit`` waits for one."""
        for datagram in run:
            self.take(datagram)

    def take(self, datagram: memoryview) -> wire.Help | None:
        """Take a control message; returns a genuine Help of another member, which the caller answers."""
        if not is_control(datagram):
            return None
        action = datagram[0]
        try:
            if action == wire.ControlAction.ACK:
                certain = self._is_genuine(datagram, wire.ANSWER_BYTES)
                self._take_answer(wire.Answer.unpack(datagram), certain)
            elif action == wire.ControlAction.HALT and self._is_genuine(datagram, wire.HALT_BYTES):
                self._take_halt(wire.Halt.unpack(datagram))
            elif action == wire.ControlAction.HELP and self._is_genuine(datagram, wire.HELP_BYTES):
                return wire.Help.unpack(datagram)
        except struct.error:
            pass  # too short: as good as lost
        return None

    def tick(self) -> float | None:
        """Send the question that is due."""
        if self._due is not None and self._port.now() >= self._due and self._request is not None:
            action, nonce = self._request
            empty = bytes(wire.MAC_BYTES)
            message: _Message = wire.SetH(wire.ControlAction.SET_H, self._wanted, nonce, empty)
            if action == wire.ControlAction.JOIN:
                message = wire.Join(action, self._role, self._pack_name(), self._values, nonce, empty)
            self.send(signed(message, self._key, self._own))
            self._due = self._port.now() + _AGAIN
        return self._due

    def nonce(self) -> int:
        """Return a nonce larger than any before."""
        self._nonce = max(self._nonce + 1, self._port.wall())
        return self._nonce

    def send(self, message: bytes) -> None:
        """Send a message to the control plane, by its ToS; it may be lost."""
        self._port.send(self._cluster.control, message, tos=wire.CONTROL_TOS)

    def _pack_name(self) -> bytes:
        return self._cluster.name.encode()

    def _ask_control(self, action: int) -> None:
        self._request, self.refused = (action, self.nonce()), None
        self._due = self._port.now()

    def _await_answer(self, what: str, seconds: float) -> None:
        """Block until the question under way is answered. Raises JoinRefused, NoAnswer."""
        self._port.wait(lambda: self._request is None, seconds)
        where = f"{self._cluster.name} at {self._cluster.control[0]}:{self._cluster.control[1]}"
        if self.refused is not None:
            reason = _REFUSALS.get(self.refused, f"reason {self.refused}, unknown to this version")
            raise JoinRefused(f"cluster {where} refused {what}: {reason}")
        if self._request is not None:
            raise NoAnswer(f"cluster {where} did not answer in {seconds:g} s; is olafctl's daemon running?")

    def _is_genuine(self, datagram: memoryview, size: int) -> bool:
        return genuine(datagram, size, self._key, self._own)

    def _take_halt(self, halt: wire.Halt) -> None:
        if halt.nonce > self._told:
            self.halted, self._told = bool(halt.halted), halt.nonce

    def _take_answer(self, answer: wire.Answer, certain: bool) -> None:
        """Take an answer; a refusal counts without a MAC too, since a member with the wrong key can read no
        other."""
        if (answer.answered, answer.nonce) != self._request:
            return
        if answer.reason != wire.Reason.OK:
            self._request = self._due = None
            self.refused = answer.reason
        elif certain:
            self._request = self._due = None
            server = str(ipaddress.IPv4Address(answer.server_addr)), answer.server_port
            self.joined = Joined(answer.epoch, answer.member, answer.threshold, answer.segments, server)
