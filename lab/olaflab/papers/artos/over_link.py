"""ARTOS' transfers for real: blocks from a worker's machine to the head's over links of 130 MB/s, all ways
in turn, and stages whose advantages are computed while the observations come.
"""

import contextlib
import importlib.util
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from olaflab.papers.artos import rays, staged, store, ways
from olaflab.papers.artos.link import RATE, LinkMachine, make_machines
from olaflab.papers.artos.model import ModelCosts
from olaflab.papers.summary import Estimate, estimate_mean
from olafswitch.errors import OlafError, Problem
from olafswitch.ports.namespace import run_within

_WARM = 1
"""Turns before those that count: pages and windows of connections are there then."""
_PATIENCE = 60.0
"""Seconds for what takes a few."""
BLOCKS = (1, 4, 16)


@dataclass(frozen=True)
class Carried:
    """Blocks, one way."""

    way: str
    blocks: int
    beside: bool
    """Whether they were learnt from while they came."""
    seconds: float
    """From when sending began until all were in arrays; with learning beside, the learner's own seconds less
    than until it was done. The median."""
    to_ray: Estimate | None
    """Times Ray's, turn by turn; None without Ray."""


@dataclass(frozen=True)
class Staged:
    """Rewards and values first, advantages while the observations come."""

    share: float
    """T_pre/T_rest."""
    early: Estimate
    """Seconds by which computing advantages began before the last observations were there."""
    seconds: Estimate
    """From when sending began to learnt."""
    formula: float
    """T_small + max(T_rest, T_pre) + T_learn."""
    ratio: Estimate
    """Ratio of both."""


class LinkPair:
    """A worker and a head, each a process on its machine."""

    def __init__(self, head: Connection, worker: Connection) -> None:
        self._head, self._worker = head, worker

    def carry(self, way: str, blocks: int, learn: float | None) -> float:
        """Return :attr:`Carried.seconds`; ``learn`` are the seconds of concurrent learning a block."""
        ask = ("carry", way, blocks, learn)
        if way == ways.STORE:
            begin = self._start_sending(way, blocks)
            self._head.send(ask)
        else:
            self._head.send(ask)
            begin = 0.0 if way == ways.RAY else self._start_sending(way, blocks)
        known, end = _receive_reply(self._head)
        return float(end - (begin or known))

    def carry_stages(self, pre: float, learn: float, actors: int) -> staged.Events:
        """Carry both stages of ``actors`` blocks; times count from when sending began."""
        self._head.send(("stage", actors, pre, learn))
        begin = self._start_sending(ways.OLAF, actors)
        found: staged.Events = _receive_reply(self._head)
        return found.count_from(begin)

    def _start_sending(self, way: str, blocks: int) -> float:
        self._worker.send((way, blocks))
        return float(_receive_reply(self._worker))


def measure_transfers(turns: int, blocks: tuple[int, ...], log: Callable[[str], None]) -> Iterator[Carried]:
    """Measure all ways in turn, ``turns`` times, on the same machine. Raises OlafError."""
    with_ray = importlib.util.find_spec("ray") is not None
    if not with_ray:
        log("without Ray, which is not installed: pip install './lab[ray]'")
    each = ModelCosts().learn
    cases = [
        (way, count, beside)
        for count in blocks
        for way, beside in (*((way, False) for way in ways.WAYS), (ways.RAY, True), (ways.OLAF, True))
        if (with_ray or way != ways.RAY) and not (beside and count == 1)
    ]
    times: dict[tuple[str, int, bool], list[float]] = {case: [] for case in cases}
    with start_pair(ray=with_ray, kept=True) as both:
        for turn in range(turns + _WARM):
            for case in cases:
                way, count, beside = case
                seconds = both.carry(way, count, each if beside else None)
                if turn >= _WARM:
                    times[case].append(seconds)
            log(f"turn {turn + 1} of {turns + _WARM}")
    for (way, count, beside), found in times.items():
        base = times.get((ways.RAY, count, False))
        to_ray = None if base is None else estimate_mean(np.array(found) / np.array(base))
        yield Carried(way, count, beside, float(np.median(found)), to_ray)


SHARES = (0.05, 0.1, 0.25, 0.5, 0.75, 1.0)


def measure_stages(turns: int, log: Callable[[str], None], actors: int = 4) -> Iterator[Staged]:
    """Measure T_pre/T_rest of ``SHARES`` in turn, with a transfer alone in each turn. Raises OlafError."""
    alone: list[staged.Events] = []
    found: dict[float, list[staged.Events]] = {share: [] for share in SHARES}
    rest, learn = actors * ways.BYTES / RATE, actors * ModelCosts().learn
    with start_pair() as both:
        for turn in range(turns + _WARM):
            one = both.carry_stages(0.0, 0.0, actors)
            made = {share: both.carry_stages(share * rest, learn, actors) for share in SHARES}
            if turn >= _WARM:
                alone.append(one)
                for share, events in made.items():
                    found[share].append(events)
            log(f"turn {turn + 1} of {turns + _WARM}")
    small = float(np.median([each.begun for each in alone]))
    there = float(np.median([each.there - each.begun for each in alone]))
    for share, all_ in found.items():
        formula = small + max(there, share * rest) + learn
        seconds = np.array([each.learnt for each in all_])
        early = np.array([each.there - each.begun for each in all_])
        yield Staged(
            share, estimate_mean(early), estimate_mean(seconds), formula, estimate_mean(seconds / formula)
        )


@contextlib.contextmanager
def start_pair(*, ray: bool = False, kept: bool = False) -> Iterator[LinkPair]:
    """Start a worker and a head on machines of their own, and, on request, Ray and a store (``kept``)."""
    context = multiprocessing.get_context("forkserver")
    with (
        tempfile.TemporaryDirectory(prefix="artos") as folder,
        make_machines("head", "worker", "store") as found,
    ):
        head, worker, aside = found["head"], found["worker"], found["store"]
        place = Path(folder) if ray else None
        children = []
        try:
            if kept:
                run_within(aside.namespace, partial(store.start_server, aside.address))
            for machine in (head, worker) if ray else ():
                rays.start_node(machine, head, Path(folder))
            ends = []
            for target, machine in ((_serve_head, head), (_serve_worker, worker)):
                ours, theirs = context.Pipe()
                arguments = (target, theirs, machine, head, aside if kept else None, place)
                child = context.Process(target=_run_on_machine, args=arguments, daemon=True)
                child.start()
                theirs.close()
                children.append(child)
                _receive_reply(ours)
                ends.append(ours)
            yield LinkPair(*ends)
        finally:
            for child in children:
                child.kill()
                child.join()


def _receive_reply(pipe: Connection) -> Any:
    if not pipe.poll(_PATIENCE):
        raise OlafError(Problem(f"a machine of the link did not report for {_PATIENCE:.0f} s"))
    try:
        found = pipe.recv()
    except EOFError:
        raise OlafError(Problem("a process on a machine of the link has ended")) from None
    if isinstance(found, str):
        raise OlafError(Problem(found, "on a machine of the link"))
    return found


def _run_on_machine(
    target: Callable[..., None], pipe: Connection, machine: LinkMachine, *arguments: object
) -> None:
    """Run ``target`` in a child on the machine, and report failures to the parent."""
    try:
        run_within(machine.namespace, partial(target, pipe, *arguments))
    except Exception as error:
        pipe.send(f"{type(error).__name__}: {error}")


def _serve_worker(pipe: Connection, head: LinkMachine, kept: LinkMachine | None, ray: Path | None) -> None:
    senders = ways.Senders(head, kept)
    pipe.send(True)
    while True:
        pipe.send(senders.send_blocks(*pipe.recv()))


def _serve_head(pipe: Connection, head: LinkMachine, kept: LinkMachine | None, ray: Path | None) -> None:
    ends = ways.Receivers(head, kept, ray)
    pipe.send(True)
    while True:
        what, *request = pipe.recv()
        pipe.send(
            _receive_blocks(ends, *request) if what == "carry" else staged.receive_stages(ends, *request)
        )


def _receive_blocks(ends: ways.Receivers, way: str, blocks: int, learn: float | None) -> tuple[float, float]:
    """Return when sending began, as far as the way knows, and when all were there or learnt from."""
    learner = None if learn is None else ways.StatedLearner(blocks, learn)
    begin = 0.0
    for known in ends.receive_blocks(way, blocks, each=learner is not None):
        begin = known or 0.0
        if learner is not None:
            learner.add_block()
    end = time.perf_counter()
    return begin, end if learner is None else learner.wait_for_end() - learner.whole_seconds
