"""Directed traffic: the edges of a member's window, and of what an index learns about versions.

Random traffic meets them too seldom to find a defect in a few seeds.
"""

import random

from olafctl.queue.registers import Command, IndexSettings
from olafctl.wire.geometry import Geometry
from olafctl.wire.layouts import FrameKind, FrameType
from olafctl.wire.modes import Mode
from olaftest.queue.comparison import QueueComparison
from olaftest.queue.model import Sidecar
from olaftest.queue.traffic import Frame, make_update

_WINDOW = 16
"""Contributions before a member's highest number of which an index remembers whether it took them."""
_IN_A_ROW = 16
"""Older ACKs that are believed, and updates dropped as stale after which the version is forgotten."""
_JUMPS = (1, 2, _WINDOW - 1, 2 * _WINDOW - 1, 2 * _WINDOW, 2 * _WINDOW + 1, 1 << 16)
_STARTS = (0, (1 << 31) - 9, (1 << 32) - 9)
_COMMANDED = 8
_CYCLES_OF_COMMANDS = 240


def window_edges(comparison: QueueComparison, geometry: Geometry, pick: random.Random) -> None:
    """Move a member's number by the edges of its window; then send contributions around them again."""
    index = pick.randrange(geometry.indices)
    comparison.set(accumulate_quota=geometry.slots)
    settings = IndexSettings(Mode.ISWITCH_ASYNC, threshold=65535)
    comparison.command(Command.SET, index, index, settings)
    member = pick.randrange(geometry.members)
    highest = pick.choice(_STARTS)

    def contribute(number: int) -> None:
        comparison.offer(*make_update(index, member, bytes(4), seq=number % (1 << 32), member=member))

    contribute(highest)
    for jump in (_WINDOW, _WINDOW + 1, *pick.sample(_JUMPS, 2)):
        taken = pick.sample(range(1, _WINDOW), 3)
        for before in taken:
            contribute(highest - before)
        contribute(highest + jump)
        contribute(highest)
        highest += jump
        for before in (0, *taken, _WINDOW, _WINDOW + 1):
            contribute(highest - before)
    comparison.settle()
    comparison.command(Command.GET, index, index, settings)
    comparison.command(Command.RESET, index, index, settings)


def version_edges(comparison: QueueComparison, geometry: Geometry, pick: random.Random) -> None:
    """Send rows of older ACKs and of stale updates, cut short by one and whole; then halt an index."""
    index = pick.randrange(geometry.indices)
    bound = pick.choice((0, 3))
    version = pick.randrange(1 << 16)
    settings = IndexSettings(pick.choice((Mode.FIFO, Mode.OLAF)), stale_enable=1, stale_bound=bound)

    def stale(count: int) -> None:
        for _ in range(count):
            comparison.offer(*_make_update(index, version - bound - 1))

    def cut_short(by: Frame) -> None:
        for _ in range(_IN_A_ROW - 1):
            comparison.offer(*_make_ack(index, version - 1))
        stale(_IN_A_ROW - 1)
        comparison.offer(*by)

    comparison.command(Command.SET, index, index, settings)
    for by in (_make_ack(index, version), _make_update(index, version), _make_ack(index, version)):
        cut_short(by)
    stale(_IN_A_ROW)
    comparison.settle()
    comparison.command(Command.GET, index, index, settings)
    stale(1)
    comparison.settle()
    comparison.command(Command.SET, index, index, IndexSettings(settings.mode, True, stale_enable=1))
    comparison.offer(*_make_ack(index, version))
    stale(_IN_A_ROW)
    comparison.settle()
    comparison.command(Command.GET, index, index, settings)


def commands_beside_acks(comparison: QueueComparison, geometry: Geometry, pick: random.Random) -> None:
    """Give a command over a range while ACKs of one beat come in about every third cycle."""
    last = min(_COMMANDED, geometry.indices) - 1
    start = comparison.model.cycle
    version = pick.randrange(1 << 16)
    for cycle in range(0, _CYCLES_OF_COMMANDS, 3):
        comparison.offer(*_make_ack(pick.randint(0, last), version), cycle=start + cycle + pick.randrange(3))
    comparison.command(Command.RESET, 0, last, IndexSettings())
    comparison.settle()
    comparison.command(Command.GET, last, last, IndexSettings())


def _make_update(index: int, version: int) -> Frame:
    return make_update(index, 1, bytes(4), weights_version=version % (1 << 16))


def _make_ack(index: int, version: int) -> Frame:
    sidecar, frame = make_update(index, 0, b"", kind=FrameType.ACK, weights_version=version % (1 << 16))
    return Sidecar(len(frame), kind=FrameKind.ACK, index=sidecar.index), frame
