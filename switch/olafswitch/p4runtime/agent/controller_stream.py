"""One controller's StreamChannel: its messages in, and a queue of messages out."""

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from olafswitch.p4runtime.agent.device import AgentDevice
from olafswitch.p4runtime.agent.refusals import (
    Code,
    Refusal,
    invalid_argument,
    not_implemented,
    permission_denied,
)
from olafswitch.p4runtime.protocol import Malformed, p4runtime_pb2, parse_message

_log = logging.getLogger(__name__)
_MAX_QUEUED = 4096  # packets and digests that a controller has not read yet; beyond, new ones are dropped


class ControllerStream:
    """A stream of the controller ``name``; ``device_of`` finds a device by id and raises Refusal."""

    def __init__(self, device_of: Callable[[int], AgentDevice], name: str) -> None:
        self.name = name
        self._device_of = device_of
        self._device: AgentDevice | None = None
        self._out: deque[bytes] = deque()
        self._changed = threading.Condition()
        self._ended = False
        self.refusal: Refusal | None = None
        """The reason why the agent ended the stream, if it did."""

    def send(self, message: bytes) -> None:
        """Queue a StreamMessageResponse; never blocks."""
        with self._changed:
            if not self._ended:
                self._out.append(message)
                self._changed.notify()

    def offer(self, message: bytes) -> None:
        """Queue a StreamMessageResponse, or drop it when the controller reads too slowly."""
        if len(self._out) < _MAX_QUEUED:
            self.send(message)

    def end_stream(self, refusal: Refusal | None) -> None:
        """End the stream after the messages that are queued."""
        with self._changed:
            if not self._ended:
                self._ended = True
                self.refusal = refusal
                self._changed.notify()

    def leave_role(self) -> None:
        """Give up the controller's place in its role; may be called twice."""
        if self._device is not None:
            self._device.arbitration.remove_controller(self)

    def messages(self) -> Iterator[bytes]:
        """Yield the queued messages, until the stream ends."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._out or self._ended)
                if not self._out:
                    return
                message = self._out.popleft()
            yield message

    def receive_requests(self, requests: Iterator[bytes]) -> None:
        """Handle every StreamMessageRequest, until the controller or the agent ends the stream."""
        try:
            for data in _until_gone(requests):
                self._handle_request(parse_message(p4runtime_pb2.StreamMessageRequest, data))
        except Refusal as refusal:
            self.end_stream(refusal)
        except Malformed as error:
            self.end_stream(invalid_argument(str(error)))
        except Exception as error:
            _log.exception("%s: a message was not dealt with", self.name)
            self.end_stream(Refusal(Code.INTERNAL, f"a message was not dealt with: {error}"))
        else:
            self.end_stream(None)

    def _handle_request(self, request: Any) -> None:
        kind = request.WhichOneof("update")
        if kind == "arbitration":
            self._arbitrate_role(request.arbitration)
        elif kind == "packet":
            cause = {"packet_out": {"packet_out": request.packet}}
            self._try_as_primary(lambda device: device.packet_out(request.packet), cause)
        elif kind == "digest_ack":
            ack = request.digest_ack
            cause = {"digest_list_ack": {"digest_list_ack": ack}}
            self._try_as_primary(lambda device: device.acknowledge_digest(ack.digest_id, ack.list_id), cause)
        elif kind == "other":
            refusal = not_implemented("this device has no stream messages of its own")
            self._report_refusal(refusal, {"other": {"other": request.other}})
        else:
            raise invalid_argument("the stream message is empty")

    def _arbitrate_role(self, message: Any) -> None:
        if self._device is None:
            device = self._device_of(message.device_id)
            self._device = device
        elif self._device.id != message.device_id:
            raise Refusal(Code.FAILED_PRECONDITION, "a stream cannot change its device")
        self._device.arbitration.update_controller(self, message)
        if self._ended:
            self.leave_role()  # the stream ended meanwhile, before it had a place in a role

    def _try_as_primary(self, do: Callable[[AgentDevice], None], cause: dict[str, Any]) -> None:
        """Do what only a primary may do; report a failure, with ``cause``, on the stream, which stays."""
        try:
            if self._device is None or not self._device.arbitration.is_primary(self):
                raise permission_denied("only the primary controller may do this")
            do(self._device)
        except Refusal as refusal:
            self._report_refusal(refusal, cause)

    def _report_refusal(self, refusal: Refusal, cause: dict[str, Any]) -> None:
        error = {"canonical_code": refusal.code.value, "message": refusal.message, "space": "olaf", **cause}
        self.offer(p4runtime_pb2.StreamMessageResponse(error=error).SerializeToString())


def _until_gone(requests: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the peer's messages, until it ends its side or is gone."""
    try:
        yield from requests
    except Exception:  # gRPC has no narrower class for it
        return
