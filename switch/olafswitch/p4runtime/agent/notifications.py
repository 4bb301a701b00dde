"""Messages of a device to its controllers: packets, digests (P4Runtime §9.8), idle entries (§9.1.8)."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from olafswitch.p4runtime import bytestrings
from olafswitch.p4runtime.agent import encode, p4data
from olafswitch.p4runtime.agent.refusals import invalid_argument
from olafswitch.p4runtime.agent.state import DigestConfig, Forwarding, StoredEntry, TableState
from olafswitch.p4runtime.program import ParameterInfo
from olafswitch.p4runtime.protocol import p4runtime_pb2

# Packets between controller and data plane, their metadata as the headers that the program declares.


def packet_out_frame(fields: Sequence[ParameterInfo], packet: Any) -> bytes:
    """Return the frame of a ``p4.v1.PacketOut``, its packet_out header in front. Raises Refusal."""
    places = {parameter.id: parameter for parameter in fields}
    values: dict[int, int] = {}
    for metadata in packet.metadata:
        parameter = places.get(metadata.metadata_id)
        if parameter is None:
            raise invalid_argument(f"the packet_out header has no field {metadata.metadata_id}")
        if parameter.id in values:
            raise invalid_argument(f"packet_out field {parameter.name} is given twice")
        try:
            values[parameter.id] = bytestrings.decode_unsigned(metadata.value, parameter.bits)
        except ValueError as error:
            raise invalid_argument(f"packet_out field {parameter.name}: {error}") from None
    header = 0
    for parameter in fields:
        if parameter.id not in values:
            raise invalid_argument(f"packet_out field {parameter.name} is missing")
        header = header << parameter.bits | values[parameter.id]
    size = _header_bytes(fields)
    spare = size * 8 - sum(parameter.bits for parameter in fields)
    return (header << spare).to_bytes(size, "big") + bytes(packet.payload)


def packet_in_message(fields: Sequence[ParameterInfo], frame: bytes) -> bytes | None:
    """Return the StreamMessageResponse of a frame with its packet_in header; None if it is cut short."""
    size = _header_bytes(fields)
    if len(frame) < size:
        return None
    header = int.from_bytes(frame[:size], "big")
    left = size * 8
    response = p4runtime_pb2.StreamMessageResponse()
    response.packet.payload = frame[size:]
    for parameter in fields:
        left -= parameter.bits
        value = header >> left & (1 << parameter.bits) - 1
        response.packet.metadata.add(metadata_id=parameter.id, value=bytestrings.encode_unsigned(value))
    return bytes(response.SerializeToString())


def _header_bytes(fields: Sequence[ParameterInfo]) -> int:
    return (sum(parameter.bits for parameter in fields) + 7) // 8


# Digests on their way to the controller: buffered, without duplicates, acknowledged (P4Runtime §9.8).

Fields = tuple[bytes, ...]
_DEFAULT_LIST_SIZE = 1024  # the list size where the controller sets no limit
_MAX_UNACKNOWLEDGED = 1 << 16  # digests that wait for an acknowledgement; the oldest beyond are forgotten


@dataclass
class _Waiting:
    """A digest's buffer, and its cache of digests that were sent and not acknowledged."""

    buffer: dict[Fields, None] = field(default_factory=dict)
    first_at: int = 0
    sent: dict[Fields, tuple[int, int]] = field(default_factory=dict)
    """Digest → (list id, time of sending)."""


class DigestLists:
    """The lists of one device's digests, which ``send`` gets as DigestList bytes. Times are in ns."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send
        self._waiting: dict[int, _Waiting] = {}
        self._list_id = 0
        self._changed = threading.Condition()
        self._forwarding: Forwarding | None = None
        self._clock: threading.Thread | None = None
        self._closed = False

    def run_under(self, forwarding: Forwarding) -> None:
        """Begin with empty lists under a new pipeline."""
        with self._changed:
            self._forwarding = forwarding
            self._waiting.clear()

    def add_digest(self, digest_id: int, fields: Sequence[bytes]) -> None:
        """Add one digest from the data plane."""
        with self._changed:
            forwarding = self._forwarding
            config = forwarding.digests.get(digest_id) if forwarding else None
            if config is None or self._closed:
                return
            waiting = self._waiting.setdefault(digest_id, _Waiting())
            now = time.monotonic_ns()
            digest = tuple(fields)
            if digest in waiting.buffer or _is_unacknowledged(waiting, digest, config, now):
                return
            if not waiting.buffer:
                waiting.first_at = now
            waiting.buffer[digest] = None
            full = len(waiting.buffer) >= (config.max_list_size or _DEFAULT_LIST_SIZE)
            if full or config.max_timeout_ns == 0:
                self._send_list(digest_id, waiting, config, now)
            else:
                self._start_clock()
                self._changed.notify()

    def acknowledge_list(self, digest_id: int, list_id: int) -> None:
        with self._changed:
            waiting = self._waiting.get(digest_id)
            if waiting:
                waiting.sent = {digest: sent for digest, sent in waiting.sent.items() if sent[0] != list_id}

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._clock:
            self._clock.join()

    def _send_list(self, digest_id: int, waiting: _Waiting, config: DigestConfig, now: int) -> None:
        assert self._forwarding
        program = self._forwarding.program
        spec = program.digests[digest_id].type_spec
        self._list_id += 1
        stamped = {"digest_id": digest_id, "list_id": self._list_id, "timestamp": time.time_ns()}
        response = p4runtime_pb2.StreamMessageResponse(digest=stamped)
        for digest in waiting.buffer:
            response.digest.data.append(p4data.encode_fields(program.p4info.type_info, spec, digest))
            if config.ack_timeout_ns:
                waiting.sent[digest] = (self._list_id, now)
        waiting.buffer.clear()
        while len(waiting.sent) > _MAX_UNACKNOWLEDGED:
            del waiting.sent[next(iter(waiting.sent))]
        self._send(response.SerializeToString())

    def _start_clock(self) -> None:
        if self._clock is None:
            self._clock = threading.Thread(target=self._run_clock, name="digests", daemon=True)
            self._clock.start()

    def _run_clock(self) -> None:
        with self._changed:
            while not self._closed:
                now = time.monotonic_ns()
                deadlines = []
                for digest_id, waiting in self._waiting.items():
                    config = self._forwarding.digests.get(digest_id) if self._forwarding else None
                    if config is None or not waiting.buffer:
                        waiting.buffer.clear()
                    elif waiting.first_at + config.max_timeout_ns <= now:
                        self._send_list(digest_id, waiting, config, now)
                    else:
                        deadlines.append(waiting.first_at + config.max_timeout_ns)
                self._changed.wait((min(deadlines) - now) / 1e9 if deadlines else None)


def _is_unacknowledged(waiting: _Waiting, digest: Fields, config: DigestConfig, now: int) -> bool:
    sent = waiting.sent.get(digest)
    if sent is None:
        return False
    if now - sent[1] < config.ack_timeout_ns:
        return True
    del waiting.sent[digest]
    return False


# Notifications of idle entries, and the timer that triggers them (P4Runtime §9.1.8).

_ENTRIES_PER_MESSAGE = 1000  # entries in one notification, well below the 4 MB that gRPC clients take


def encode_notifications(expired: Sequence[tuple[TableState, StoredEntry]]) -> Iterator[bytes]:
    """Yield StreamMessageResponses that name the entries."""
    for start in range(0, len(expired), _ENTRIES_PER_MESSAGE):
        response = p4runtime_pb2.StreamMessageResponse()
        response.idle_timeout_notification.timestamp = time.time_ns()
        for state, entry in expired[start : start + _ENTRIES_PER_MESSAGE]:
            named = response.idle_timeout_notification.table_entry.add()
            encode.put_key(named, state.table, entry)
            encode.put_remarks(named, entry)
        yield response.SerializeToString()


class Alarm:
    """An alarm that calls ``ring`` in its own thread, once, at the earliest time that was set."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._changed = threading.Condition()
        self._at: int | None = None
        self._closed = False
        self._thread: threading.Thread | None = None

    def set_time(self, at: int | None) -> None:
        """Set the alarm to a monotonic time in ns; None, and a time later than that set, change nothing."""
        with self._changed:
            if at is None or self._closed or (self._at is not None and self._at <= at):
                return
            self._at = at
            if self._thread is None:
                self._thread = threading.Thread(target=self._run_alarm, name="idle timeouts", daemon=True)
                self._thread.start()
            self._changed.notify()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread:
            self._thread.join()

    def _run_alarm(self) -> None:
        while self._wait_for_time():
            self._ring()

    def _wait_for_time(self) -> bool:
        """Wait for the time and return True, or False when the alarm is closed."""
        with self._changed:
            while not self._closed:
                now = time.monotonic_ns()
                if self._at is not None and self._at <= now:
                    self._at = None
                    return True
                self._changed.wait(None if self._at is None else (self._at - now) / 1e9)
            return False
