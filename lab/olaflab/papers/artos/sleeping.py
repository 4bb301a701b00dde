"""Elasticity for real: what another process gets of the actors' cores, by whether they sleep or are bound."""

import multiprocessing
import os
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from multiprocessing.connection import Connection

import numpy as np
from olaf.elastic import Actors, Held, stopped

from olaflab.papers.summary import Estimate, estimate_mean
from olafswitch.errors import BadInput, Problem

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


@dataclass(frozen=True)
class Binding:
    """Shares of a core that the learner got while ``actors`` actors played on the same two cores."""

    actors: int
    free: Estimate
    """Share where the kernel chooses everybody's core."""
    bound: Estimate
    """Share with one core for the learner and another for all actors (ARTOS §4.3 has numactl)."""
    gained: Estimate
    """The difference, repeat by repeat."""


def busy(number: int, core: int | tuple[int, ...], seconds: float = _TURN) -> Callable[[], None]:
    """An actor that is bound to its cores, which computes for ``seconds`` in every turn."""
    os.sched_setaffinity(0, {core} if isinstance(core, int) else core)

    def turn() -> None:
        until = time.process_time() + seconds
        while time.process_time() < until:
            pass

    return turn


def measure_sleep(actors: int, seconds: float, repeats: int = 5) -> Share:
    """The medians of ``repeats`` rounds, each of ``seconds`` with no actors, with sleepers and with players.

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


def measure_binding(actors: int, repeats: int) -> Binding:
    """Free and bound in turn, on the last two cores that this process may use.

    Raises BadInput where there is one core.
    """
    cores = tuple(sorted(os.sched_getaffinity(0))[-2:])
    if len(cores) < 2:
        raise BadInput(Problem("binding is measured on two cores", remedy="run it where there are two"))
    context = multiprocessing.get_context("forkserver")
    found: list[tuple[float, float]] = []
    for _ in range(repeats):
        shares = []
        for mine, others in ((cores, cores), (cores[:1], cores[1:])):
            ours, theirs = context.Pipe()
            learner = context.Process(target=_serve_shares, args=(theirs, mine), daemon=True)
            learner.start()
            with closing(Actors(busy, (others, _TURN), held=Held(), now=time.monotonic)) as team:
                team.invoke(range(actors))
                shares.append(_request_share(ours, _TURN))
            learner.terminate()
            learner.join()
        found.append((shares[0], shares[1]))
    free, bound = np.array(found).T
    return Binding(actors, estimate_mean(free), estimate_mean(bound), estimate_mean(bound - free))


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
