"""A P4Runtime client for a long-lived process: a refused stream is an exception, every call has a deadline,
and the receiving thread ends with the process."""

import contextlib
import os
import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

import grpc
from google.rpc import code_pb2

from olafswitch.p4runtime import address as addresses
from olafswitch.p4runtime.protocol import number_of, p4runtime_pb2, p4runtime_stub, uint128_fields

_OPTIONS = [
    ("grpc.max_receive_message_length", -1),
    # A batch reports an error for each of its updates, all in the trailing metadata (P4Runtime §12.3).
    ("grpc.max_metadata_size", 32 << 20),
    ("grpc.absolute_max_metadata_size", 32 << 20),
    ("grpc.enable_http_proxy", 0),
]
_FAR = [
    # A restarted server is found within a second, a server behind a cut cable is given up.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
]
_STREAM_KINDS = ("arbitration", "packet", "digest", "idle_timeout_notification", "error", "unknown")
_MAX_QUEUED = 4096  # messages of each kind on the stream that were not fetched yet


class StreamEnded(Exception):
    """The StreamChannel is gone; ``code`` is the gRPC status' name and ``message`` its text."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}" if message else code)
        self.code = code
        self.message = message


class StreamClient:
    """One device's client; ``election_id`` is None for one that never becomes primary.

    Elections are among the controllers of one ``role``; empty is the default role. ``timeout`` is in seconds,
    for the connection and for every call. ``access``: through TLS. Raises StreamEnded.
    """

    def __init__(
        self,
        device_id: int,
        address: str,
        election_id: int | None,
        timeout: float,
        role: str = "",
        access: addresses.Access | None = None,
    ) -> None:
        self.device_id = device_id
        self.election_id = election_id or 0
        self.role = role
        self.timeout = timeout
        self._elects = election_id is not None
        try:
            name, self._folder = addresses.shorten_address(address)
        except OSError as error:
            raise StreamEnded("UNAVAILABLE", f"{address}: {error.strerror}") from None
        program = ("grpc.primary_user_agent", f"olafswitch pid {os.getpid()}")
        if access is None:
            self._channel = grpc.insecure_channel(name, options=[*_OPTIONS, program])
        else:
            self._channel = grpc.secure_channel(name, access.credentials(), [*_OPTIONS, *_FAR, program])
        self.stub = p4runtime_stub(self._channel, timeout, access.metadata if access else ())
        self.ended: StreamEnded | None = None
        self.arbitration: Any = None
        self.changed = threading.Condition()
        try:
            self._open_stream()
        except BaseException:
            self.tear_down()
            raise

    def _open_stream(self) -> None:
        """Open the stream, introduce this controller and wait for the switch's answer. Raises StreamEnded."""
        self.stream_out_q: queue.Queue[Any] = queue.Queue()
        self.stream_in_q: dict[str, queue.Queue[Any]] = {
            kind: queue.Queue(_MAX_QUEUED) for kind in _STREAM_KINDS
        }
        self.stream = self.stub.StreamChannel(iter(self.stream_out_q.get, None), wait_for_ready=True)
        self.stream_recv_thread = threading.Thread(
            target=self._receive_messages, name="p4runtime", daemon=True
        )
        self.stream_recv_thread.start()
        # The first message to a new controller is its answer.
        self._send_arbitration(lambda answer: True)

    def _send_arbitration(self, is_answer: Callable[[Any], bool]) -> None:
        wanted: dict[str, Any] = {"device_id": self.device_id}
        if self.role:
            wanted["role"] = {"name": self.role}
        if self._elects:
            wanted["election_id"] = uint128_fields(self.election_id)
        request = p4runtime_pb2.StreamMessageRequest(arbitration=wanted)
        with self.changed:
            self.arbitration = None
            self.stream_out_q.put(request)
            answered = self.changed.wait_for(
                lambda: self.ended or (self.arbitration and is_answer(self.arbitration)), self.timeout
            )
        if self.ended:
            raise self.ended
        if not answered:
            raise StreamEnded("UNAVAILABLE", f"no P4Runtime server answers in {self.timeout:g} s")

    def write(self, request: Any, rollback: bool) -> None:
        """Write the updates of a WriteRequest as one batch. Raises grpc.RpcError."""
        request.device_id = self.device_id
        request.role = self.role
        if rollback:
            request.atomicity = p4runtime_pb2.WriteRequest.ROLLBACK_ON_ERROR
        request.election_id.CopyFrom(p4runtime_pb2.Uint128(**uint128_fields(self.election_id)))
        self.stub.Write(request)

    def read_entities(self, query: Any) -> Iterator[Any]:
        """Yield the ``p4.v1.Entity`` messages that a query selects. Raises grpc.RpcError."""
        request = p4runtime_pb2.ReadRequest(device_id=self.device_id, entities=[query])
        for answer in self.stub.Read(request):
            yield from answer.entities

    def elect(self, election_id: int) -> None:
        """Arbitrate again with another election id. Raises StreamEnded."""
        self.election_id = election_id
        self._elects = True
        self._send_arbitration(self._settles_election)

    def _settles_election(self, message: Any) -> bool:
        """Return whether ``message`` answers our election id, and does not report an earlier election of
        others.

        Both look alike and hold the highest election id so far (P4Runtime §5.3): it is ours when we have won,
        and above ours when we cannot win any more. Id 0 may never win, so its answer is unknown.
        """
        highest = number_of(message.election_id)
        won = message.status.code == code_pb2.OK and highest == self.election_id
        return won or highest > self.election_id or self.election_id == 0

    @property
    def is_primary(self) -> bool:
        answer = self.arbitration
        return bool(answer and self.ended is None and answer.status.code == code_pb2.OK)

    @property
    def primary(self) -> str | None:
        """The switch's text about another controller that is primary; None when none is."""
        answer = self.arbitration
        return str(answer.status.message) if answer.status.code == code_pb2.ALREADY_EXISTS else None

    @property
    def highest_election_id(self) -> int:
        """The highest election id that the switch has seen, from its newest arbitration message."""
        return number_of(self.arbitration.election_id)

    def messages(self, kind: str, timeout: float | None) -> Iterator[Any]:
        """Yield stream messages as they come, until the stream ends or ``timeout`` seconds bring none."""
        while True:
            try:
                message = self.stream_in_q[kind].get(timeout=timeout)
            except queue.Empty:
                return
            if message is None:
                self._put_message(kind, None)
                return
            yield message

    def tear_down(self) -> None:
        """Close the stream and the channel; may be called twice.

        Returns when the switch has ended the stream, and so has let go of the election id.
        """
        if hasattr(self, "stream_out_q"):
            self.stream_out_q.put(None)
            if self.arbitration is not None:
                self.stream_recv_thread.join(self.timeout)
            self.stream.cancel()
            self.stream_recv_thread.join(self.timeout)
        self._channel.close()
        if self._folder is not None:
            os.close(self._folder)
            self._folder = None

    def _receive_messages(self) -> None:
        ended = StreamEnded("UNAVAILABLE", "the switch closed the stream")
        try:
            for message in self.stream:
                kind = message.WhichOneof("update")
                if kind == "arbitration":
                    with self.changed:
                        self.arbitration = message.arbitration
                        self.changed.notify_all()
                else:
                    self._put_message(kind if kind in self.stream_in_q else "unknown", message)
        except grpc.RpcError as error:
            ended = StreamEnded(error.code().name, error.details() or "")
        finally:
            with self.changed:
                self.ended = ended
                self.changed.notify_all()
            for kind in self.stream_in_q:
                self._put_message(kind, None)

    def _put_message(self, kind: str, message: Any) -> None:
        """Keep the newest messages: a slow reader must not make the process grow."""
        waiting = self.stream_in_q[kind]
        while True:
            try:
                waiting.put_nowait(message)
                return
            except queue.Full:
                with contextlib.suppress(queue.Empty):
                    waiting.get_nowait()
