"""The native engine from Python: ports, programs, packet-ins."""

import ctypes
import logging
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from olafswitch.engine.compile import engine_library
from olafswitch.engine.tenancy import Tenancy
from olafswitch.errors import OlafError, Problem
from olafswitch.native_library import load_library

_log = logging.getLogger(__name__)

_INTERFACE = Path(__file__).parent / "native" / "abi.cpp"
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
    """Frames that were lost, by reason: before a pipeline was pushed, to a port that does not exist, and
    punted faster than one source may or than the control plane takes them."""

    no_pipeline: int
    misrouted: int
    packet_ins: int


class Engine:
    """An engine that moves frames. Wire it first, then add ports, then start it; ports may come and go while
    it runs. Other threads may call it; after ``close`` they get OlafError."""

    def __init__(self, lanes: int = 1) -> None:
        """Create an engine of ``lanes`` threads, each with a wiring of its own."""
        self._library = load_library(engine_library(), [_INTERFACE])
        self._handle = ctypes.c_void_p(self._library.olaf_engine_new(lanes))
        self.lanes = lanes
        self._receivers: dict[int, PacketIn] = {}
        self._punts: threading.Thread | None = None
        self._tenancy = Tenancy("the engine")
        self._stopping = False

    @property
    def handle(self) -> ctypes.c_void_p:
        """The engine's address, for native code."""
        return self._handle

    def wire_switch(self, cpu_port: int) -> None:
        """Wire one switch, device 0, to all ports."""
        self.check(self._library.olaf_engine_wire_switch(self._handle, cpu_port), "the switch")

    def add_interface(self, number: int, name: str) -> None:
        """Add a network interface as a port. Raises OlafError."""
        self._add("interface", number, name.encode())

    def add_own_interface(self, number: int, name: str, *, nic: bool = False) -> None:
        """Add one end of a veth pair, or a network card with all its queues, as a port, by AF_XDP.

        Nothing else uses the interface, and its offloads are off: its frames are those on the wire. Queueing
        disciplines at ``name`` have no effect. Where the kernel or the user's rights do not allow AF_XDP, the
        port is as any interface. Raises OlafError.
        """
        reason = ctypes.create_string_buffer(_MAX_REASON)
        self._add("own_interface", number, name.encode(), nic, reason, _MAX_REASON)
        if reason.value:
            level = logging.WARNING if nic else logging.DEBUG
            _log.log(level, "port %d: AF_PACKET instead of AF_XDP: %s", number, reason.value.decode())

    def add_tap(self, number: int, descriptor: int) -> None:
        """Add an open TAP device as a port; the engine closes it. Raises OlafError."""
        self._add("tap", number, descriptor)

    def add_socket(self, number: int, listening: socket.socket) -> None:
        """Add a listening SOCK_SEQPACKET socket as a port; the engine takes it over. Raises OlafError."""
        self._add("seqpacket", number, listening.detach())

    def add_pcap(self, number: int, into: Path | None, out: Path | None) -> None:
        """Add pcap files as a port: ``into`` is read, ``out`` is written. Raises OlafError."""
        self._add("pcap", number, *(b"" if path is None else str(path).encode() for path in (into, out)))

    def _add(self, kind: str, number: int, *given: Any) -> None:
        with self._tenancy.inside():
            add = getattr(self._library, f"olaf_engine_add_{kind}")
            self.check(add(self._handle, number, *given), f"port {number}")

    def remove_port(self, number: int) -> None:
        """Close a port, if it exists, while frames pass at the others."""
        with self._tenancy.inside():
            self._library.olaf_engine_remove_port(self._handle, number)

    def start(self) -> None:
        """Begin to move frames, and to hand packet-ins to their receivers."""
        self._library.olaf_engine_start(self._handle)
        self._punts = threading.Thread(target=self._deliver_packet_ins, name="packet-ins", daemon=True)
        self._punts.start()

    def close(self) -> None:
        """Stop and free everything; queued frames are lost, and a replay is cut off."""
        if not self._tenancy.close():
            return
        self._stopping = True
        self._library.olaf_engine_stop(self._handle)
        if self._punts is not None:
            self._punts.join()
        self._library.olaf_engine_free(self._handle)

    def set_switch(self, device: int, process: int, lanes: Sequence[int]) -> None:
        """Run the program at these addresses (switch_abi.h) from now on, with one state for each thread.

        When this returns, the program before it processes no packet any more.
        """
        with self._tenancy.inside():
            states = (ctypes.c_void_p * self.lanes)(*lanes)
            self._library.olaf_engine_set_switch(self._handle, device, process, states)

    def unset_switch(self, device: int) -> None:
        """Run no program from now on; a closed engine runs none already."""
        with suppress(OlafError):
            self.set_switch(device, 0, ())

    def quiesce(self) -> None:
        """Wait until each packet that is in a program now has left it."""
        with self._tenancy.inside():
            self._library.olaf_engine_quiesce(self._handle)

    def packet_out(self, device: int, frame: bytes) -> None:
        """Run ``frame`` through ``device`` as if it came from the CPU port."""
        with self._tenancy.inside():
            self._library.olaf_engine_packet_out(self._handle, device, frame, len(frame))

    def on_packet_in(self, device: int, receive: PacketIn) -> None:
        """Hand frames that ``device`` sends to the CPU port to ``receive``, on a thread of their own."""
        self._receivers[device] = receive

    def port_stats(self, number: int) -> PortStats:
        """Return the counts of port ``number``. Raises OlafError when it does not exist."""
        six = (ctypes.c_uint64 * 6)()
        with self._tenancy.inside():
            if not self._library.olaf_engine_port_stats(self._handle, number, six):
                raise OlafError(Problem("does not exist", f"port {number}"))
        return PortStats(*six)

    def losses(self) -> Losses:
        """Return the numbers of frames that were lost."""
        three = (ctypes.c_uint64 * 3)()
        with self._tenancy.inside():
            self._library.olaf_engine_losses(self._handle, three)
        return Losses(*three)

    def processor_ns(self, lane: int | None = None) -> int:
        """Return the processor time of the engine's native threads, or of one ``lane``, in ns."""
        with self._tenancy.inside():
            lanes = range(self.lanes) if lane is None else (lane,)
            return sum(int(self._library.olaf_engine_processor_ns(self._handle, each)) for each in lanes)

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
    def check(message: bytes | None, where: str) -> None:
        """Raise OlafError about ``where`` when a native function returned a message."""
        if message is not None:
            raise OlafError(Problem(message.decode(errors="replace"), where))
