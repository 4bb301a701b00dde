"""The query for Z3: a system and the negation of an objective."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from olafctl.membership.objective import Kind, Objective
from olafctl.verify.encoding.arrivals import Arrivals, Update, begin_at_zero
from olafctl.verify.encoding.bounds import heard_in_turn, longest_wait
from olafctl.verify.encoding.goals import Goal
from olafctl.verify.encoding.laws import age, consequences, control, engine
from olafctl.verify.encoding.numbers import Arithmetic, Bool, Numbers
from olafctl.verify.question.objective import scope
from olafctl.verify.question.system import System, Transmission


class Query:
    """Satisfied by exactly the schedules of one horizon that violate the objective.

    First without the engine: the arrivals, the stated bounds and the goal. Where those already contradict
    each other the laws need not be searched; :meth:`complete` adds them.
    """

    def __init__(self, system: System, objective: Objective, numbers: Numbers = Numbers.REAL) -> None:
        self.system = system
        self.arithmetic = Arithmetic(numbers)
        self._wait = longest_wait(system) // system.tick
        inside = scope(system, objective)
        self.arrivals = Arrivals(system, self.arithmetic, _kinds(system, set(inside)))
        flows = [self.arrivals.flows[index] for index in inside]
        self._add(Goal(system, objective, flows, self.arithmetic).constraints)
        if _shiftable(system, objective):
            self._add([begin_at_zero(self.arrivals)])
        for update in self.arrivals.updates:
            self._add(consequences.bounded_wait(update, self._wait, system))
            if heard_in_turn(system):
                self._add(consequences.bounded_age(update, self._wait, system))
        self._add(self.arrivals.taken_constraints())

    @property
    def solver(self) -> Any:
        """The Z3 solver that holds the query."""
        return self.arithmetic.solver

    def complete(self) -> None:
        """Add the laws of engine, workers and order."""
        for update in self.arrivals.updates:
            self._add(self._laws_of(update))
        if self.system.controlled:
            for flow in self.arrivals.flows:
                self._add(self._control(flow))
        self._add(self.arrivals.order())
        self._add(self.arrivals.taken_constraints())

    def _add(self, constraints: Iterable[Bool]) -> None:
        for constraint in constraints:
            if constraint is not True:
                self.solver.add(constraint)

    def _laws_of(self, update: Update) -> Iterator[Bool]:
        """The engine's laws for one update."""
        full = engine.full_by_work(update, self.system) if self._can_fill else False
        yield from engine.output_free(update, self._ahead(update))
        yield from engine.service_time(update)
        yield from engine.single_slot(update, full)
        yield from engine.departure(update, self.system)
        yield from age.freshness(update)

    @property
    def _can_fill(self) -> bool:
        """Whether a queue can be full at all: F clusters hold at most F waiting and one leaving update."""
        return self.system.capacity < len(self.system.clusters)

    def _control(self, flow: Sequence[Update]) -> Iterator[Bool]:
        """Transmission control of one cluster (OLAF §5)."""
        credit = self.arithmetic.constant(0)
        for update in flow:
            name = f"{update.cluster} {update.place}"
            last_ack = self.arithmetic.variable(f"ACK {name}")
            yield from control.feedback_age(update, last_ack, flow, self.system)
            if self.system.transmission is Transmission.EXPECTED:
                after = self.arithmetic.variable(f"credit {name}")
                yield from control.expected_decision(update, last_ack, after, credit, self.system)
                credit = after
            else:
                yield from control.decision(update, last_ack, flow, self.system)

    def _ahead(self, update: Update) -> list[tuple[Bool, Update]]:
        """The updates that may be the last before ``update``: ``done`` never falls along the order."""
        sure, maybe = [], []
        for flow in self.arrivals.flows:
            last = None
            for other in flow:
                precedes = self.arrivals.precedes(other, update)
                if precedes is False:
                    break
                if precedes is True:
                    last = other
                else:
                    maybe.append((precedes, other))
            if last is not None:
                sure.append(last)
        latest = [
            (True, one)
            for one in sure
            if not any(one is not other and self.arrivals.precedes(one, other) is True for other in sure)
        ]
        return latest + maybe


def _kinds(system: System, inside: set[int]) -> tuple[int, ...]:
    """A number a cluster, the same for clusters that differ in name only."""
    traits = [
        (cluster.period, cluster.phase, cluster.workers, cluster.jitter, index in inside)
        for index, cluster in enumerate(system.clusters)
    ]
    return tuple(traits.index(trait) for trait in traits)


def _shiftable(system: System, objective: Objective) -> bool:
    """Whether moving all arrivals alike changes nothing: no feedback, no age from 0, all phases free."""
    free = all(cluster.phase == (0, cluster.period - system.tick) for cluster in system.clusters)
    return free and not system.controlled and objective.kind is not Kind.PEAK
