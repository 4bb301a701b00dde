"""What the golden model does not see of a queue: needless waits, and what outlives a reset."""

from olafctl.wire.layouts import Kind
from olaftest.queue.golden import Unexplained
from olaftest.queue.model import QueueModel, Sidecar
from olaftest.queue.traffic import update

_LIMIT = 100_000
_UPDATES = 24
_FAST, _SLOW = 1000, 20
"""Rates in bits a cycle: more than the smallest update has, and less than the output takes."""


def check_takes_turns(model: QueueModel, indices: int) -> None:
    """Updates and other frames that wait for the output leave in turn.

    Raises Unexplained when one kind waits for more than a frame of the other.
    """
    model.block(True)
    for index in range(indices):
        model.offer(*update(index, 1, bytes(4 * 40)))
        for _ in range(8):
            model.offer(Sidecar(224, kind=Kind.BYPASS), bytes(224))
    model.run(model.cycle + 2000)
    model.block(False)
    model.settle(_LIMIT)
    places = [at for at, left in enumerate(model.take()) if left.sidecar.kind == Kind.UPDATE]
    if len(places) != indices or places[-1] > 2 * indices:
        raise Unexplained(f"updates leave at places {places} among other frames")


def check_keeps_the_rate(model: QueueModel, indices: int) -> None:
    """Updates leave at the rate, and of a higher rate before it no more than a cycle's bits are left over.

    Raises Unexplained when they leave sooner or later.
    """
    model.registers.write("rate", _FAST << 16)
    for _ in range(_UPDATES):
        model.offer(*update(0, 1, bytes(0)))
        model.settle(_LIMIT)
    model.registers.write("rate", _SLOW << 16)
    model.registers.write("hold", 1)
    for index in range(indices):
        model.offer(*update(index, 1, bytes(4 * 40)))
    model.drain(_LIMIT)
    model.run(model.cycle + 100)
    model.registers.write("hold", 0)
    model.settle(_LIMIT)
    left = list(model.take())[-indices:]
    bits = sum(8 * len(departure.frame) for departure in left[:-1])
    took = left[-1].first - left[0].first
    if not (bits - _FAST) // _SLOW - 2 <= took <= bits // _SLOW + 2:
        raise Unexplained(f"{bits} bits leave in {took} cycles at {_SLOW} a cycle")
    model.registers.write("rate", 0)


def check_reset_forgets_the_turn(model: QueueModel) -> None:
    """An update and another frame that become ready about at once leave in the same order after every reset.

    Whichever kind left last before it. Raises Unexplained when that shows.
    """
    orders: list[list[list[int]]] = []
    for last in (update(0, 1, bytes(64)), (Sidecar(60), bytes(60))):
        orders.append([])
        for delay in range(16):
            model.reset()
            model.offer(*last)
            model.settle(_LIMIT)
            model.reset()
            model.disturb(delay)
            model.registers.write("hold", 1)
            model.offer(*update(0, 1, bytes(64)))
            model.run(100)
            model.offer(Sidecar(60), bytes(60), cycle=100 + delay)
            model.registers.write("hold", 0)
            model.settle(_LIMIT)
            orders[-1].append([left.sidecar.kind for left in model.take()])
    if orders[0] != orders[1]:
        raise Unexplained("which frame leaves first after a reset depends on what left before it")
