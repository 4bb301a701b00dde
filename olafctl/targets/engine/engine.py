"""The native engine from Python: ports, programs, the queue's register port, packet-ins, replays."""

import ctypes
import logging
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from olafctl.errors import OlafError, Problem
from olafctl.queue.registers import BY_NAME, REGISTERS, Access, QueueRegisters
from olafctl.queue.settings import of_all
from olafctl.targets.engine.compile import engine_library
from olafctl.targets.engine.tenancy import Tenancy
from olafctl.wire import layouts

_log = logging.getLogger(__name__)

_MAX_PACKET_IN = 65536
_MAX_REASON = 256
_TIMEOUT_MS = 500

PacketIn = Callable[[bytes], None]


@dataclass(frozen=True)
class PortStats:
    """Counts of a port, in frames and bytes; ``*_dropped`` in frames."""

    rx_frames: int
    rx_bytes: int
    rx_dropped: int
    tx_frames: int
    tx_bytes: int
    tx_dropped: int


@dataclass(frozen=True)
class Losses:
    """Frames that went nowhere, by reason: before a pipeline was pushed, to a port that is not there, punted
    faster than one source may or the control plane takes them (or too long for it), too short for the
    shim."""

    no_pipeline: int
    misrouted: int
    packet_ins: int
    no_shim: int


class Engine:
    """One engine. Wire it first, then add ports, then start; other threads may call it until they get
    OlafError because it is closed."""

    def __init__(self) -> None:
        self._library = load_native()
        self._handle = ctypes.c_void_p(self._library.olaf_engine_new())
        self._receivers: dict[int, PacketIn] = {}
        self._punts: threading.Thread | None = None
        self._tenancy = Tenancy("the engine")
        self._stopping = False
        self._queues = 1
        self.register_sequences = threading.Lock()
        """Held for a snapshot or a command with the reads and writes that belong to it."""

    @property
    def handle(self) -> ctypes.c_void_p:
        """Its address, for native code."""
        return self._handle

    def wire_twins(self, queue_libraries: Sequence[Path]) -> None:
        """One twin for each queue: VNP4₁ → the queue → VNP4₂. The n-th has devices 2 n and 2 n + 1. Ports
        are the first's until :meth:`own_port` says otherwise. Raises OlafError."""
        wire = self._library.olaf_engine_wire_twins
        ports = (layouts.CPU_PORT, layouts.QUEUE_PORT, layouts.MAX_FRONT_PORT)
        where = ", ".join(map(str, queue_libraries))
        self._check(wire(self._handle, *ports, *_strings(queue_libraries)), where)
        self._queues = len(queue_libraries)

    def own_port(self, number: int, twin: int) -> None:
        """Make a port the n-th twin's. Raises OlafError."""
        self._check(self._library.olaf_engine_own(self._handle, number, twin), f"port {number}")

    def link(self, port: int, peer: int, *, rate: int | None, delay: int, queue: int) -> None:
        """Join two engines' ports, which belong to no interface: ``rate`` in bit/s, ``delay`` in ns, at most
        ``queue`` frames that wait; each way."""
        self._library.olaf_engine_link(self._handle, port, peer, rate or 0, delay, queue)

    def wire_relay(self, queue_libraries: Sequence[Path]) -> None:
        """The queues alone, between switches that are processes (``wirings.h`` says by which ports).

        Raises OlafError.
        """
        wire = self._library.olaf_engine_wire_relay
        self._check(wire(self._handle, *_strings(queue_libraries)), ", ".join(map(str, queue_libraries)))

    def wire_switch(self, cpu_port: int) -> None:
        """One switch, device 0, with all the ports."""
        self._check(self._library.olaf_engine_wire_switch(self._handle, cpu_port), "the switch")

    def add_interface(self, number: int, name: str) -> None:
        """A network interface as a port. Raises OlafError."""
        add = self._library.olaf_engine_add_interface
        self._check(add(self._handle, number, name.encode()), f"port {number}")

    def add_own_interface(self, number: int, name: str, *, nic: bool = False) -> None:
        """One end of a veth pair, or a network card with all its queues, as a port, by AF_XDP: no one else
        uses it, and what comes in is on the wire (:func:`olafctl.ports.offload.disable`). Queueing
        disciplines at ``name`` have no effect.

        Where the kernel or this user's rights do not allow AF_XDP, as any interface. Raises OlafError.
        """
        reason = ctypes.create_string_buffer(_MAX_REASON)
        add = self._library.olaf_engine_add_own_interface
        self._check(add(self._handle, number, name.encode(), nic, reason, _MAX_REASON), f"port {number}")
        if reason.value:
            level = logging.WARNING if nic else logging.DEBUG
            _log.log(level, "port %d: AF_PACKET instead of AF_XDP: %s", number, reason.value.decode())

    def add_tap(self, number: int, descriptor: int) -> None:
        """An open TAP device as a port; the engine closes it. Raises OlafError."""
        self._check(self._library.olaf_engine_add_tap(self._handle, number, descriptor), f"port {number}")

    def add_socket(self, number: int, listening: socket.socket) -> None:
        """A listening SOCK_SEQPACKET socket as a port; the engine takes it over. Raises OlafError."""
        add = self._library.olaf_engine_add_seqpacket
        self._check(add(self._handle, number, listening.detach()), f"port {number}")

    def add_pcap(self, number: int, into: Path | None, out: Path | None) -> None:
        """pcap files as a port: frames to read, frames written. Raises OlafError."""
        add = self._library.olaf_engine_add_pcap
        names = [b"" if path is None else str(path).encode() for path in (into, out)]
        self._check(add(self._handle, number, *names), f"port {number}")

    def start(self) -> None:
        """Begin to move frames, and to hand packet-ins to their receivers."""
        self._library.olaf_engine_start(self._handle)
        self._punts = threading.Thread(target=self._deliver_packet_ins, name="packet-ins", daemon=True)
        self._punts.start()

    def close(self) -> None:
        """Stop and free everything; what is queued is lost, a replay is cut off."""
        if not self._tenancy.close():
            return
        self._stopping = True
        self._library.olaf_engine_stop(self._handle)
        if self._punts is not None:
            self._punts.join()
        self._library.olaf_engine_free(self._handle)

    def set_switch(self, device: int, process: int, state: int) -> None:
        """Run the program at these addresses (switch_abi.h) from now on.

        When this returns the program before it processes no packet any more.
        """
        with self._tenancy.inside():
            self._library.olaf_engine_set_switch(self._handle, device, process, state)

    def unset_switch(self, device: int) -> None:
        """Run no program from now on, as a closed engine does already."""
        with suppress(OlafError):
            self.set_switch(device, 0, 0)

    def quiesce(self) -> None:
        """Return once no packet that is in a program now is in it any more."""
        with self._tenancy.inside():
            self._library.olaf_engine_quiesce(self._handle)

    def packet_out(self, device: int, frame: bytes) -> None:
        """Run ``frame`` through ``device`` as if it came in by the CPU port."""
        with self._tenancy.inside():
            self._library.olaf_engine_packet_out(self._handle, device, frame, len(frame))

    def on_packet_in(self, device: int, receive: PacketIn) -> None:
        """Hand frames that ``device`` sends to the CPU port to ``receive``, on a thread of their own."""
        self._receivers[device] = receive

    def read_register(self, offset: int, queue: int = 0) -> int:
        """A 32-bit register of the n-th queue."""
        with self._tenancy.inside():
            return int(self._library.olaf_engine_read(self._handle, queue, offset))

    def write_register(self, offset: int, value: int, queue: int = 0) -> None:
        """Write a 32-bit register of the n-th queue."""
        with self._tenancy.inside():
            self._library.olaf_engine_write(self._handle, queue, offset, value)

    def registers(self, queue: int = 0) -> QueueRegisters:
        """The n-th queue's registers by name."""
        return QueueRegisters(
            lambda offset: self.read_register(offset, queue),
            lambda offset, value: self.write_register(offset, value, queue),
        )

    def port_stats(self, number: int) -> PortStats:
        """The counts of port ``number``. Raises OlafError when there is no such port."""
        six = (ctypes.c_uint64 * 6)()
        with self._tenancy.inside():
            if not self._library.olaf_engine_port_stats(self._handle, number, six):
                raise OlafError(Problem("there is no such port", f"port {number}"))
        return PortStats(*six)

    def losses(self) -> Losses:
        """Frames that went nowhere."""
        four = (ctypes.c_uint64 * 4)()
        with self._tenancy.inside():
            self._library.olaf_engine_losses(self._handle, four)
        return Losses(*four)

    def processor_ns(self) -> int:
        """ns of processor time that its native thread has had."""
        with self._tenancy.inside():
            return int(self._library.olaf_engine_processor_ns(self._handle))

    def replay(self, peer: socket.socket) -> None:
        """Run a virtual-time session on a stream socket until its end; the twin's ports rest meanwhile.

        Raises OlafError when the peer goes away, or the engine is closed.
        """
        with self.register_sequences:
            writes = [self.settings_as_writes(queue) for queue in range(self._queues)]
        flat = [word for of_queue in writes for word in of_queue]
        array = (ctypes.c_uint32 * len(flat))(*flat)
        counts = (ctypes.c_size_t * len(writes))(*(len(of_queue) // 2 for of_queue in writes))
        run = self._library.olaf_engine_replay
        busy = BY_NAME["command_busy"].offset

        def cut_off() -> None:
            with suppress(OSError):
                peer.shutdown(socket.SHUT_RDWR)

        with self._tenancy.inside(cut_off):
            self._check(run(self._handle, peer.fileno(), array, counts, len(writes), busy), "replay")

    def settings_as_writes(self, queue: int) -> list[int]:
        """(offset, value) of each register write that gives a new queue the n-th one's settings."""
        writes: list[int] = []
        recorder = QueueRegisters(lambda offset: 0, lambda offset, value: writes.extend((offset, value)))
        for part in of_all(self.registers(queue)):
            recorder.configure(part.first, part.last, part.settings)
        for register in REGISTERS:
            if register.access is Access.SETTING:
                recorder.write(register.name, self.read_register(register.offset, queue))
        return writes

    def _deliver_packet_ins(self) -> None:
        device = ctypes.c_uint()
        buffer = ctypes.create_string_buffer(_MAX_PACKET_IN)
        take = self._library.olaf_engine_take_packet_in
        while not self._stopping:
            length = take(self._handle, _TIMEOUT_MS, ctypes.byref(device), buffer)
            receive = self._receivers.get(device.value)
            if length and receive is not None:
                receive(buffer.raw[:length])

    @staticmethod
    def _check(message: bytes | None, where: str) -> None:
        if message is not None:
            raise OlafError(Problem(message.decode(errors="replace"), where))


_POINTER, _TEXT, _SIZE, _INT = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int
_NUMBER, _WORD, _WORD_32 = ctypes.c_uint, ctypes.c_uint64, ctypes.c_uint32
_POINTERS, _TEXTS, _SIZES = map(ctypes.POINTER, (_POINTER, _TEXT, _SIZE))
_NUMBERS, _WORDS, _WORDS_32 = map(ctypes.POINTER, (_NUMBER, _WORD, _WORD_32))
_SIGNATURES: Sequence[tuple[str, Any, tuple[Any, ...]]] = (
    ("engine_new", _POINTER, ()),
    ("engine_free", None, (_POINTER,)),
    ("engine_wire_twins", _TEXT, (_POINTER, _NUMBER, _NUMBER, _NUMBER, _TEXTS, _SIZE)),
    ("engine_own", _TEXT, (_POINTER, _NUMBER, _NUMBER)),
    ("engine_link", None, (_POINTER, _NUMBER, _NUMBER, _WORD, _WORD, _WORD)),
    ("engine_wire_relay", _TEXT, (_POINTER, _TEXTS, _SIZE)),
    ("engine_wire_switch", _TEXT, (_POINTER, _NUMBER)),
    ("engine_add_interface", _TEXT, (_POINTER, _NUMBER, _TEXT)),
    ("engine_add_own_interface", _TEXT, (_POINTER, _NUMBER, _TEXT, _INT, _TEXT, _SIZE)),
    ("engine_add_tap", _TEXT, (_POINTER, _NUMBER, _INT)),
    ("engine_add_seqpacket", _TEXT, (_POINTER, _NUMBER, _INT)),
    ("engine_add_pcap", _TEXT, (_POINTER, _NUMBER, _TEXT, _TEXT)),
    ("engine_start", None, (_POINTER,)),
    ("engine_stop", None, (_POINTER,)),
    ("engine_set_switch", None, (_POINTER, _NUMBER, _POINTER, _POINTER)),
    ("engine_quiesce", None, (_POINTER,)),
    ("engine_packet_out", None, (_POINTER, _NUMBER, _TEXT, _SIZE)),
    ("engine_take_packet_in", _SIZE, (_POINTER, _INT, _NUMBERS, _TEXT)),
    ("engine_read", _WORD_32, (_POINTER, _NUMBER, _WORD_32)),
    ("engine_write", None, (_POINTER, _NUMBER, _WORD_32, _WORD_32)),
    ("engine_port_stats", _INT, (_POINTER, _NUMBER, _WORDS)),
    ("engine_losses", None, (_POINTER, _WORDS)),
    ("engine_processor_ns", _WORD, (_POINTER,)),
    (
        "engine_stages",
        None,
        (*[_POINTER] * 4, _TEXT, _WORDS_32, _SIZE, *[_WORD_32] * 3, _TEXT, _SIZE, _SIZE, _WORD, _WORDS),
    ),
    ("load_open", _TEXT, (_TEXT, _POINTERS)),
    ("load_close", None, (_POINTER,)),
    ("load_measure", None, (_POINTER, _POINTER, _TEXT, _SIZE, _SIZE, _WORD, _WORD, _WORD, _INT, _WORDS)),
    ("engine_replay", _TEXT, (_POINTER, _INT, _WORDS_32, _SIZES, _SIZE, _WORD_32)),
)


def _strings(paths: Sequence[Path]) -> tuple[Any, int]:
    """An array of C strings and its length."""
    return (ctypes.c_char_p * len(paths))(*(str(path).encode() for path in paths)), len(paths)


def load_native() -> ctypes.CDLL:
    """The engine's library with its functions' types declared."""
    library = engine_library()
    loaded = ctypes.CDLL(str(library))
    for name, result, arguments in _SIGNATURES:
        function = getattr(loaded, f"olaf_{name}")
        function.restype = result
        function.argtypes = arguments
    return loaded
