"""The host's side of Corundum's interfaces: descriptor rings in memory, doorbells and completions in BAR 0.

It does what a driver must do for one transmit and one receive queue, with polling instead of interrupts.
"""

import struct
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from olafctl.targets.corundum.shell import (
    INTERFACE,
    OFFSET,
    PORT,
    PORT_CONTROL,
    RX_CONTROL,
    STRIDE,
    TX_CONTROL,
    list_interfaces,
    list_parts,
)
from olafctl.targets.corundum_sim.pcie import RootComplex
from olafctl.targets.opennic.registers import HOST_ETHER_TYPE
from olafswitch.errors import OlafError, Problem
from olafswitch.simulation.bench import Received

MTU_BYTES = 9214
"""The longest frame, as the NIC is built."""
_SLOTS = 64
"""Frames of a ring, and completions of a completion queue."""
_BUFFER = 12 << 10
_SCHEDULER, _COMPLETION_QUEUES, _TX_QUEUES, _RX_QUEUES, _ROUND_ROBIN = 0xC004, 0xC020, 0xC030, 0xC031, 0xC040
"""Types of register blocks."""
_RUN, _SCHEDULED = 0x18, 3
"""A scheduler's control register, and the value with which it serves a queue."""
_ENABLE, _SIZE, _PEER, _PRODUCED, _CONSUMED = 0x40000100, 0x80020000, 0xC0000000, 0x80800000, 0x80900000
"""Commands of a queue's control register."""
_CONTROL, _POINTERS = 0x08, 0x10
_DESCRIPTOR = struct.Struct("<4xLQ")
_COMPLETION = struct.Struct("<2xHH22xL")
_PHASE = 1 << 31


class _Queue:
    """A queue of the NIC, its entries in the host's memory."""

    def __init__(self, root: RootComplex, at: int, entry: int, peer: int) -> None:
        """Create a queue with registers at ``at``, entries of ``entry`` bytes and events to ``peer``."""
        self._root, self._at = root, at
        self.entries = root.allocate(_SLOTS * entry)
        self.command(_ENABLE, 0)
        root.write(0, at, self.entries)
        root.write(0, at + 4, 0)
        self.command(_SIZE, _SLOTS.bit_length() - 1)
        self.command(_PEER, peer)
        for pointer in (_PRODUCED, _CONSUMED):
            self.command(pointer, 0)
        self.command(_ENABLE, 1)

    def command(self, command: int, value: int) -> None:
        self._root.write(0, self._at + _CONTROL, command | value)

    def read_pointers(self) -> tuple[int, int]:
        """Return how many entries were produced and how many consumed, modulo 2^16."""
        both = self._root.read(0, self._at + _POINTERS)
        return both & 0xFFFF, both >> 16


class _Completions:
    """A completion queue: the slots of a ring that the NIC has finished, in their order."""

    def __init__(self, root: RootComplex, at: int) -> None:
        self._root, self._queue, self._taken = root, _Queue(root, at, 32, 0), 0

    def take(self) -> Iterator[tuple[int, int]]:
        """Yield slot and length of each completed entry. Raises OlafError where one is out of order."""
        before = self._taken
        while True:
            place = self._queue.entries + self._taken % _SLOTS * 32
            slot, length, phase = _COMPLETION.unpack_from(self._root.memory, place)
            if bool(phase & _PHASE) == bool(self._taken & _SLOTS):
                break
            if (slot - self._taken) % _SLOTS:
                raise OlafError(Problem(f"the NIC completes slot {slot}, not {self._taken % _SLOTS}"))
            self._taken += 1
            yield slot % _SLOTS, length
        if self._taken != before:
            self._queue.command(_CONSUMED, self._taken & 0xFFFF)


class HostInterface:
    """An interface of the host: it sends by its transmit ring and receives by its receive ring."""

    def __init__(self, root: RootComplex, base: int, blocks: Mapping[int, int]) -> None:
        """Open the interface; ``base`` is its registers' place in BAR 0, ``blocks`` its register blocks."""
        self._root = root
        read = partial(root.read, 0)
        for place in (0x28, 0x2C):
            root.write(0, blocks[INTERFACE] + place, MTU_BYTES)
        queues = blocks[_COMPLETION_QUEUES]
        first, stride = base + read(queues + OFFSET), read(queues + STRIDE)
        self._sent, self._received = _Completions(root, first), _Completions(root, first + stride)
        self._tx = _Queue(root, base + read(blocks[_TX_QUEUES] + OFFSET), 16, 0)
        self._rx = _Queue(root, base + read(blocks[_RX_QUEUES] + OFFSET), 16, 1)
        self._tx_buffers, self._rx_buffers = (root.allocate(_SLOTS * _BUFFER) for _ in range(2))
        self._waiting: deque[bytes] = deque()
        self.produced, self.completed, self._posted = 0, 0, 0
        """Frames given to the NIC, and that it is done with."""
        self._came: tuple[list[Received], list[Received]] = [], []
        self.control = _Control(self)
        self._post(_SLOTS)
        port = list_parts(read, base, blocks[PORT])[PORT_CONTROL]
        for place in (TX_CONTROL, RX_CONTROL):
            root.write(0, port + place, 1)
        scheduler = list_parts(read, base, blocks[_SCHEDULER])[_ROUND_ROBIN]
        root.write(0, scheduler + _RUN, 1)
        root.write(0, base + read(scheduler + OFFSET), _SCHEDULED)

    @property
    def pending(self) -> int:
        """Frames that the NIC has not done with."""
        return len(self._waiting) + self.produced - self.completed

    @property
    def beats(self) -> int:
        """Frames that have passed."""
        return self.completed + self._posted

    def send(self, frame: bytes, user: Sequence[int] = ()) -> None:
        """Queue a frame, unless it is longer than the NIC takes: a host's kernel would not hand it over."""
        if len(frame) <= MTU_BYTES:
            self._waiting.append(frame)

    def frames(self, control: bool = False) -> Sequence[Received]:
        """Return the frames since the last call: those of the box's ``control`` traffic, or the others."""
        came = self._came[control]
        taken = list(came)
        came.clear()
        return taken

    def read_ring(self) -> tuple[int, int]:
        """Return what the NIC's transmit queue has: frames produced and consumed, modulo 2^16."""
        return self._tx.read_pointers()

    def serve(self, cycle: int) -> None:
        """Take completions, hand out what came, and give the NIC what waits."""
        for _ in self._sent.take():
            self.completed += 1
        for slot, length in self._received.take():
            at = self._rx_buffers + slot * _BUFFER
            data = bytes(self._root.memory[at : at + length])
            control = int.from_bytes(data[12:14], "big") == HOST_ETHER_TYPE
            self._came[control].append(Received(data, (), cycle, cycle))
            self._post(1)
        before = self.produced
        while self._waiting and self.produced - self.completed < _SLOTS:
            frame, slot = self._waiting.popleft(), self.produced % _SLOTS
            at = self._tx_buffers + slot * _BUFFER
            self._root.memory[at : at + len(frame)] = frame
            _DESCRIPTOR.pack_into(self._root.memory, self._tx.entries + 16 * slot, len(frame), at)
            self.produced += 1
        if self.produced != before:
            self._tx.command(_PRODUCED, self.produced & 0xFFFF)

    def _post(self, buffers: int) -> None:
        """Give the NIC the next buffers to receive into."""
        for _ in range(buffers):
            slot = self._posted % _SLOTS
            at = self._rx_buffers + slot * _BUFFER
            _DESCRIPTOR.pack_into(self._root.memory, self._rx.entries + 16 * slot, _BUFFER, at)
            self._posted += 1
        self._rx.command(_PRODUCED, self._posted & 0xFFFF)


class _Control:
    """The box's control traffic over an interface."""

    def __init__(self, interface: HostInterface) -> None:
        self._interface, self.send = interface, interface.send
        self.pending, self.beats = 0, 0

    def frames(self) -> Sequence[Received]:
        """Return the packet-ins since the last call."""
        return self._interface.frames(control=True)


def open_interfaces(root: RootComplex) -> list[HostInterface]:
    """Set up every interface that the NIC has, as the driver does when its netdevs are set up."""
    return [HostInterface(root, base, blocks) for base, blocks in list_interfaces(partial(root.read, 0))]
