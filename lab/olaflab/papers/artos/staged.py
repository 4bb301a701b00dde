"""The head of a transfer in two stages (ARTOS §4.4): advantages as soon as rewards and values are there."""

import threading
import time
from dataclasses import dataclass

import numpy as np
from olaf.experience.passers import Bound, Passer, direct
from olaf.experience.pipeline import advantages
from olaf.experience.triggers import DataKey, Firing, Trigger

from olaflab.papers.artos import ways

_LOOK = 0.2


@dataclass(frozen=True)
class Events:
    """When each was, in seconds on the processes' common clock."""

    begun: float
    """Computing advantages."""
    there: float
    """The last observations."""
    learnt: float

    def count_from(self, begin: float) -> "Events":
        """Count the times from ``begin``."""
        return Events(self.begun - begin, self.there - begin, self.learnt - begin)


def receive_stages(ends: ways.Receivers, actors: int, pre: float, learn: float) -> Events:
    """Receive both stages of so many actors; advantages take ``pre`` seconds, then learning ``learn``.

    Advantages are computed, by a thread, and it waits for what is left of ``pre``: the time is stated.
    """
    ring, happened = ends.ring, dict[str, float]()
    computing: list[threading.Thread] = []

    def compute(firing: Firing) -> None:
        happened["begun"] = time.perf_counter()
        computing.append(threading.Thread(target=work, args=(firing,)))
        computing[-1].start()

    def work(firing: Firing) -> None:
        for actor, start, stop in firing.ranges:
            places = np.arange(start, stop) % ring.rows
            reward, value, end = (ring.column(key, actor)[places] for key in ("reward", "value", "end"))
            found = advantages(reward, value, end, np.zeros(len(reward)))
            assert found.shape == reward.shape
        time.sleep(max(0.0, happened["begun"] + pre - time.perf_counter()))

    def arrived(firing: Firing) -> None:
        happened["there"] = time.perf_counter()

    both: dict[Trigger, Passer] = {
        DataKey(ring, f"{actors} small", actors, ways.STEPS, ways.SMALL): direct(compute),
        DataKey(ring, f"{actors} whole", actors, ways.STEPS): direct(arrived),
    }
    bound = Bound(both)
    while "there" not in happened:
        ends.receiver.receive(_LOOK)
        bound.check()
    computing[0].join()
    time.sleep(learn)  # a GPU's work elsewhere, of a stated length
    return Events(happened["begun"], happened["there"], time.perf_counter())
