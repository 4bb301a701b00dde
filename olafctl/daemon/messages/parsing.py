"""Parse control messages from frames, with the reasons for which the daemon refuses them."""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass

from olafctl.membership.rules import NoRoom, WrongModel
from olafctl.verify.admission import ObjectiveBroken
from olafctl.wire import control
from olafctl.wire.authentication import MAC_BYTES, make_mac, sign_message
from olafctl.wire.control import ControlAction, Reason
from olafctl.wire.frames import Datagram, Endpoint, Values, unpack_header
from olafctl.wire.layouts import HeaderLayout
from olafswitch.errors import BadInput, OlafError, Problem


class Refused(BadInput):
    """A message that is answered with a reason."""

    def __init__(self, reason: Reason, what: str) -> None:
        super().__init__(Problem(what))
        self.reason = reason


def reason_of(error: OlafError) -> Reason:
    """Return the reason that an answer gives for an error."""
    match error:
        case Refused():
            return error.reason
        case NoRoom():
            return Reason.CLUSTER_FULL
        case WrongModel():
            return Reason.WRONG_MODEL_LENGTH
        case ObjectiveBroken():
            return Reason.OBJECTIVE_VIOLATED
    return Reason.FAILED


_LAYOUTS: Mapping[int, HeaderLayout] = {action: getattr(control, action.name) for action in ControlAction}


class NotUnderstood(Exception):
    """A frame that is not a control message; ``sender`` gets an answer when it is known."""

    def __init__(self, what: str, sender: "MessageSender | None" = None) -> None:
        super().__init__(what)
        self.sender = sender


@dataclass(frozen=True)
class MessageSender(Endpoint):
    """The sender of a message, to which its answer goes; ``port`` is its UDP port."""

    front_port: int
    own: Endpoint
    """The destination of the message, from which the answer comes."""


@dataclass(frozen=True)
class Message:
    """A control message of the right length."""

    sender: MessageSender
    action: ControlAction
    values: Values
    signed: bytes
    """The bytes before ``mac``."""

    @property
    def cluster(self) -> str:
        """The cluster that the message names."""
        name = self.values["cluster"].to_bytes(32, "big").rstrip(b"\0")
        return name.decode("utf-8", "replace")

    def is_authentic(self, key: str) -> bool:
        """Return whether the message was made with ``key`` (hexadecimal)."""
        given = self.values["mac"].to_bytes(MAC_BYTES, "big")
        return hmac.compare_digest(given, make_mac(self.signed, key, self.sender.ip, self.sender.port))


def parse_frame(front_port: int, frame: bytes) -> Message:
    """Return the message in a frame that came in by a front port. Raises NotUnderstood."""
    try:
        datagram = Datagram.decode(frame)
    except ValueError as error:
        raise NotUnderstood(str(error)) from None
    sender = MessageSender(**vars(datagram.source), front_port=front_port, own=datagram.destination)
    payload = datagram.body
    if not payload or payload[0] not in _LAYOUTS:
        raise NotUnderstood("names no action", sender)
    action = ControlAction(payload[0])
    layout = _LAYOUTS[action]
    if len(payload) != layout.size:
        what = f"a {layout.name} has {layout.size} bytes, not {len(payload)}"
        raise NotUnderstood(what, sender)
    return Message(sender, action, unpack_header(layout, payload), payload[:-MAC_BYTES])


def build_frame(action: ControlAction, values: Values, key: str, to: MessageSender, tos: int) -> bytes:
    """Return the frame with a message to ``to``, from the address to which ``to`` had sent."""
    body = sign_message(_LAYOUTS[action], {"action": action, **values}, key, to.ip, to.port)
    return Datagram(to.own, to, body, tos).encode()
