"""Hand indices from one job to the next, so that no update of one is added to one of the other.

The queue knows indices, not jobs. It would merge a waiting update with the next update of the index, and a
partial sum with a new job's contributions to the round of the same number; a finished round would refuse
these. For this reason VNP4₁ refuses the old job's updates first, then the queue discards its sums and sends
its waiting updates; the new job comes last.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from olafctl.control.pipeline import ASSIGN, VNP4_1, WORKERS, block_of
from olafctl.control.plan import ChangePlan, EntryChange, Op, PlanStep
from olafctl.control.state import DeviceState, PipelineState
from olafctl.queue.registers import Command
from olafctl.targets.interface import Registers
from olafswitch.errors import OlafError, Problem
from olafswitch.p4runtime.entities import TableEntry

_PATIENCE = 10.0
"""The seconds within which one of the waiting updates must leave."""
_LOOK_AGAIN = 0.01
"""The seconds between two reads: a queue does not say when its updates have left."""

Range = tuple[int, int]
"""First and last index."""


@dataclass(frozen=True)
class IndexJob:
    """The job whose updates a range of indices takes."""

    first: int
    last: int
    cluster: int
    epoch: int

    @classmethod
    def from_entry(cls, entry: TableEntry) -> "IndexJob":
        """Return the job of a worker's entry."""
        given = entry.params
        return cls(given["index"], given["index"] + given["segments"] - 1, given["cluster"], given["epoch"])


def find_renewed(actual: PipelineState, wanted: PipelineState) -> Mapping[str, Sequence[Range]]:
    """Return, by VNP4₁'s name, the indices that ``wanted`` gives to jobs unknown to ``actual`` there."""
    found = {}
    for name, state in wanted.devices.items():
        if block_of(name) == VNP4_1:
            new = _jobs_of(state) - _jobs_of(actual.devices.get(name, DeviceState()))
            found[name] = _join_ranges((job.first, job.last) for job in new)
    return {name: ranges for name, ranges in found.items() if ranges}


def plan_refusal(actual: PipelineState, ranges: Mapping[str, Sequence[Range]]) -> ChangePlan:
    """Return the plan that makes VNP4₁ take no updates for ``ranges``: it removes the workers of earlier
    jobs."""
    steps = []
    for name, renewing in ranges.items():
        entries = actual.devices.get(name, DeviceState()).entries.values()
        gone = [
            each
            for each in entries
            if _has_job(each) and _touches_ranges(IndexJob.from_entry(each), renewing)
        ]
        steps.append(PlanStep(name, tuple(EntryChange(Op.DELETE, each, None) for each in gone)))
    return ChangePlan(tuple(step for step in steps if step.changes))


def clear_ranges(registers: Registers, ranges: Sequence[Range], queue: str) -> None:
    """Discard partial sums and finished rounds of ``ranges``, and wait until all waiting updates have left.

    Raises OlafError when none of them leaves for 10 s.
    """
    for first, last in ranges:
        registers.command(Command.RESET, first, last)
    if registers.read("hold"):
        registers.write("hold", 0)
    now = registers.read_all()
    # Updates leave in the order in which they came.
    end = now.get("out_updates", 0) + count_waiting(now)
    until = time.monotonic() + _PATIENCE
    while count_waiting(now) and now["out_updates"] < end:
        if time.monotonic() > until:
            what = f"updates of an earlier job wait, and none has left for {_PATIENCE:g} s"
            raise OlafError(Problem(what, queue, "try again when its output carries them"))
        time.sleep(_LOOK_AGAIN)
        before, now = now, registers.read_all()
        if now["out_updates"] != before["out_updates"]:
            until = time.monotonic() + _PATIENCE


def count_waiting(registers: Mapping[str, int]) -> int:
    """Return the number of updates that wait for the output; partial sums wait for their members."""
    return registers.get("occupancy", 0) - registers.get("accumulating", 0)


def _jobs_of(state: DeviceState) -> set[IndexJob]:
    return {IndexJob.from_entry(entry) for entry in state.entries.values() if _has_job(entry)}


def _has_job(entry: TableEntry) -> bool:
    return entry.table == WORKERS and entry.action == ASSIGN


def _touches_ranges(job: IndexJob, ranges: Sequence[Range]) -> bool:
    return any(first <= job.last and job.first <= last for first, last in ranges)


def _join_ranges(ranges: Iterable[Range]) -> Sequence[Range]:
    """Return the same indices in as few ranges as possible."""
    found: list[Range] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(last, found[-1][1])
        else:
            found.append((first, last))
    return found
