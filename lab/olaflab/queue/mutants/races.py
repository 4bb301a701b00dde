"""What random traffic seldom meets: an update leaves while the next of its index is stalled on its way in."""

import random

from olafctl.wire.geometry import Geometry
from olafctl.wire.layouts import BEAT_BYTES, GRADIENT_OFFSET
from olaftest.queue.comparison import Comparison
from olaftest.queue.model import QueueModel
from olaftest.queue.traffic import update

_WORDS_OF_A_BEAT = BEAT_BYTES // 4


def check_locks_during_stalls(model: QueueModel, geometry: Geometry, seed: int, tries: int) -> None:
    """Two updates merge so close to each other that a third, behind them, stalls on its way to its decision.

    Meanwhile the update that the third would merge with leaves, or begins to. For adders of at least five
    cycles, two indices and two slots. Raises Unexplained when the third is not decided as it must be.
    """
    pick = random.Random(seed)
    comparison = Comparison(model, geometry)
    for _ in range(tries):
        model.disturb(pick.getrandbits(32))
        comparison.set(hold=1)
        length = pick.choice((3, 4, 4)) * _WORDS_OF_A_BEAT - GRADIENT_OFFSET // 4
        short = pick.choice((0, 0, length))
        leaving = update(1, 8, bytes(4 * short))
        merging = [update(0, worker, bytes(4 * length)) for worker in range(3)]
        comparison.offer(*leaving)
        comparison.offer(*merging[0])
        model.run(model.cycle + 60)
        # The source pauses here and there, so that beats of the second merge come right behind the first's.
        model.disturb(pick.getrandbits(32), idle=0.15, resume=0.5)
        for frame in merging[1:]:
            comparison.offer(*frame, cycle=model.cycle + 4)
        comparison.offer(*update(1, 9, bytes(4 * short)), cycle=model.cycle + 4)
        model.run(model.cycle + pick.randrange(18))
        comparison.write("hold", 0)
        comparison.golden.hold = 0
        comparison.settle()
