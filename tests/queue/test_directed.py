"""Each command in each mode and state of an index, and the versions it learns, by the golden model."""

from dataclasses import replace
from itertools import product

import pytest

from olafctl.queue.registers import Command, IndexSettings
from olafctl.queue.verilate import build_queue
from olafctl.wire.geometry import Geometry
from olafctl.wire.layouts import FrameKind, FrameType
from olafctl.wire.modes import Mode
from olaftest.queue.comparison import QueueComparison
from olaftest.queue.model import QueueModel
from olaftest.queue.traffic import Frame, make_update

from .test_rules import gradients

GEOMETRY = Geometry()
THRESHOLD = 3
"""The state of the index before the command."""


def _contribution(index: int, member: int, sequence: int) -> Frame:
    return make_update(index, member + 1, gradients(1, member), seq=sequence, member=member, epoch=sequence)


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("command", Command)
def test_a_command_does_in_each_state_what_the_golden_model_does(command: Command, mode: Mode) -> None:
    """A state is the number of earlier contributions; a SET's settings are the only ones for them."""
    settings = [
        IndexSettings(after, halted, threshold)
        for after, halted, threshold in product(Mode, (False, True), (1, 2, 3, 4))
        if command is Command.SET or (after is mode and threshold == THRESHOLD)
    ]
    with QueueModel(build_queue(GEOMETRY)) as model:
        comparison = QueueComparison(model, GEOMETRY)
        for number, (given, came) in enumerate(product(settings, range(THRESHOLD + 1))):
            index = number % GEOMETRY.indices
            before = IndexSettings(mode, threshold=THRESHOLD)
            comparison.command(Command.RESET, index, index, before)
            comparison.command(Command.SET, index, index, before)
            comparison.settle()
            for member in range(came):
                comparison.offer(*_contribution(index, member, 1))
            comparison.settle()
            comparison.command(command, index, index, given)
            comparison.settle()
            comparison.command(Command.GET, index, index, given)
            comparison.offer(*_contribution(index, 3, 1))
            comparison.settle()
        comparison.check_counters()
        comparison.check_rest()


@pytest.mark.parametrize("kind", [FrameKind.ACK, FrameKind.RESULT, FrameKind.BYPASS])
def test_an_ack_alone_teaches_a_version(kind: FrameKind) -> None:
    """The other kinds have the same bytes, for an index that exists."""
    settings = IndexSettings(Mode.OLAF, stale_enable=1, stale_bound=2)
    types = {
        FrameKind.ACK: FrameType.ACK,
        FrameKind.RESULT: FrameType.RESULT,
        FrameKind.BYPASS: FrameType.UPDATE,
    }
    with QueueModel(build_queue(GEOMETRY)) as model:
        comparison = QueueComparison(model, GEOMETRY)
        comparison.command(Command.SET, 3, 3, settings)
        sidecar, frame = make_update(3, 0, gradients(1), kind=types[kind], weights_version=90)
        comparison.offer(replace(sidecar, kind=kind), frame)
        comparison.settle()
        comparison.command(Command.GET, 3, 3, settings)
        comparison.offer(*make_update(3, 1, gradients(1), weights_version=1))
        comparison.settle()
        assert comparison.golden.counters["dropped_stale"] == (kind is FrameKind.ACK)
        comparison.check_counters()
