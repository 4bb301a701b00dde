"""Commands: one atomic step for each index, and refused with a stated outcome when they make no sense."""

import pytest

from olafctl.queue.registers import BY_NAME, Command, IndexSettings
from olafctl.wire.geometry import Geometry
from olafctl.wire.modes import Mode
from olaflab.queue.conform import GEOMETRIES
from olaflab.queue.model import QueueModel
from olaflab.queue.traffic import update
from olafswitch.errors import BadInput

from .conftest import NewQueue
from .test_rules import LIMIT, gradients, olaf


def give(queue: QueueModel, code: int, first: int, last: int, **staged: int) -> int:
    """Write a command; whether it was refused."""
    for name, value in {"range_first": first, "range_last": last, **staged}.items():
        queue.registers.write(name, value)
    queue.registers.write("command", code)
    queue.run(queue.cycle + 2000)
    assert queue.registers.read("command_busy") == 0
    return queue.registers.read("command_error")


@pytest.mark.parametrize("code", [Command.SET, Command.FBCAST, Command.RESET])
@pytest.mark.parametrize(("first", "last"), [(4, 3), (0, 16), (16, 16), (65535, 65535), (15, 1 << 31)])
def test_a_bad_range_changes_nothing(queue: QueueModel, code: Command, first: int, last: int) -> None:
    before = [queue.registers.settings_of(index) for index in range(16)]
    assert give(queue, code, first, last, set_mode=1) == 1
    assert [queue.registers.settings_of(index) for index in range(16)] == before


@pytest.mark.parametrize(
    "staged",
    [{"set_threshold": 0}, {"set_threshold": 65536}, {"set_threshold": (1 << 32) - 1}, {"set_mode": 4}],
)
def test_settings_that_mean_nothing_are_refused(queue: QueueModel, staged: dict[str, int]) -> None:
    assert give(queue, Command.SET, 0, 15, **staged) == 1
    assert queue.registers.settings_of(5) == IndexSettings()
    assert give(queue, Command.SET, 0, 15, set_threshold=2, set_mode=2) == 0
    assert queue.registers.settings_of(5) == IndexSettings(Mode.ISWITCH, threshold=2)


@pytest.mark.parametrize("code", [0, 5, 255, 1 << 8])
def test_an_unknown_command_is_refused(queue: QueueModel, code: int) -> None:
    assert give(queue, code, 0, 15, set_mode=1) == 1
    assert queue.registers.settings_of(0) == IndexSettings()


def test_a_set_takes_effect_on_an_accumulating_round_at_once(queue: QueueModel) -> None:
    queue.registers.configure(0, 15, IndexSettings(Mode.ISWITCH, threshold=5))
    for member in range(3):
        queue.offer(*update(7, member, gradients(1), seq=9, member=member))
    queue.settle(LIMIT)
    assert list(queue.take()) == []
    queue.registers.configure(7, 7, IndexSettings(Mode.ISWITCH, threshold=3))
    queue.settle(LIMIT)
    (left,) = queue.take()
    assert (olaf(left.frame)["count"], left.frame[64:]) == (3, gradients(3))


def test_tenants_with_different_modes_share_the_queue(queue: QueueModel) -> None:
    for index, mode in ((1, Mode.OLAF), (2, Mode.FIFO), (3, Mode.ISWITCH)):
        queue.registers.configure(index, index, IndexSettings(mode, threshold=3))
    queue.registers.write("hold", 1)
    for member in range(3):
        for index in (1, 2, 3):
            queue.offer(*update(index, member, gradients(1 + member), seq=4, member=member))
    queue.settle(LIMIT)
    queue.registers.write("hold", 0)
    queue.settle(LIMIT)
    seen = [(left.sidecar.index, left.frame[64:]) for left in queue.take()]
    assert [payload for index, payload in seen if index == 1] == [gradients(6)]
    assert [payload for index, payload in seen if index == 2] == [gradients(1), gradients(2), gradients(3)]
    assert [payload for index, payload in seen if index == 3] == [gradients(6)]


def test_a_reset_leaves_no_trace(new_queue: NewQueue) -> None:
    queue = new_queue(Geometry())
    queue.registers.configure(0, 15, IndexSettings(Mode.ISWITCH, threshold=5))
    for index in range(12):
        queue.offer(*update(index, 1, gradients(1)))
    queue.run(queue.cycle + 60)
    queue.reset()
    shown = queue.registers.read_all()
    assert {name for name, value in shown.items() if value and name != "cycle"} == {
        name for name, register in BY_NAME.items() if register.reset != 0 and name in shown and shown[name]
    }
    assert queue.registers.settings_of(3) == IndexSettings()
    queue.offer(*update(3, 1, gradients(4)))
    queue.settle(LIMIT)
    (left,) = queue.take()
    assert left.frame[64:] == gradients(4)


@pytest.mark.parametrize(("geometry", "step"), [(GEOMETRIES[-1], 1), (Geometry(indices=64), 7)], ids=str)
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
