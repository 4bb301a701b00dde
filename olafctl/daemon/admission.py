"""Age-of-Model objectives at admission (OLAF §6): a change that would break one is refused before it is made.

The question goes to the verifier outside the thread that changes memberships, for it takes seconds. What it
answered holds for one situation: which clusters send how often, with how many members. An operation whose
situation was accepted is carried out only if that is still the situation when its turn comes.
"""

from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

from olafctl.daemon.controller import Controller
from olafctl.errors import BadInput, OlafError, Problem
from olafctl.membership.ground import Ground
from olafctl.membership.membership import Change, Membership
from olafctl.membership.model import Cluster, Row
from olafctl.membership.operations import Operation, Outdated, Planned
from olafctl.testbed.ground import ground
from olafctl.testbed.model import Testbed
from olafctl.verify.admission import TIMEOUT, Situation, check, situation

_ATTEMPTS = 5
_REMEMBERED = 1024


class Admission:
    """Passes to a controller only the operations that keep every objective."""

    def __init__(self, controller: Controller, testbed: Testbed, timeout: float = TIMEOUT) -> None:
        self._controller = controller
        self._testbed = testbed
        self._ground = ground(testbed)
        self._timeout = timeout
        self._accepted: OrderedDict[Situation, None] = OrderedDict()
        # The solver has one context for the whole process.
        self._pool = ThreadPoolExecutor(1, "admission")

    def close(self) -> None:
        """Wait for the verifier to finish."""
        self._pool.shutdown(cancel_futures=True)

    def submit(self, operation: Operation) -> "Future[Row]":
        """As :meth:`Controller.submit`, with objectives checked. Raises Busy."""
        if not self._concerned(operation):
            return self._unless_outdated(self._controller.submit(self._guarded(operation)), operation)
        return self._pool.submit(self._verified, operation)

    def prove(self, cluster: str, period: int) -> "Future[None]":
        """Whether every objective holds if a cluster's workers send every ``period`` ns; nothing is changed.

        Its result is None, or raises ObjectiveBroken. Raises BadInput for an unknown cluster or no period.
        """

        def then(membership: Membership) -> Situation:
            known = membership.clusters.get(cluster)
            if known is None or period < 1:
                what = f"a period of {period} ns" if known else f"there is no cluster {cluster[:40]!r}"
                raise BadInput(Problem(what, "prove"))
            changed = {**membership.clusters, cluster: replace(known, period=period)}
            return situation(changed.values(), self._ground)

        found = self._controller.look(then)
        return self._pool.submit(self._proven, found)

    def _proven(self, found: Situation) -> None:
        """Raises ObjectiveBroken; what was proven is known to changes of the membership, too."""
        if not found or found in self._accepted:
            return
        check(found, self._testbed, self._timeout)
        self._accepted[found] = None
        while len(self._accepted) > _REMEMBERED:
            self._accepted.popitem(last=False)

    def _unless_outdated(self, tried: "Future[Row]", operation: Operation) -> "Future[Row]":
        """The answer to ``operation``; it is verified again when other changes came first."""
        answer: Future[Row] = Future()

        def pass_on(done: "Future[Row]") -> None:
            error = done.exception()
            if error is None:
                answer.set_result(done.result())
            elif isinstance(error, Outdated):
                self._pool.submit(self._verified, operation).add_done_callback(pass_on)
            else:
                answer.set_exception(error)

        tried.add_done_callback(pass_on)
        return answer

    def _concerned(self, operation: Operation) -> bool:
        found = self._after(operation)
        return bool(found) and found not in self._accepted

    def _verified(self, operation: Operation) -> Row:
        for _ in range(_ATTEMPTS):
            found = self._after(operation)
            self._proven(found)
            try:
                return self._controller.submit(self._guarded(operation)).result()
            except Outdated:
                continue
        what = "other changes came first, again and again"
        raise OlafError(Problem(what, self._testbed.name, "try again in a moment"))

    def _after(self, operation: Operation) -> Situation:
        """The situation that ``operation`` would leave; empty when it leaves no new one to verify."""

        def after(membership: Membership) -> Situation:
            try:
                return _new(membership, operation(membership).change, self._ground)
            except OlafError:
                return ()  # the controller refuses it for another reason

        return self._controller.look(after)

    def _guarded(self, operation: Operation) -> Operation:
        """``operation``, if the situation it leaves is none that would still have to be verified."""

        def guarded(membership: Membership) -> Planned:
            planned = operation(membership)
            then = _new(membership, planned.change, self._ground)
            if then and then not in self._accepted:
                raise Outdated
            return planned

        return guarded


def _new(membership: Membership, change: Change, ground: Ground) -> Situation:
    """The situation after a change; empty when there is nothing to verify, or nothing new."""
    if all(new is None for new in change.values()):
        return ()  # a member may always leave
    made = [new for new in change.values() if isinstance(new, Cluster)]
    if not any(each.objective for each in (*membership.clusters.values(), *made)):
        return ()
    then = situation(membership.after(change).values(), ground)
    return () if then == situation(membership.clusters.values(), ground) else then
