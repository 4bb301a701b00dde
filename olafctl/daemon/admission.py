"""Age-of-Model objectives at admission (OLAF §6): a change that would break one is refused before it is made.

The question goes to the verifier outside the thread that changes memberships, for it takes seconds. The
answer holds for one situation: which clusters send how often, with how many members. An operation whose
situation was accepted is carried out only if that is still the situation when its turn comes.

Operations that wait for the verifier together are proven together, as the situation after all of them, and
are carried out as one change. Where that is refused, each half is proven by itself.
"""

import logging
import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from olafctl.daemon.controller import Busy, Controller, Unavailable
from olafctl.membership.ground import Ground
from olafctl.membership.membership import Change, Membership
from olafctl.membership.model import Cluster, Row
from olafctl.membership.operations import Operation, Outdated, Planned
from olafctl.queue.registers import Command
from olafctl.testbed.ground import make_ground
from olafctl.testbed.model import Testbed
from olafctl.verify.admission import TIMEOUT, Situation, check_objectives, find_situation
from olafswitch.errors import BadInput, OlafError, Problem

_log = logging.getLogger(__name__)

_ATTEMPTS = 5
_REMEMBERED = 1024
_WAITING = 1024


@dataclass(eq=False)
class _Request:
    operation: Operation
    answer: "Future[Row]" = field(default_factory=Future)
    outcome: Row | OlafError = field(default_factory=dict)
    """The answer to the operation, or the reason why it was refused."""
    _begun: bool = False

    def claim_turn(self) -> bool:
        """Return whether the operation is still wanted; from now on its caller cannot cancel it."""
        if not self._begun and not self.answer.cancelled():
            self._begun = self.answer.set_running_or_notify_cancel()
        return self._begun

    def answer_with(self, outcome: Row | BaseException) -> None:
        """Answer the operation, unless it was cancelled."""
        if not self.claim_turn():
            return
        if isinstance(outcome, BaseException):
            self.answer.set_exception(outcome)
        else:
            self.answer.set_result(outcome)


class Admission:
    """A filter that passes to a controller only the operations that keep every objective."""

    def __init__(self, controller: Controller, testbed: Testbed, timeout: float = TIMEOUT) -> None:
        self._controller = controller
        self._testbed = testbed
        self._ground = make_ground(testbed)
        self._timeout = timeout
        self._accepted: OrderedDict[Situation, None] = OrderedDict()
        self._waiting: list[_Request] = []
        self._lock = threading.Lock()
        # The solver has one context for the whole process.
        self._pool = ThreadPoolExecutor(1, "admission")

    def close(self) -> None:
        """Wait for the verifier to finish, and refuse operations that still wait for it."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for request in waiting:
            what = "nothing was changed: the daemon let it go"
            request.answer_with(Unavailable(Problem(what, self._testbed.name)))
        self._pool.shutdown(cancel_futures=True)

    def submit(self, operation: Operation) -> "Future[Row]":
        """Submit as :meth:`Controller.submit` does, with objectives checked. The caller may cancel the
        operation until it is begun. Raises Busy.

        Raises Busy."""
        request = _Request(operation)
        found = self._left_by([request])
        if found and found not in self._accepted:
            self._let_wait(request)
            return request.answer

        def answer(done: "Future[Row]") -> None:
            error = done.exception()
            if isinstance(error, Outdated):  # other changes came first
                self._let_wait(request)
            else:
                request.answer_with(error or request.outcome)

        self._controller.submit(self._join_operations([request])).add_done_callback(answer)
        return request.answer

    def prove(self, cluster: str, period: int) -> "Future[None]":
        """Prove that every objective holds if a cluster's workers send every ``period`` ns; change nothing.

        The future's result is None, or it raises ObjectiveBroken. Raises BadInput for an unknown cluster or
        no period.
        """

        def then(membership: Membership) -> Situation:
            known = membership.clusters.get(cluster)
            if known is None or period < 1:
                what = f"a period of {period} ns" if known else f"cluster {cluster[:40]!r} does not exist"
                raise BadInput(Problem(what, "prove"))
            changed = {**membership.clusters, cluster: replace(known, period=period)}
            return find_situation(changed.values(), self._ground)

        found = self._controller.look(then)
        return self._pool.submit(self._prove_situation, found)

    def _prove_situation(self, found: Situation, advise: bool = True) -> None:
        """Raise ObjectiveBroken if a situation breaks an objective; remember a situation that does not."""
        if not found or found in self._accepted:
            return
        check_objectives(found, self._testbed, self._timeout, advise=advise)
        self._accepted[found] = None
        while len(self._accepted) > _REMEMBERED:
            self._accepted.popitem(last=False)

    def _let_wait(self, request: _Request) -> None:
        """Have an operation proven, with the others that wait. Raises Busy."""
        with self._lock:
            if len(self._waiting) >= _WAITING:
                what = f"{_WAITING} changes wait for a proof already; nothing was changed"
                raise Busy(Problem(what, self._testbed.name, "try again in a moment"))
            self._waiting.append(request)
        self._pool.submit(self._take_waiting)

    def _take_waiting(self) -> None:
        with self._lock:
            group, self._waiting = self._waiting, []
        try:
            self._decide_group(group)
        except Exception as error:
            _log.exception("%s: a defect; changes were not proven", self._testbed.name)
            for request in group:
                if not request.answer.done():
                    request.answer_with(error)

    def _decide_group(self, group: Sequence[_Request]) -> None:
        """Prove and carry out a group as one change, or each half by itself."""
        for _ in range(_ATTEMPTS):
            group = [request for request in group if not request.answer.cancelled()]
            if not group:
                return
            try:
                self._prove_situation(self._left_by(group), advise=len(group) == 1)
                self._controller.submit(self._join_operations(group)).result()
            except Outdated:
                continue
            except OlafError as error:
                if len(group) == 1:
                    group[0].answer_with(error)
                    return
                half = len(group) // 2
                self._decide_group(group[:half])
                self._decide_group(group[half:])
                return
            for request in group:
                request.answer_with(request.outcome)
            return
        what = "other changes came first, again and again"
        for request in group:
            request.answer_with(OlafError(Problem(what, self._testbed.name, "try again in a moment")))

    def _left_by(self, group: Sequence[_Request]) -> Situation:
        """Return the situation that a group would leave; empty when it leaves no new one to verify."""

        def left(membership: Membership) -> Situation:
            return _find_new_situation(membership, _plan_group(membership, group).change, self._ground)

        return self._controller.look(left)

    def _join_operations(self, group: Sequence[_Request]) -> Operation:
        """Return a group as one operation, if the situation after it does not have to be verified first."""

        def joint(membership: Membership) -> Planned:
            planned = _plan_group(membership, [request for request in group if request.claim_turn()])
            then = _find_new_situation(membership, planned.change, self._ground)
            if then and then not in self._accepted:
                raise Outdated
            return planned

        return joint


def _plan_group(membership: Membership, group: Sequence[_Request]) -> Planned:
    """Return the changes of a group, each operation after those before it, with its own outcome."""
    after = membership if len(group) == 1 else membership.copy()
    change: Change = {}
    commands: list[tuple[Command, int, int]] = []
    for request in group:
        try:
            planned = request.operation(after)
        except OlafError as error:
            request.outcome = error
            continue
        request.outcome = planned.answer
        change.update(planned.change)
        commands += planned.commands
        if after is not membership:
            after.apply(planned.change)
    return Planned(change, {}, commands)


def _find_new_situation(membership: Membership, change: Change, ground: Ground) -> Situation:
    """Return the situation after a change; empty when it is not new or has nothing to verify."""
    if all(new is None for new in change.values()):
        return ()  # a member may always leave
    made = [new for new in change.values() if isinstance(new, Cluster)]
    if not any(each.objective for each in (*membership.clusters.values(), *made)):
        return ()
    then = find_situation(membership.after(change).values(), ground)
    return () if then == find_situation(membership.clusters.values(), ground) else then
