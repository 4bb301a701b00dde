"""A head's actors on the machines of a Ray cluster: weights go there, and blocks come home, as messages."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from olaf.elastic import Held
from olaf.elastic.placed import Placed
from olaf.experience import Ring, Writer

from olaflab.training import network, players

Taken = tuple[network.Vector, int, int]
"""Weights, their version, and how many steps the actor has in the ring."""
Brought = tuple[dict[str, npt.NDArray[Any]], npt.NDArray[np.uint8], int]
"""Rows, how each ends, and the version."""


def begin_actor(number: int, seed: tuple[int, ...], steps: int) -> Callable[[Taken], Brought]:
    """Begin an actor in a process of a node; it plays what an actor beside the ring would."""
    made: list[players.ActorPlayer] = []

    def turn(taken: Taken) -> Brought:
        weights, version, position = taken
        if not made:
            made.append(players.ActorPlayer((*seed, number, position)))
        return (*made[0].play_steps(weights, steps), version)

    return turn


def place_actors(address: str, ring: Ring, seed: tuple[int, ...], steps: int, held: Held) -> Placed:
    """Place actors whose blocks are written to ``ring`` here. Raises OlafError where no cluster answers."""
    writers: dict[int, Writer] = {}

    def take(number: int) -> Taken:
        if number not in writers:
            writers[number] = Writer(ring, number)
        weights, version = ring.objects.read(players.WEIGHTS) or (None, 0)
        assert weights is not None
        return weights, version, writers[number].position()

    def deliver(number: int, brought: Brought) -> None:
        rows, ends, version = brought
        if not writers[number].write(rows, version=version, end=ends):
            raise BufferError("the ring is full of what was not learnt")

    return Placed(
        address, begin_actor, (seed, steps), held=held, now=time.monotonic, take=take, deliver=deliver
    )
