"""The arrivals of updates for Z3: the free times of a system, and the order at the engine.

Import this module only where a proof is made: loading Z3 takes a second.
"""

from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Any

import z3

from olafctl.verify.system import System

__all__ = ["Arithmetic", "Bool", "Numbers", "Term", "all_of", "any_of", "make_implication", "negate", "z3"]

Term = Any
"""A Z3 arithmetic expression."""
Bool = Any
"""A Z3 Boolean expression, or a Python bool where it is known beforehand."""


class Numbers(StrEnum):
    """The solver's type of a time."""

    REAL = "real"
    """Dense time: a refutation holds for integers, too; a schedule is then searched among integers."""
    INTEGER = "integer"


class Arithmetic:
    """Variables and constants of one kind of number."""

    def __init__(self, numbers: Numbers) -> None:
        self.numbers = numbers
        self.solver = z3.Solver()

    def variable(self, name: str) -> Term:
        """Return a number."""
        return z3.Real(name) if self.numbers is Numbers.REAL else z3.Int(name)

    def constant(self, value: int) -> Term:
        """Return an integer constant."""
        return z3.RealVal(value) if self.numbers is Numbers.REAL else z3.IntVal(value)

    def read(self, model: Any, term: Term) -> int | None:
        """Return a number's value in a model; None when it is not an integer."""
        value = model.eval(term, model_completion=True)
        if self.numbers is Numbers.REAL:
            return int(value.numerator_as_long()) if value.denominator_as_long() == 1 else None
        return int(value.as_long())


def all_of(*parts: Bool) -> Bool:
    """Return the conjunction, with known parts folded."""
    if any(part is False for part in parts):
        return False
    unknown = [part for part in parts if part is not True]
    return z3.And(*unknown) if len(unknown) > 1 else unknown[0] if unknown else True


def any_of(*parts: Bool) -> Bool:
    """Return the disjunction, with known parts folded."""
    if any(part is True for part in parts):
        return True
    unknown = [part for part in parts if part is not False]
    return z3.Or(*unknown) if len(unknown) > 1 else unknown[0] if unknown else False


def negate(part: Bool) -> Bool:
    """Return the negation, with a known part folded."""
    return (not part) if isinstance(part, bool) else z3.Not(part)


def make_implication(condition: Bool, then: Bool) -> Bool:
    """Return the implication, with known parts folded."""
    return any_of(negate(condition), then)


Source = tuple[int, int]


@dataclass(eq=False)
class SolverUpdate:
    """Update k of a cluster (Table 4) for Z3; times in ticks.

    ``departure`` is D of the newest slot that the cluster has opened by then, ``newest`` A of its newest
    update that the engine took, ``received`` A of the newest update that had left before that slot, ``free``
    the time at which the output has sent all updates ahead, and ``done`` when it has also sent this one.
    """

    cluster: int
    worker: int
    seq: int
    place: int
    offset: int
    earliest: int
    latest: int
    arrival: Term
    sent: Bool
    opens: Term
    lost: Term
    departure: Term
    newest: Term
    received: Term
    free: Term
    done: Term
    previous: "SolverUpdate | None"

    @property
    def source(self) -> Source:
        return self.cluster, self.worker


class Arrivals:
    """All updates of a system, by cluster in time order, with the constraints of the arrival model."""

    def __init__(self, system: System, arithmetic: Arithmetic, symmetry: tuple[int, ...]) -> None:
        """Create the arrivals; ``symmetry[u]`` is equal for clusters that may be renamed into each other."""
        self.system = system
        self.arithmetic = arithmetic
        self._symmetry = symmetry
        self._constraints: list[Bool] = []
        self.phases: dict[Source, Term] = {}
        self._known: dict[tuple[Any, ...], Bool] = {}
        self.flows = [self._flow(index) for index in range(len(system.clusters))]
        self._arrange_twins()

    @property
    def updates(self) -> list[SolverUpdate]:
        """The updates, by cluster."""
        return [update for flow in self.flows for update in flow]

    def taken_constraints(self) -> list[Bool]:
        """Return the arrival model's constraints since the last call."""
        taken, self._constraints = self._constraints, []
        return taken

    def order(self) -> list[Bool]:
        """Return the order's own laws, after every needed :meth:`precedes`: no three in a circle."""
        onward: dict[Any, list[tuple[Any, int]]] = {}
        for (one, other, offset), relation in self._known.items():
            if not isinstance(relation, bool):
                onward.setdefault(one, []).append((other, offset))
                onward.setdefault(other, []).append((one, -offset))
        circles: dict[frozenset[tuple[Any, ...]], Bool] = {}
        for one, edges in onward.items():
            for other, there in edges:
                for third, onto in onward[other]:
                    if third[0] == one[0]:
                        continue
                    circle = frozenset(
                        ((one, other, there), (other, third, onto), (third, one, -there - onto))
                    )
                    if circle not in circles:
                        circles[circle] = any_of(*(negate(self._recall(*edge)) for edge in circle))
        clauses = [clause for clause in circles.values() if clause is not True]
        return clauses + self._keep_flows_in_order()

    def _keep_flows_in_order(self) -> list[Bool]:
        """Return the law that an update after another one is also after that cluster's earlier updates, also
        at one instant."""
        clauses = []
        for index, flow in enumerate(self.flows):
            cluster = self.system.clusters[index]
            if cluster.workers == 1 and not cluster.jitter:
                continue
            for earlier, later in pairwise(flow):
                for other in self.updates:
                    if other.cluster != index:
                        clauses.append(
                            make_implication(self.precedes(later, other), self.precedes(earlier, other))
                        )
        return [clause for clause in clauses if clause is not True]

    def precedes(self, one: SolverUpdate, other: SolverUpdate) -> Bool:
        """Return whether ``one`` reaches the engine before ``other``, another cluster's or an earlier update.

        At one instant either may be first; without jitter two sources meet in the same order each time.
        """
        if one.cluster == other.cluster:
            return one.place < other.place
        if one.cluster > other.cluster:
            return negate(self.precedes(other, one))
        key: tuple[Any, ...] = (one.source, other.source, one.offset - other.offset)
        if not self.system.exact:
            key = ((*one.source, one.seq), (*other.source, other.seq), 0)
        if key not in self._known:
            self._known[key] = self._relation(one, other, key)
        return self._known[key]

    def _recall(self, one: Any, other: Any, offset: int) -> Bool:
        """Return a relation that was requested before, either way round; False (no obstacle) without one."""
        if (one, other, offset) in self._known:
            return self._known[one, other, offset]
        reverse = self._known.get((other, one, -offset))
        return False if reverse is None else negate(reverse)

    def _relation(self, one: SolverUpdate, other: SolverUpdate, key: tuple[Any, ...]) -> Bool:
        twins = self._symmetry[one.cluster] == self._symmetry[other.cluster]
        if twins and self.system.exact and self.system.clusters[one.cluster].workers == 1:
            return one.seq <= other.seq
        if one.latest < other.earliest:
            return True
        if other.latest < one.earliest:
            return False
        literal = z3.Bool(f"first {key}")
        self._constraints.append(z3.Implies(literal, one.arrival <= other.arrival))
        self._constraints.append(z3.Implies(z3.Not(literal), other.arrival <= one.arrival))
        return literal

    def _flow(self, index: int) -> list[SolverUpdate]:
        cluster, tick = self.system.clusters[index], self.system.tick
        low, high = cluster.phase[0] // tick, cluster.phase[1] // tick
        late = cluster.jitter // tick
        make = self.arithmetic.variable
        for worker in range(cluster.workers):
            phase = self.phases[index, worker] = make(f"phase {index} {worker}")
            self._constraints += [phase >= low, phase <= high]
            if worker:
                self._constraints.append(self.phases[index, worker - 1] <= phase)
        flow: list[SolverUpdate] = []
        for place in range(self.system.generations[index]):
            worker, turn = place % cluster.workers, place // cluster.workers
            offset = turn * cluster.period // tick
            arrival = self.phases[index, worker] + offset
            if late:
                arrival = make(f"A {index} {place}")
                delay = arrival - self.phases[index, worker] - offset
                self._constraints += [delay >= 0, delay <= late]
                if flow:
                    self._constraints.append(flow[-1].arrival <= arrival)
            name = f"{index} {place}"
            flow.append(
                SolverUpdate(
                    cluster=index,
                    worker=worker,
                    seq=turn,
                    place=place,
                    offset=offset,
                    earliest=low + offset,
                    latest=high + offset + late,
                    arrival=arrival,
                    sent=z3.Bool(f"sent {name}") if self.system.controlled else True,
                    opens=z3.Bool(f"opens {name}"),
                    lost=z3.Bool(f"lost {name}"),
                    departure=make(f"D {name}"),
                    newest=make(f"newest {name}"),
                    received=make(f"received {name}"),
                    free=make(f"free {name}"),
                    done=make(f"done {name}"),
                    previous=flow[-1] if flow else None,
                )
            )
        return flow

    def _arrange_twins(self) -> None:
        """Order clusters that differ only in name by their first phase: one of n! namings."""
        last: dict[int, int] = {}
        for index, kind in enumerate(self._symmetry):
            if kind in last:
                self._constraints.append(self.phases[last[kind], 0] <= self.phases[index, 0])
            last[kind] = index


def begin_at_zero(arrivals: Arrivals) -> Bool:
    """Return that some source's phase is 0: without feedback only time differences matter."""
    return any_of(*(phase == 0 for phase in arrivals.phases.values()))
