"""Cycles that are evaluated by the code compiled for steady ones, next to the same cycles without it."""

from itertools import islice

import pytest

from olafctl.queue.registers import IndexSettings, rate_word
from olafctl.wire.geometry import Geometry
from olafctl.wire.layouts import Kind
from olafctl.wire.modes import Mode
from olaflab.queue.model import Departure, QueueModel, Sidecar
from olaflab.queue.traffic import Frame, update
from tests.queue.conftest import NewQueue

FRAMES = 120


def frames() -> list[Frame]:
    """Updates of many sizes of three clusters and three workers, and other frames among them."""
    made = []
    for number in range(FRAMES):
        gradients = bytes(range(256)) * 6
        made.append(update(number % 3, number % 7 % 3, gradients[: 4 * (number * 37 % 350)], seq=number))
        if number % 8 == 5:
            made.append((Sidecar(100, kind=Kind.BYPASS), bytes(100)))
    return made


def passed(model: QueueModel, mode: Mode, rate: int | None, irregular: bool) -> list[Departure]:
    model.registers.configure(0, 15, IndexSettings(mode))
    model.registers.write("rate", rate_word(rate))
    if irregular:
        model.disturb(7, idle=0.05, stop=0.05)
    left: list[Departure] = []
    supply = iter(frames())
    while some := list(islice(supply, 10)):
        for sidecar, frame in some:
            model.offer(sidecar, frame, model.cycle)
        model.settle(20_000)
        left += model.take()
    return left


@pytest.mark.parametrize("irregular", [False, True])
@pytest.mark.parametrize("rate", [None, 20_000_000_000])
@pytest.mark.parametrize("mode", [Mode.FIFO, Mode.OLAF])
def test_a_steady_cycle_is_as_any_other(
    new_queue: NewQueue, mode: Mode, rate: int | None, irregular: bool
) -> None:
    quick, plain = new_queue(Geometry()), new_queue(Geometry())
    plain.steady(False)
    assert passed(quick, mode, rate, irregular) == passed(plain, mode, rate, irregular)
    assert quick.cycle == plain.cycle
    assert quick.registers.read_all() == plain.registers.read_all()
    assert plain.steady() == 0
    assert (quick.steady() > 0) == (rate is None)


@pytest.mark.parametrize("mode", [Mode.FIFO, Mode.OLAF])
def test_most_cycles_of_updates_that_leave_at_once_are_steady(queue: QueueModel, mode: Mode) -> None:
    queue.registers.configure(0, 15, IndexSettings(mode))
    assert queue.registers.settings_of(15).mode is mode
    before = queue.cycle
    for number in range(40):
        queue.offer(*update(0, number % 3, bytes(1300), seq=number))
    queue.settle(20_000)
    assert queue.steady() > 0.9 * (queue.cycle - before)
