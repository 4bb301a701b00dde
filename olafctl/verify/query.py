"""The query for Z3: the laws, the negation of an objective, and a schedule from its model."""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cmp_to_key
from typing import Any

from olafctl.membership.objective import Objective, ObjectiveKind
from olafctl.verify.arrivals import (
    Arithmetic,
    Arrivals,
    Bool,
    Numbers,
    SolverUpdate,
    Term,
    all_of,
    any_of,
    begin_at_zero,
    make_implication,
    negate,
    z3,
)
from olafctl.verify.laws import (
    bounded_age,
    bounded_wait,
    expected_decision,
    feedback_age,
    final_age,
    full_by_work,
    has_peak,
    heard_in_turn,
    law_of_decision,
    law_of_departure,
    law_of_freshness,
    longest_wait,
    output_free,
    peak_age,
    service_time,
    single_slot,
)
from olafctl.verify.question import ScheduleOutcome, find_scope
from olafctl.verify.simulation import GeneratedUpdate as Generated
from olafctl.verify.simulation import UpdateSchedule
from olafctl.verify.system import System, Transmission


class Goal:
    """Constraints that hold exactly of the schedules violating ``objective`` in the clusters ``scope``."""

    def __init__(
        self,
        system: System,
        objective: Objective,
        flows: Sequence[Sequence[SolverUpdate]],
        arithmetic: Arithmetic,
    ) -> None:
        self._system, self._arithmetic = system, arithmetic
        self.constraints: list[Bool] = []
        bound = objective.bound / system.tick
        if objective.kind is ObjectiveKind.LOSS_FREE:
            self.constraints.append(any_of(*(update.lost for flow in flows for update in flow)))
        elif objective.kind is ObjectiveKind.PEAK:
            self.constraints.append(any_of(*(self._too_old(flow, bound) for flow in flows)))
        elif objective.kind is ObjectiveKind.AVERAGE:
            means = [self._mean(flow) for flow in flows]
            self.constraints.append(
                any_of(*(mean.above(bound) for mean in means), *(m.starved for m in means))
            )
        else:
            means = [self._mean(flow) for flow in flows]
            apart = [one.apart(other, bound) for one in means for other in means if one is not other]
            self.constraints.append(any_of(*apart, *(mean.starved for mean in means)))

    def _too_old(self, flow: Sequence[SolverUpdate], bound: Fraction) -> Bool:
        """Return that a Δ_p, or the age at the last generation, exceeds ``bound`` (whole ticks: >
        ⌊bound⌋)."""
        whole = int(bound)
        peaks = [all_of(has_peak(update), peak_age(update) > whole) for update in flow]
        return any_of(*peaks, final_age(flow[-1]) > whole)

    def _mean(self, flow: Sequence[SolverUpdate]) -> "Mean":
        """Return avg Δ_p of a cluster over its peaks within the horizon."""
        name = flow[0].cluster
        total: Term = self._arithmetic.constant(0)
        for update in flow:
            exists = has_peak(update)
            if exists is False:
                continue
            grown = self._arithmetic.variable(f"peaks {name} {update.place}")
            self.constraints.append(make_implication(exists, grown == total + peak_age(update)))
            self.constraints.append(make_implication(negate(exists), grown == total))
            total = grown
        mean = Mean(self._arithmetic, str(name), total, [has_peak(update) for update in flow[1:]])
        self.constraints += [*mean.constraints, *self._mean_bounds(mean, name)]
        return mean

    def _mean_bounds(self, mean: "Mean", index: int) -> list[Bool]:
        """Return the bounds of :func:`bounded_age` for the mean, which are stated, not summed."""
        system, cluster = self._system, self._system.clusters[index]
        if not heard_in_turn(system):
            return []
        wait = longest_wait(system)
        highest = cluster.period + cluster.jitter + wait
        lowest = max(cluster.period - cluster.jitter, 0) if cluster.workers == 1 else 0
        value = mean.value * system.tick
        bounds = [any_of(mean.starved, all_of(value >= lowest, value <= highest))]
        if (system.rounds[index] - 1) * cluster.period - cluster.jitter >= wait:
            bounds.append(negate(mean.starved))  # the first slot has left when the last update arrives
        return bounds


class Mean:
    """A mean total / count, with the count of ``flags`` case by case, so that everything stays linear."""

    def __init__(self, arithmetic: Arithmetic, name: str, total: Term, flags: Sequence[Bool]) -> None:
        self.starved = negate(any_of(*flags))
        self.value: Term = z3.Real(f"average {name}")
        real = z3.ToReal(total) if arithmetic.numbers is Numbers.INTEGER else total
        self.constraints: list[Bool] = [
            z3.Implies(z3.PbEq([(flag, 1) for flag in flags], count), count * self.value == real)
            for count in range(1, len(flags) + 1)
        ]

    def above(self, bound: Fraction) -> Bool:
        """Return avg Δ_p > bound."""
        return all_of(z3.Not(self.starved), self.value > _make_rational(bound))

    def apart(self, other: "Mean", bound: Fraction) -> Bool:
        """Return avg Δ_p of this minus that of ``other`` > bound."""
        return all_of(
            z3.Not(self.starved), z3.Not(other.starved), self.value - other.value > _make_rational(bound)
        )


def _make_rational(value: Fraction) -> Term:
    return (
        z3.RealVal(value.numerator) / value.denominator
        if value.denominator > 1
        else z3.RealVal(value.numerator)
    )


class Query:
    """A query that exactly the schedules of one horizon that violate the objective satisfy.

    It begins without the engine: the arrivals, the stated bounds and the goal. Where these already contradict
    each other the laws need not be searched; :meth:`complete` adds them.
    """

    def __init__(self, system: System, objective: Objective, numbers: Numbers = Numbers.REAL) -> None:
        self.system = system
        self.arithmetic = Arithmetic(numbers)
        self._wait = longest_wait(system) // system.tick
        inside = find_scope(system, objective)
        self.arrivals = Arrivals(system, self.arithmetic, _cluster_kinds(system, set(inside)))
        flows = [self.arrivals.flows[index] for index in inside]
        self._add(Goal(system, objective, flows, self.arithmetic).constraints)
        if _is_shiftable(system, objective):
            self._add([begin_at_zero(self.arrivals)])
        for update in self.arrivals.updates:
            self._add(bounded_wait(update, self._wait, system))
            if heard_in_turn(system):
                self._add(bounded_age(update, self._wait, system))
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

    def _laws_of(self, update: SolverUpdate) -> Iterator[Bool]:
        """Yield the engine's laws for one update."""
        full = full_by_work(update, self.system) if self._can_fill else False
        yield from output_free(update, self._ahead(update))
        yield from service_time(update)
        yield from single_slot(update, full)
        yield from law_of_departure(update, self.system)
        yield from law_of_freshness(update)

    @property
    def _can_fill(self) -> bool:
        """Return whether a queue can be full: F clusters have at most F waiting updates and one leaving."""
        return self.system.capacity < len(self.system.clusters)

    def _control(self, flow: Sequence[SolverUpdate]) -> Iterator[Bool]:
        """Yield the laws of one cluster's transmission control (OLAF §5)."""
        credit = self.arithmetic.constant(0)
        for update in flow:
            name = f"{update.cluster} {update.place}"
            last_ack = self.arithmetic.variable(f"ACK {name}")
            yield from feedback_age(update, last_ack, flow, self.system)
            if self.system.transmission is Transmission.EXPECTED:
                after = self.arithmetic.variable(f"credit {name}")
                yield from expected_decision(update, last_ack, after, credit, self.system)
                credit = after
            else:
                yield from law_of_decision(update, last_ack, flow, self.system)

    def _ahead(self, update: SolverUpdate) -> list[tuple[Bool, SolverUpdate]]:
        """Return the updates that may be the last before ``update``: ``done`` never falls along the order."""
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


def _cluster_kinds(system: System, inside: set[int]) -> tuple[int, ...]:
    """Return a number for each cluster, the same for clusters that differ only in name."""
    traits = [
        (cluster.period, cluster.phase, cluster.workers, cluster.jitter, index in inside)
        for index, cluster in enumerate(system.clusters)
    ]
    return tuple(traits.index(trait) for trait in traits)


def _is_shiftable(system: System, objective: Objective) -> bool:
    """Return whether moving all arrivals alike changes nothing: no feedback, no age from 0, all phases
    free."""
    free = all(cluster.phase == (0, cluster.period - system.tick) for cluster in system.clusters)
    return free and not system.controlled and objective.kind is not ObjectiveKind.PEAK


class Witness:
    """A satisfying model: its schedule (None when a time falls between ticks), and Z3's values in it."""

    def __init__(self, query: Query, model: Any) -> None:
        self._query, self._model = query, model
        self._tick = query.system.tick
        self.schedule = self._schedule()

    def outcome(self) -> ScheduleOutcome:
        """Return the model's peaks, final ages and losses, in ns."""
        peaks: list[list[int]] = []
        for flow in self._query.arrivals.flows:
            held = [update for update in flow if self._holds(has_peak(update))]
            peaks.append([self._time(peak_age(update)) for update in held])
        final = [self._time(final_age(flow[-1])) for flow in self._query.arrivals.flows]
        lost = [sum(self._holds(update.lost) for update in flow) for flow in self._query.arrivals.flows]
        return ScheduleOutcome(peaks, final, lost)

    def choices(self) -> list[tuple[str, bool]]:
        """Return every Boolean variable by name, with its value."""
        return [
            (name.name(), bool(self._model[name]))
            for name in self._model.decls()
            if name.range().name() == "Bool"
        ]

    def _schedule(self) -> UpdateSchedule | None:
        read = self._query.arithmetic.read
        timed = []
        for update in self._query.arrivals.updates:
            time = read(self._model, update.arrival)
            if time is None:
                return None
            timed.append((time * self._tick, update))
        ordered = sorted(timed, key=cmp_to_key(self._earlier))
        return UpdateSchedule(
            self._query.system,
            tuple(
                Generated(time, update.cluster, update.worker + 1, update.seq, self._holds(update.sent))
                for time, update in ordered
            ),
        )

    def _earlier(self, one: tuple[int, SolverUpdate], other: tuple[int, SolverUpdate]) -> int:
        if one[0] != other[0]:
            return one[0] - other[0]
        return -1 if self._holds(self._query.arrivals.precedes(one[1], other[1])) else 1

    def _holds(self, condition: Bool) -> bool:
        if isinstance(condition, bool):
            return condition
        return bool(self._model.eval(condition, model_completion=True))

    def _time(self, term: Term) -> int:
        value = self._query.arithmetic.read(self._model, term)
        if value is None:
            raise ValueError("a time of an integral schedule falls between ticks")
        return value * self._tick
