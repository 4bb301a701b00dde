"""The rings of experience on this machine: does a learner starve, and does anything move at all?"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from olaf.doctor.machine import Finding, report_fault, report_ok, report_skipped, report_warning
from olaf.experience import memory
from olaf.experience.ring import Integers, Ring, RingError

_LOOK = 0.02
"""Seconds between two looks."""
_STARVED = 0.75
"""A learner that waits for a larger share of the time learns from fewer rows than it could."""
_COUNTS = ("fired", "taken", "done", "refused")


@dataclass(frozen=True)
class _Look:
    """A ring's counters at one time."""

    written: Integers
    """(actors,)"""
    fired: int
    """Like the two that follow, firings of all triggers."""
    taken: int
    done: int
    refused: int

    @property
    def waits(self) -> bool:
        """Whether all that was written is learnt: the learner has nothing to do."""
        return self.fired == self.done


def examine_rings(names: Sequence[str], seconds: float) -> Iterator[Finding]:
    """Watch these rings, or all of this machine, for so many seconds. Nothing is written to them."""
    where = f"run it on the machine whose workers have actors; their rings are {memory.path_of('*')}"
    rings: dict[str, Ring] = {}
    for name in names or sorted(_list_rings()):
        path = memory.path_of(name)
        used = _in_use(path)  # before it is in this process's memory
        try:
            ring = Ring.open(name)
        except RingError as error:
            yield report_fault(f"ring {name}", str(error), where)
            continue
        if used:
            rings[name] = ring
        else:
            what = "no process has it any more: its training was killed"
            yield report_warning(f"ring {name}", what, f"rm {path} {path}~*")
    if not rings and not names:
        yield report_skipped("rings", f"none is in use on this machine: {where}")
    looks: dict[str, list[_Look]] = {name: [_look_at(ring)] for name, ring in rings.items()}
    until = time.monotonic() + seconds
    while rings and (left := until - time.monotonic()) > 0:
        time.sleep(min(_LOOK, left))
        for name, ring in rings.items():
            looks[name].append(_look_at(ring))
    for name, ring in rings.items():
        yield _judge_ring(f"ring {name}", ring, looks[name], seconds)


def _list_rings() -> Iterator[str]:
    begin = memory.path_of("")
    for path in begin.parent.glob(f"{begin.name}*"):
        if Ring.is_at(path):  # and not a companion of one, or a pool of learners
            yield path.name[len(begin.name) :]


def _look_at(ring: Ring) -> _Look:
    return _Look(ring.count().copy(), *(int(ring.control[name].sum()) for name in _COUNTS))


def _judge_ring(check: str, ring: Ring, looks: list[_Look], seconds: float) -> Finding:
    first, last = looks[0], looks[-1]
    rows = last.written - first.written[: len(last.written)]
    triggers = int(np.count_nonzero(ring.control["names"] != b""))
    longer = "if an update takes longer than that, watch longer with --wait"
    if not rows.any() and first.done == last.done:
        if last.waits:
            what = f"stalled: for {seconds:g} s no actor has written a row, and none waits to be learnt"
            remedy = f"see the training's log for actors that died, and ps for stopped ones (T); {longer}"
        elif last.taken > last.done:
            what = f"stalled: for {seconds:g} s the learner has not finished the rows that it took"
            remedy = f"see whether its process runs, and on how many cores; {longer}"
        else:
            what = f"stalled: rows wait to be learnt, and for {seconds:g} s no learner has taken any"
            remedy = f"see whether the learner's process lives, and what it waits for; {longer}"
        return report_fault(check, what, remedy)
    played = f"{rows.sum() / seconds:.0f} rows/s of {np.count_nonzero(rows)} of {ring.actors} actors"
    if last.refused > first.refused:
        what = f"actors wait for the learner: {last.refused - first.refused} rows were refused; {played}"
        return report_warning(check, what, "fewer actors, a larger ring, or more cores for the learner")
    waited = sum(look.waits for look in looks) / len(looks)
    if triggers and waited > _STARVED:
        what = f"the learner starves: it waited for rows {waited:.0%} of {seconds:g} s; {played}"
        return report_warning(check, what, "more actors (olaflab train --actors), on cores of their own")
    return report_ok(
        check, f"{played}; the learner waited {waited:.0%} of {seconds:g} s" if triggers else played
    )


def _in_use(path: Path) -> bool:
    """Return whether a process has mapped the file, under whatever name; True where that is not known."""
    if sys.platform != "linux":
        return True
    try:
        inode = f" {path.stat().st_ino} "
    except OSError:
        return True
    for maps in Path("/proc").glob("[0-9]*/maps"):
        with suppress(OSError):
            if inode in maps.read_text():
                return True
    return False
