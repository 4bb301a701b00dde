"""Age-of-Model objectives at admission (OLAF §6): a change that would break one is refused before it is made.

The question goes to the verifier outside the thread that changes memberships, for it takes seconds. What it
answered holds for one situation: which clusters send how often, with how many members. An operation whose
situation was accepted is carried out only if that is still the situation when its turn comes.
"""

from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction

from olafctl.daemon.controller import Controller
from olafctl.daemon.membership import Membership
from olafctl.daemon.model import Row
from olafctl.daemon.objectives import check_objective
from olafctl.daemon.operations import Operation, Outdated, Planned
from olafctl.errors import BadInput, OlafError, Problem
from olafctl.testbed.model import Testbed

_ATTEMPTS = 5
_REMEMBERED = 1024
_UPDATES = 20
_SLOWER = tuple(Fraction(1, 2**step) for step in range(1, 6))

Flow = tuple[str, int, int, str]
"""A cluster's name, its period in ns, its members and its objective."""
Situation = tuple[Flow, ...]


class ObjectiveBroken(BadInput):
    """A change that an Age-of-Model objective forbids."""


@dataclass(frozen=True)
class Policy:
    """How long to ask, and what to do without an answer."""

    timeout: float = 5.0
    """Seconds for each objective, and as long again for the largest rate."""
    accept_unknown: bool = False


class Admission:
    """Stands before a controller: what it submits keeps every objective."""

    def __init__(self, controller: Controller, testbed: Testbed, policy: Policy | None = None) -> None:
        self._controller = controller
        self._testbed = testbed
        self._policy = policy or Policy()
        self._accepted: OrderedDict[Situation, None] = OrderedDict()
        # The solver has one context for the whole process.
        self._pool = ThreadPoolExecutor(1, "admission")

    def close(self) -> None:
        """Finish what is being verified."""
        self._pool.shutdown(cancel_futures=True)

    def submit(self, operation: Operation) -> "Future[Row]":
        """As :meth:`Controller.submit`, with objectives checked. Raises Busy."""
        if not self._concerned(operation):
            return self._unless_outdated(self._controller.submit(self._guarded(operation)), operation)
        return self._pool.submit(self._verified, operation)

    def _unless_outdated(self, tried: "Future[Row]", operation: Operation) -> "Future[Row]":
        """What became of ``operation``, which is verified after all when other changes came first."""
        answer: Future[Row] = Future()

        def settle(done: "Future[Row]") -> None:
            error = done.exception()
            if error is None:
                answer.set_result(done.result())
            elif isinstance(error, Outdated):
                self._pool.submit(self._verified, operation).add_done_callback(settle)
            else:
                answer.set_exception(error)

        tried.add_done_callback(settle)
        return answer

    def _concerned(self, operation: Operation) -> bool:
        situation = self._after(operation)
        return bool(situation) and situation not in self._accepted

    def _verified(self, operation: Operation) -> Row:
        for _ in range(_ATTEMPTS):
            situation = self._after(operation)
            if situation and situation not in self._accepted:
                self._check(situation)
                self._accepted[situation] = None
                while len(self._accepted) > _REMEMBERED:
                    self._accepted.popitem(last=False)
            try:
                return self._controller.submit(self._guarded(operation)).result()
            except Outdated:
                continue
        what = "other changes came first, again and again"
        raise OlafError(Problem(what, self._testbed.name, "try again in a moment"))

    def _after(self, operation: Operation) -> Situation:
        """The situation that ``operation`` would leave; empty when it leaves no new one to verify."""
        found: list[Situation] = []

        def plan(membership: Membership) -> None:
            try:
                change = operation(membership).change
            except OlafError:
                return  # it is refused for another reason, by the controller
            now, then = _situation(membership, {}), _situation(membership, change)
            if then != now:
                found.append(then)

        self._controller.look(plan)
        return found[0] if found else ()

    def _guarded(self, operation: Operation) -> Operation:
        """``operation``, if the situation it leaves is none that would still have to be verified."""

        def guarded(membership: Membership) -> Planned:
            planned = operation(membership)
            then = _situation(membership, planned.change)
            if then and then != _situation(membership, {}) and then not in self._accepted:
                raise Outdated
            return planned

        return guarded

    def _check(self, situation: Situation) -> None:
        """Raises ObjectiveBroken when an objective does not hold, or may not."""
        from olafctl.verify.question import parse
        from olafctl.verify.question.system import Cluster, System, Transmission
        from olafctl.verify.search import ranges
        from olafctl.verify.search.verdict import Answer, verify

        sending = {name: (period, workers) for name, period, workers, _ in situation if workers}
        if not sending:
            return
        system = System(
            clusters=tuple(
                Cluster(name, period, (0, period - 1), workers) for name, (period, workers) in sending.items()
            ),
            service=parse.service_of(self._testbed, None),
            slots=self._testbed.root.slots,
            updates=_UPDATES,
            transmission=Transmission.ANY,
        )
        for name, period, _, text in situation:
            if not text or name not in sending:
                continue
            check_objective(text, period, self._testbed)  # it may come from a backup of another testbed
            objective = parse.objective(text if "@" in text or text == "loss-free" else f"{text}@{name}")
            verdict = verify(system, objective, self._policy.timeout)
            if verdict.answer is Answer.ACCEPT:
                continue
            if verdict.answer is Answer.UNKNOWN and self._policy.accept_unknown:
                continue
            found = verdict.counterexample
            reason = found.violation.what if found else f"is not decided in {self._policy.timeout:g} s"
            share = self._policy.timeout / len(_SLOWER)
            slower = ((factor, ranges.at_rate(system, factor)) for factor in _SLOWER)
            accepted = (
                factor for factor, one in slower if verify(one, objective, share).answer is Answer.ACCEPT
            )
            largest = next(accepted, None)
            remedy = "no rate tried is accepted"
            if largest is not None:
                remedy = f"accepted when every worker sends {largest} times as often"
            raise ObjectiveBroken(Problem(f"would break {text} of {name!r}: {reason}", "objective", remedy))


def _situation(membership: Membership, change: Mapping[str, Row | None]) -> Situation:
    """What an objective depends on, after a change; empty when there is no objective."""
    flows = {
        name: (cluster.period, cluster.objective, len(membership.members_of(name)))
        for name, cluster in membership.clusters.items()
        if cluster.period
    }
    for key, row in sorted(change.items()):  # clusters before their members
        room, _, name = key.partition("/")
        if room == "cluster":
            members = flows.pop(name, (0, "", 0))[2]
            if row is not None and row["period"]:
                flows[name] = (int(row["period"]), str(row["objective"]), members)
        elif room == "member":
            before = membership.members.get(name)
            for cluster, step in ((before and before.cluster, -1), (row and str(row["cluster"]), 1)):
                if cluster in flows:
                    period, objective, members = flows[cluster]
                    flows[cluster] = (period, objective, members + step)
    if not any(objective for _, objective, _ in flows.values()):
        return ()
    return tuple(
        (name, period, members, objective) for name, (period, objective, members) in sorted(flows.items())
    )
