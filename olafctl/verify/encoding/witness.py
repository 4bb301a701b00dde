"""From a Z3 model to a schedule."""

from functools import cmp_to_key
from typing import Any

from olafctl.verify.encoding import arrivals
from olafctl.verify.encoding.laws import age
from olafctl.verify.encoding.numbers import Bool, Term
from olafctl.verify.encoding.query import Query
from olafctl.verify.question.objective import Outcome
from olafctl.verify.simulation.schedule import Schedule, Update


class Witness:
    """A satisfying model: its schedule (None when a time falls between ticks), and what Z3 makes of it."""

    def __init__(self, query: Query, model: Any) -> None:
        self._query, self._model = query, model
        self._tick = query.system.tick
        self.schedule = self._schedule()

    def outcome(self) -> Outcome:
        """Peaks, final ages and losses as the model has them, in ns."""
        peaks: list[list[int]] = []
        for flow in self._query.arrivals.flows:
            held = [update for update in flow if self._holds(age.has_peak(update))]
            peaks.append([self._time(age.peak(update)) for update in held])
        final = [self._time(age.final_age(flow[-1])) for flow in self._query.arrivals.flows]
        lost = [sum(self._holds(update.lost) for update in flow) for flow in self._query.arrivals.flows]
        return Outcome(peaks, final, lost)

    def choices(self) -> list[tuple[str, bool]]:
        """Every Boolean variable by name, with its value."""
        return [
            (name.name(), bool(self._model[name]))
            for name in self._model.decls()
            if name.range().name() == "Bool"
        ]

    def _schedule(self) -> Schedule | None:
        read = self._query.arithmetic.read
        timed = []
        for update in self._query.arrivals.updates:
            time = read(self._model, update.arrival)
            if time is None:
                return None
            timed.append((time * self._tick, update))
        ordered = sorted(timed, key=cmp_to_key(self._earlier))
        return Schedule(
            self._query.system,
            tuple(
                Update(time, update.cluster, update.worker + 1, update.seq, self._holds(update.sent))
                for time, update in ordered
            ),
        )

    def _earlier(self, one: tuple[int, arrivals.Update], other: tuple[int, arrivals.Update]) -> int:
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
