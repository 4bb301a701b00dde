"""Packets and digests of a running switch, as Python sees them."""

import ctypes as c
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from olafswitch.errors import BadInput, OlafError
from olafswitch.p4.switch.library import DIGEST, EMIT, USER_EXTERN
from olafswitch.p4.switch.pipeline import Pipeline

CPU_PORT = 510


@dataclass(frozen=True)
class Replayed:
    """The numbers of processed and sent frames, and the duration in s."""

    frames: int
    sent: int
    seconds: float


class PacketSide:
    """The packets of a switch; :class:`olafswitch.p4.switch.native.NativeSwitch` adds its tables."""

    def __init__(self, cpu_port: int = CPU_PORT) -> None:
        self.cpu_port = cpu_port
        self._pipeline: Pipeline | None = None
        self._switch = 0
        self._inject: Callable[[int, bytes], None] | None = None
        self._send: Callable[[int, bytes], None] | None = None
        self._packet_in: Callable[[bytes], None] | None = None
        self._digest: Callable[[int, Sequence[bytes]], None] | None = None
        self._user_externs: dict[str, Callable[[int], int]] = {}
        self._failure: Exception | None = None
        self._sent: list[tuple[int, bytes]] = []
        self._user_extern_entry = USER_EXTERN(self._on_user_extern)
        self._emit_entry = EMIT(self._on_emit)
        self._digest_entry = DIGEST(self._on_digest)

    @property
    def library(self) -> c.CDLL:
        """The running pipeline's library; raises OlafError when none runs."""
        if self._pipeline is None:
            raise OlafError("no pipeline runs on this device")
        return self._pipeline.library

    def _require(self, architecture: str, instead: str) -> Pipeline:
        """Return the running pipeline; raises OlafError when it is of another architecture."""
        if self._pipeline is None:
            raise OlafError("no pipeline runs on this device")
        runs = self._pipeline.program.architecture
        if runs != architecture:
            raise OlafError(f"the program is for {runs}, so {instead} processes its packets")
        return self._pipeline

    def process(self, port: int, frame: bytes, now_ns: int | None = None) -> list[tuple[int, bytes]]:
        """Run one packet in this thread and return every (port, frame) that leaves, in order.

        Only while no other thread processes packets of this switch.
        """
        self._require("v1model", "process_with_metadata()")
        self._sent = []
        now = time.monotonic_ns() if now_ns is None else now_ns
        self.library.p4_switch_process(self._switch, port, frame, len(frame), now, self._emit_entry, None)
        return self._sent

    def process_with_metadata(
        self, frame: bytes, metadata: Mapping[str, int], timestamp: int = 0
    ) -> tuple[bytes | None, dict[str, int]]:
        """Run one packet of a program for XSA; return the frame that leaves (None: dropped) and its metadata.

        ``metadata`` holds fields by name (in a nested struct, ``outer.inner``); a missing field is 0.
        ``timestamp`` counts clock cycles. Raises BadInput for a field that does not exist or a value that
        does not fit, or where a user extern has no function, and what a user extern's function raises.
        """
        pipeline = self._require("xsa", "process()")
        missing = [e.name for e in pipeline.user_externs() if self._function(e.name) is None]
        if missing:
            raise BadInput(f"user extern {missing[0]} has no function; give it one with on_user_extern()")
        form = pipeline.user_metadata()
        row = c.create_string_buffer(form.pack(metadata), max(1, form.size))
        self._sent, self._failure = [], None
        self.library.p4_switch_process_with_metadata(
            self._switch, frame, len(frame), timestamp, row, self._emit_entry, None
        )
        if self._failure is not None:
            raise self._failure
        return (self._sent[0][1] if self._sent else None), form.unpack(row.raw[: form.size])

    def on_user_extern(self, name: str, function: Callable[[int], int]) -> None:
        """Let ``function`` compute the result of the user extern ``name``: numbers, their first field on top.

        ``name`` is its control plane name, or the end of that after a dot.
        """
        self._user_externs[name] = function

    def _function(self, name: str) -> Callable[[int], int] | None:
        short = name.rpartition(".")[2]
        return self._user_externs.get(name) or self._user_externs.get(short)

    def _on_user_extern(
        self, _: int | None, number: int, given: "c._Pointer[c.c_uint8]", out: "c._Pointer[c.c_uint8]"
    ) -> None:
        assert self._pipeline is not None
        extern = self._pipeline.user_externs()[number]
        function = self._function(extern.name)
        if function is None or self._failure is not None:
            return
        try:
            result = function(int.from_bytes(c.string_at(given, extern.input_bytes), "big"))
            c.memmove(out, extern.encode(result), extern.output_bytes)
        except Exception as error:
            # ctypes would print it and go on; the caller of process_with_metadata raises it instead
            self._failure = error

    def replay(self, port: int, frames: Sequence[bytes], rounds: int) -> Replayed:
        """Run ``frames`` ``rounds`` times in this thread, without returning to Python."""
        self._require("v1model", "process_with_metadata()")
        library = self.library
        process = c.cast(library.p4_switch_process, c.c_void_p)
        lengths = (c.c_uint32 * len(frames))(*map(len, frames))
        sent = c.c_uint64()
        took = library.p4_replay(
            self._switch, process, port, b"".join(frames), lengths, len(frames), rounds, c.byref(sent)
        )
        return Replayed(len(frames) * rounds, sent.value, took / 1e9)

    def _on_emit(self, _: int | None, port: int, frame: "c._Pointer[c.c_uint8]", length: int) -> None:
        self._sent.append((port, c.string_at(frame, length)))

    def inject_with(self, inject: Callable[[int, bytes], None]) -> None:
        """Give packet-outs to ``inject(port, frame)``, when packets are processed elsewhere."""
        self._inject = inject

    def send_with(self, send: Callable[[int, bytes], None]) -> None:
        """Give frames that a packet-out sends to ``send(port, frame)``, when packets are processed here."""
        self._send = send

    def packet_out(self, frame: bytes) -> None:
        """Inject a frame at the CPU port."""
        if self._inject is not None:
            self._inject(self.cpu_port, frame)
            return
        for port, sent in self.process(self.cpu_port, frame):
            self.deliver(port, sent)

    def deliver(self, port: int, frame: bytes) -> None:
        """Pass on a frame that left: from the CPU port to the control plane, else to ``send_with``."""
        if port == self.cpu_port:
            self.packet_in(frame)
        elif self._send is not None:
            self._send(port, frame)

    def packet_in(self, frame: bytes) -> None:
        """Pass a frame that left by the CPU port to the receiver of packet-ins."""
        if self._packet_in is not None:
            self._packet_in(frame)

    def on_packet_in(self, receive: Callable[[bytes], None]) -> None:
        """Call ``receive`` with each frame that leaves by the CPU port."""
        self._packet_in = receive

    def on_digest(self, receive: Callable[[int, Sequence[bytes]], None]) -> None:
        """Call ``receive(digest_id, fields)`` for each digest; fields in order, structs flattened."""
        self._digest = receive

    def _on_digest(self, _: int | None, place: int, data: "c._Pointer[c.c_uint64]", count: int) -> None:
        if self._digest is None or self._pipeline is None:
            return
        known = self._pipeline.digests()[place]
        fields, at = [], 0
        for size in known["words"]:
            value = sum(data[at + i] << (64 * i) for i in range(size))
            fields.append(value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big"))
            at += size
        self._digest(known["id"], fields)
