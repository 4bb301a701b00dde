"""Single rules, each where it is easiest to see; the random traffic covers their combinations."""

import numpy as np
import pytest

from olafctl.queue.registers import BY_NAME, DISPOSITIONS, REGISTERS, Access
from olafctl.wire import layouts
from olafctl.wire.frames import unpack_header
from olafctl.wire.geometry import Geometry
from olafctl.wire.layouts import FrameKind
from olafswitch.errors import BadInput
from olaftest.queue.model import Departure, QueueModel, Sidecar
from olaftest.queue.traffic import Frame, make_update

LIMIT = 100_000


def bits(value: float) -> int:
    return int(np.float32(value).view(np.uint32))


def gradients(*values: float, count: int = 40) -> bytes:
    return np.resize(np.array(values, dtype="<f4"), count).tobytes()


def held(queue: QueueModel, *frames: Frame) -> dict[str, int]:
    """Send frames while nothing may leave, and return the registers."""
    queue.registers.write("hold", 1)
    for sidecar, frame in frames:
        queue.offer(sidecar, frame)
    queue.settle(LIMIT)
    return queue.registers.read_all()


def released(queue: QueueModel) -> list[Departure]:
    queue.registers.write("hold", 0)
    queue.settle(LIMIT)
    return list(queue.take_departures())


def olaf(frame: bytes) -> dict[str, int]:
    return unpack_header(layouts.OLAF, frame[42:64])


def conserved(shown: dict[str, int]) -> bool:
    dispositions = sum(shown[name] for name in (*DISPOSITIONS, "out_updates", "merged", "resident_updates"))
    others = shown["out_bypass"] + shown["dropped_bypass"] + shown["resident_bypass"]
    return shown["in_updates"] == dispositions and shown["in_bypass"] == others


def test_a_blocked_output_never_holds_up_the_input(queue: QueueModel) -> None:
    queue.block(True)
    for index in range(500):
        queue.offer(*make_update(index % 16, index, gradients(1, count=359)))
    queue.offer(Sidecar(1500, kind=FrameKind.BYPASS), bytes(1500))
    queue.drain(LIMIT)
    shown = queue.registers.read_all()
    assert (shown["input_stalls"], shown["out_updates"]) == (0, 0)
    assert shown["merged"] > 200 and shown["dropped_full"] > 200
    assert conserved(shown)


def test_registers_answer_as_the_map_says(queue: QueueModel) -> None:
    for register in REGISTERS:
        if register.access in (Access.FIXED, Access.SETTING) and register.reset is not None:
            assert queue.registers.read(register.name) == register.reset, register.name
        if register.access is Access.SETTING:
            queue.registers.write(register.name, 0x12345678)
            assert queue.registers.read(register.name) == 0x12345678
    assert [queue.registers.read(name) for name in ("indices", "slots", "beats", "lanes")] == [16, 8, 24, 16]
    offsets = [register.offset + 4 * word for register in REGISTERS for word in range(register.words)]
    assert len(set(offsets)) == len(offsets)


@pytest.mark.parametrize("low", [1, 2, 3])
def test_a_write_of_bytes_below_its_address_is_refused(queue: QueueModel, low: int) -> None:
    """The strobes of the bytes from the address on are a legal write, as AXI4-Lite has it."""
    offset = BY_NAME["rate"].offset
    queue.registers.write("rate", 0x11223344)
    assert queue.access(True, offset + low, 0xFFFFFFFF)[0] == 2
    assert queue.registers.read("rate") == 0x11223344
    assert queue.access(True, offset + low, 0xFFFFFFFF, 0xF & 0xF << low)[0] == 0
    assert queue.registers.read("rate") == 0x11223344 | 0xFFFFFFFF << 8 * low & 0xFFFFFFFF


@pytest.mark.parametrize(("name", "value"), [("merged", 0), ("rate", 1 << 32), ("rate", -1), ("nonsense", 1)])
def test_a_register_that_cannot_be_written_says_so(queue: QueueModel, name: str, value: int) -> None:
    with pytest.raises(BadInput):
        queue.registers.write(name, value)


@pytest.mark.parametrize("geometry", [{"indices": 0}, {"indices": 4097}, {"slots": 0}, {"beats": 1}])
def test_parameters_out_of_range_are_refused(geometry: dict[str, int]) -> None:
    with pytest.raises(BadInput):
        Geometry(**geometry)
