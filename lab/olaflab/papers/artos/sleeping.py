"""Elasticity for real: what another process gets of the actors' core, by whether they sleep."""

import multiprocessing
import os
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from multiprocessing.connection import Connection

from olaf.elastic import Actors, Held, stopped

_TURN = 0.2
"""Seconds of a turn, of computing alone."""


@dataclass(frozen=True)
class Share:
    """Shares of a core that another process got."""

    alone: float
    """Without any actors."""
    asleep: float
    """While the learner learns and actors sleep."""
    awake: float
    """While as many actors as before play on."""
    states: tuple[str, ...]
    """States of the actors' processes while the learner learnt."""


def busy(number: int, core: int | tuple[int, ...], seconds: float = _TURN) -> Callable[[], None]:
    """Bind an actor to its cores; it computes for ``seconds`` in every turn."""
    os.sched_setaffinity(0, {core} if isinstance(core, int) else core)

    def turn() -> None:
        until = time.process_time() + seconds
        while time.process_time() < until:
            pass

    return turn


def measure_sleep(actors: int, seconds: float, repeats: int = 5) -> Share:
    """Measure ``repeats`` rounds, each of ``seconds`` with no actors, with sleepers and with players; return
    medians.

    All are on one core, the last one that this process may use; the learner only waits.
    """
    core = max(os.sched_getaffinity(0))
    context = multiprocessing.get_context("forkserver")
    ours, theirs = context.Pipe()
    other = context.Process(target=_serve_shares, args=(theirs, (core,)), daemon=True)
    other.start()
    found: dict[str, list[float]] = {"alone": [], "asleep": [], "awake": []}
    states: tuple[str, ...] = ()
    try:
        for _ in range(repeats):
            found["alone"].append(_request_share(ours, seconds))
            with closing(Actors(busy, (core,), held=Held(), now=time.monotonic)) as team:
                team.invoke(range(actors))
                while team.playing:
                    team.serve(60.0)
                found["asleep"].append(_request_share(ours, seconds))
                states = tuple("stopped" if stopped(pid) else "runs" for pid in team.pids().values())
                team.invoke(range(actors))
                found["awake"].append(_request_share(ours, _TURN))
    finally:
        other.terminate()
        other.join()
    medians = {name: sorted(values)[len(values) // 2] for name, values in found.items()}
    return Share(states=states, **medians)


def _request_share(pipe: Connection, seconds: float) -> float:
    pipe.send(seconds)
    return float(pipe.recv())


def _serve_shares(pipe: Connection, cores: tuple[int, ...]) -> None:
    os.sched_setaffinity(0, cores)
    while True:
        seconds = pipe.recv()
        begin, cpu = time.monotonic(), time.process_time()
        while time.monotonic() - begin < seconds:
            pass
        pipe.send((time.process_time() - cpu) / (time.monotonic() - begin))
