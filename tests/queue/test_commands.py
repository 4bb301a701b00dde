"""Commands: one atomic step for each index, refused with a stated reason when they make no sense."""

import pytest

from olafctl.queue.registers import BY_NAME, Command, IndexSettings
from olafctl.wire.geometry import Geometry
from olafctl.wire.modes import Mode
from olafswitch.errors import BadInput
from olaftest.queue.conform import GEOMETRIES
from olaftest.queue.model import QueueModel
from olaftest.queue.traffic import make_update

from .conftest import NewQueue
from .test_rules import LIMIT, gradients


def give(queue: QueueModel, code: int, first: int, last: int, **staged: int) -> int:
    """Write a command, and return whether it was refused."""
    for name, value in {"range_first": first, "range_last": last, **staged}.items():
        queue.registers.write(name, value)
    queue.registers.write("command", code)
    queue.run(queue.cycle + 2000)
    assert queue.registers.read("command_busy") == 0
    return queue.registers.read("command_error")


def test_a_reset_leaves_no_trace(new_queue: NewQueue) -> None:
    queue = new_queue(Geometry())
    queue.registers.configure(0, 15, IndexSettings(Mode.ISWITCH, threshold=5))
    for index in range(12):
        queue.offer(*make_update(index, 1, gradients(1)))
    queue.run(queue.cycle + 60)
    queue.reset()
    shown = queue.registers.read_all()
    assert {name for name, value in shown.items() if value and name != "cycle"} == {
        name for name, register in BY_NAME.items() if register.reset != 0 and name in shown and shown[name]
    }
    assert queue.registers.settings_of(3) == IndexSettings()
    queue.offer(*make_update(3, 1, gradients(4)))
    queue.settle(LIMIT)
    (left,) = queue.take_departures()
    assert left.frame[64:] == gradients(4)


@pytest.mark.parametrize(
    ("geometry", "step"),
    [(GEOMETRIES[-1], 1), pytest.param(Geometry(indices=64), 7, marks=pytest.mark.slow)],
    ids=str,
)
def test_a_command_waits_while_the_tables_clear(new_queue: NewQueue, geometry: Geometry, step: int) -> None:
    queue = new_queue(geometry)
    indices = geometry.indices
    offset = BY_NAME["command"].offset
    for start in range(0, 80, step):
        queue.reset(clear=False)
        for name, value in {
            "range_last": indices - 1,
            "set_mode": Mode.FIFO.number,
            "set_threshold": 7,
        }.items():
            queue.registers.write(name, value)
        queue.run(start)
        assert queue.access(True, offset, Command.SET)[0] == 0
        assert queue.registers.read("command_busy") == 1
        assert queue.access(True, offset, Command.SET)[0] == 0
        assert queue.registers.read("command_error") == 1
        queue.run(queue.cycle + 30 * indices + 100)
        assert queue.registers.read("command_busy") == 0
        for index in (0, indices // 2, indices - 1):
            assert queue.registers.settings_of(index) == IndexSettings(Mode.FIFO, threshold=7)


def test_what_is_read_of_all_indices_they_have_in_common(queue: QueueModel) -> None:
    queue.registers.configure(3, 4, IndexSettings(Mode.FIFO, halted=True, threshold=7))
    for name, noted in (("mode", "differ in mode: 0 has 0, 3 has 1"), ("threshold", "0 has 1, 3 has 7")):
        with pytest.raises(BadInput, match=noted):
            queue.registers.read(name)
    assert queue.registers.read("reward_enable") == 0
    queue.registers.write("mode", Mode.ISWITCH.number)
    assert queue.registers.read("mode") == Mode.ISWITCH.number
    assert queue.registers.settings_of(2) == IndexSettings(Mode.ISWITCH)
    assert queue.registers.settings_of(3) == IndexSettings(Mode.ISWITCH, halted=True, threshold=7)


@pytest.mark.parametrize("bit", range(32))
def test_no_bit_of_a_command_is_left_unread(queue: QueueModel, bit: int) -> None:
    one = 1 << bit
    ranged = (Command.SET, Command.FBCAST, Command.RESET)
    if bit >= 4:
        assert all(give(queue, code, 0, one) == give(queue, code, 0, one | 15) == 1 for code in ranged)
        assert all(give(queue, code, one, one | 15) == give(queue, code, one, 15) == 1 for code in ranged)
        assert give(queue, Command.GET, one, one) == 1
    for name, usual in (("set_threshold", 1), ("set_stale_bound", 0)) if bit >= 16 else ():
        assert give(queue, Command.SET, 0, 15, **{name: one | usual}) == 1
        queue.registers.write(name, usual)
    if bit not in (0, 1, 8):
        assert give(queue, Command.SET, 0, 15, set_mode=one) == 1
        queue.registers.write("set_mode", 0)
    for code in Command:
        if one | code not in tuple(Command):
            assert give(queue, one | code, 0, 15) == 1
        assert give(queue, Command.GET, 0, 0) == 0
    assert queue.registers.settings_of(0) == IndexSettings()
