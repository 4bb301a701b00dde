"""Checks of a queue that random traffic against the golden model does not make; each raises Unexplained."""

import random

from olafctl.wire.geometry import Geometry
from olafctl.wire.layouts import BEAT_BYTES, GRADIENT_OFFSET, FrameKind
from olaftest.queue.comparison import QueueComparison
from olaftest.queue.golden import Unexplained
from olaftest.queue.model import QueueModel, Sidecar
from olaftest.queue.traffic import make_update

_LIMIT = 100_000
_UPDATES = 24
_FAST, _SLOW = 1000, 20
"""Rates in bits a cycle: more than the smallest update has, and less than the output takes."""
_WORDS_OF_A_BEAT = BEAT_BYTES // 4


def check_takes_turns(model: QueueModel, indices: int) -> None:
    """Check that updates and other frames that wait for the output leave in turn, one by one."""
    model.block(True)
    for index in range(indices):
        model.offer(*make_update(index, 1, bytes(4 * 40)))
        for _ in range(8):
            model.offer(Sidecar(224, kind=FrameKind.BYPASS), bytes(224))
    model.run(model.cycle + 2000)
    model.block(False)
    model.settle(_LIMIT)
    places = [at for at, left in enumerate(model.take_departures()) if left.sidecar.kind == FrameKind.UPDATE]
    if len(places) != indices or places[-1] > 2 * indices:
        raise Unexplained(f"updates leave at places {places} among other frames")


def check_keeps_the_rate(model: QueueModel, indices: int) -> None:
    """Check that updates leave at the rate, and that a higher one before leaves a cycle's bits at most."""
    model.registers.write("rate", _FAST << 16)
    for _ in range(_UPDATES):
        model.offer(*make_update(0, 1, bytes(0)))
        model.settle(_LIMIT)
    model.registers.write("rate", _SLOW << 16)
    model.registers.write("hold", 1)
    for index in range(indices):
        model.offer(*make_update(index, 1, bytes(4 * 40)))
    model.drain(_LIMIT)
    model.run(model.cycle + 100)
    model.registers.write("hold", 0)
    model.settle(_LIMIT)
    left = list(model.take_departures())[-indices:]
    bits = sum(8 * len(departure.frame) for departure in left[:-1])
    took = left[-1].first - left[0].first
    if not (bits - _FAST) // _SLOW - 2 <= took <= bits // _SLOW + 2:
        raise Unexplained(f"{bits} bits leave in {took} cycles at {_SLOW} a cycle")
    model.registers.write("rate", 0)


def check_reset_forgets_the_turn(model: QueueModel) -> None:
    """Check that after a reset the order of two frames ready at once does not depend on what left before."""
    orders: list[list[list[int]]] = []
    for last in (make_update(0, 1, bytes(64)), (Sidecar(60), bytes(60))):
        orders.append([])
        for delay in range(16):
            model.reset()
            model.offer(*last)
            model.settle(_LIMIT)
            model.reset()
            model.disturb(delay)
            model.registers.write("hold", 1)
            model.offer(*make_update(0, 1, bytes(64)))
            model.run(100)
            model.offer(Sidecar(60), bytes(60), cycle=100 + delay)
            model.registers.write("hold", 0)
            model.settle(_LIMIT)
            orders[-1].append([left.sidecar.kind for left in model.take_departures()])
    if orders[0] != orders[1]:
        raise Unexplained("which frame leaves first after a reset depends on what left before it")


def check_locks_during_stalls(model: QueueModel, geometry: Geometry, seed: int, tries: int) -> None:
    """Check that an update that stalls behind two that merge is decided rightly while its index's update
    leaves.

    Needs adders of at least five cycles, two indices and two slots.
    """
    pick = random.Random(seed)
    comparison = QueueComparison(model, geometry)
    for _ in range(tries):
        model.disturb(pick.getrandbits(32))
        comparison.set(hold=1)
        length = pick.choice((3, 4, 4)) * _WORDS_OF_A_BEAT - GRADIENT_OFFSET // 4
        short = pick.choice((0, 0, length))
        leaving = make_update(1, 8, bytes(4 * short))
        merging = [make_update(0, worker, bytes(4 * length)) for worker in range(3)]
        comparison.offer(*leaving)
        comparison.offer(*merging[0])
        model.run(model.cycle + 60)
        # The source pauses here and there, so that beats of the second merge come right behind the first's.
        model.disturb(pick.getrandbits(32), idle=0.15, resume=0.5)
        for frame in merging[1:]:
            comparison.offer(*frame, cycle=model.cycle + 4)
        comparison.offer(*make_update(1, 9, bytes(4 * short)), cycle=model.cycle + 4)
        model.run(model.cycle + pick.randrange(18))
        comparison.write("hold", 0)
        comparison.golden.hold = 0
        comparison.settle()
