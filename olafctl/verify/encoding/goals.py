"""The negation of each objective: what Z3 looks for, a schedule that violates it."""

from collections.abc import Sequence
from fractions import Fraction

from olafctl.membership.objective import Kind, Objective
from olafctl.verify.encoding.arrivals import Update
from olafctl.verify.encoding.bounds import heard_in_turn, longest_wait
from olafctl.verify.encoding.laws import age
from olafctl.verify.encoding.numbers import (
    Arithmetic,
    Bool,
    Numbers,
    Term,
    both,
    either,
    implies,
    negation,
    z3,
)
from olafctl.verify.question.system import System


class Goal:
    """Constraints that hold exactly of the schedules violating ``objective`` in the clusters ``scope``."""

    def __init__(
        self,
        system: System,
        objective: Objective,
        flows: Sequence[Sequence[Update]],
        arithmetic: Arithmetic,
    ) -> None:
        self._system, self._arithmetic = system, arithmetic
        self.constraints: list[Bool] = []
        bound = objective.bound / system.tick
        if objective.kind is Kind.LOSS_FREE:
            self.constraints.append(either(*(update.lost for flow in flows for update in flow)))
        elif objective.kind is Kind.PEAK:
            self.constraints.append(either(*(self._too_old(flow, bound) for flow in flows)))
        elif objective.kind is Kind.AVERAGE:
            means = [self._mean(flow) for flow in flows]
            self.constraints.append(
                either(*(mean.above(bound) for mean in means), *(m.starved for m in means))
            )
        else:
            means = [self._mean(flow) for flow in flows]
            apart = [one.apart(other, bound) for one in means for other in means if one is not other]
            self.constraints.append(either(*apart, *(mean.starved for mean in means)))

    def _too_old(self, flow: Sequence[Update], bound: Fraction) -> Bool:
        """Some Δ_p, or the age at the last generation, exceeds ``bound`` (whole ticks: > ⌊bound⌋)."""
        whole = int(bound)
        peaks = [both(age.has_peak(update), age.peak(update) > whole) for update in flow]
        return either(*peaks, age.final_age(flow[-1]) > whole)

    def _mean(self, flow: Sequence[Update]) -> "Mean":
        """avg Δ_p of a cluster over its peaks within the horizon."""
        name = flow[0].cluster
        total: Term = self._arithmetic.constant(0)
        for update in flow:
            exists = age.has_peak(update)
            if exists is False:
                continue
            grown = self._arithmetic.variable(f"peaks {name} {update.place}")
            self.constraints.append(implies(exists, grown == total + age.peak(update)))
            self.constraints.append(implies(negation(exists), grown == total))
            total = grown
        mean = Mean(self._arithmetic, str(name), total, [age.has_peak(update) for update in flow[1:]])
        self.constraints += [*mean.constraints, *self._mean_bounds(mean, name)]
        return mean

    def _mean_bounds(self, mean: "Mean", index: int) -> list[Bool]:
        """The bounds of :func:`consequences.bounded_age` hold of the mean too: stated, not summed."""
        system, cluster = self._system, self._system.clusters[index]
        if not heard_in_turn(system):
            return []
        wait = longest_wait(system)
        highest = cluster.period + cluster.jitter + wait
        lowest = max(cluster.period - cluster.jitter, 0) if cluster.workers == 1 else 0
        value = mean.value * system.tick
        bounds = [either(mean.starved, both(value >= lowest, value <= highest))]
        if (system.rounds[index] - 1) * cluster.period - cluster.jitter >= wait:
            bounds.append(negation(mean.starved))  # the first slot has left when the last update arrives
        return bounds


class Mean:
    """total / count, with the count of ``flags`` case by case, so that everything stays linear."""

    def __init__(self, arithmetic: Arithmetic, name: str, total: Term, flags: Sequence[Bool]) -> None:
        self.starved = negation(either(*flags))
        self.value: Term = z3.Real(f"average {name}")
        real = z3.ToReal(total) if arithmetic.numbers is Numbers.INTEGER else total
        self.constraints: list[Bool] = [
            z3.Implies(z3.PbEq([(flag, 1) for flag in flags], count), count * self.value == real)
            for count in range(1, len(flags) + 1)
        ]

    def above(self, bound: Fraction) -> Bool:
        """avg Δ_p > bound."""
        return both(z3.Not(self.starved), self.value > _rational(bound))

    def apart(self, other: "Mean", bound: Fraction) -> Bool:
        """avg Δ_p of this minus that of ``other`` > bound."""
        return both(z3.Not(self.starved), z3.Not(other.starved), self.value - other.value > _rational(bound))


def _rational(value: Fraction) -> Term:
    return (
        z3.RealVal(value.numerator) / value.denominator
        if value.denominator > 1
        else z3.RealVal(value.numerator)
    )
