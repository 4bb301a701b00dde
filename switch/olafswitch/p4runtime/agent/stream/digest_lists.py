"""Digests on their way to the controller: buffered, without duplicates, acknowledged (P4Runtime §9.8)."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from olafswitch.p4runtime.agent.state import p4data
from olafswitch.p4runtime.agent.state.forwarding import DigestConfig, Forwarding
from olafswitch.p4runtime.protocol import p4runtime_pb2

Fields = tuple[bytes, ...]
_DEFAULT_LIST_SIZE = 1024  # the list size where the controller sets no limit
_MAX_UNACKNOWLEDGED = 1 << 16  # digests that wait for an acknowledgement; beyond, the oldest are forgotten


@dataclass
class _Waiting:
    """One digest's buffer and its cache of what was sent and not acknowledged."""

    buffer: dict[Fields, None] = field(default_factory=dict)
    first_at: int = 0
    sent: dict[Fields, tuple[int, int]] = field(default_factory=dict)
    """Digest → (list id, time it was sent)."""


class DigestLists:
    """Turns one device's digests into DigestList messages, given to ``send`` as bytes. Times are in ns."""

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

    def add(self, digest_id: int, fields: Sequence[bytes]) -> None:
        """One digest from the data plane."""
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
                self._flush(digest_id, waiting, config, now)
            else:
                self._start_clock()
                self._changed.notify()

    def acknowledge(self, digest_id: int, list_id: int) -> None:
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

    def _flush(self, digest_id: int, waiting: _Waiting, config: DigestConfig, now: int) -> None:
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
                        self._flush(digest_id, waiting, config, now)
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
