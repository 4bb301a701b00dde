"""Carry out the calls of the API, for a client of the daemon and for a command without a daemon."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import TimeoutError as TookTooLong
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from olafctl.daemon.admission import Admission
from olafctl.daemon.ages import Reported
from olafctl.daemon.api import convert, olaf_pb2
from olafctl.daemon.controller import Busy, Controller
from olafctl.daemon.messages.notices import Notices
from olafctl.membership.model import Row
from olafctl.membership.operations import Operation, Operations
from olafctl.queue.registers import Command
from olafswitch.errors import BadInput, OlafError, Problem

_TIMEOUT = 45.0
_COMMIT_TIMEOUT = 15.0
"""The seconds in which a change that was begun must end; clients wait longer."""


@dataclass(frozen=True)
class Owned:
    """The parts of one deployment that the API uses."""

    controller: Controller
    admission: Admission
    operations: Operations
    notices: Notices
    udp_port: int
    """The UDP port of a member whose request names none."""
    let_go: Callable[[], None]
    """Gives the deployment up without changing it."""
    messages: Mapping[str, int] = field(default_factory=dict)
    """The counts of control messages by outcome."""
    ages: Reported[int] = field(default_factory=Reported)
    """The average Age-of-Model by cluster, in ns."""
    staleness: Reported[Any] = field(default_factory=Reported)
    """The Staleness messages by cluster."""
    heads: Reported[Any] = field(default_factory=Reported)
    """The Head messages by worker."""
    players: Reported[Any] = field(default_factory=Reported)
    """The Player messages by member."""


class Calls:
    """The calls on deployments, which it finds by name."""

    def __init__(self, owned: dict[str, Owned]) -> None:
        """Create the calls; a deployment that is given up is removed from ``owned``."""
        self.owned = owned

    def answer_call(self, call: str, request: Any) -> Any:
        """Return the answer of one call. Raises OlafError."""
        return _ANSWERS[call](self, request)

    def watch(self, request: Any, alive: Callable[[], bool]) -> Iterator[Any]:
        """Yield events as they come, while ``alive``. Raises OlafError."""
        controller = self.controller_of(request.deployment)
        since = convert.revision_of(request)
        if since is None:
            since = controller.status(summary=True).revision
        for events in controller.watch(since, alive):
            for event in events:
                yield from convert.event_messages(event)

    def controller_of(self, deployment: str) -> Controller:
        """Return the controller of one deployment. Raises BadInput."""
        return self._choose_owned(deployment).controller

    def _choose_owned(self, deployment: str) -> Owned:
        known = ", ".join(sorted(self.owned))
        if not deployment and len(self.owned) == 1:
            return next(iter(self.owned.values()))
        if not deployment:
            raise BadInput(Problem("several deployments", "deployment", f"name one of {known}"))
        if deployment not in self.owned:
            what = f"the daemon owns no deployment {deployment[:40]!r}"
            raise BadInput(Problem(what, "deployment", f"one of: {known}"))
        return self.owned[deployment]

    def _carry_out(self, request: Any, ask: Callable[[Operations], Operation]) -> Row:
        """Return the answer of one operation. Raises OlafError."""
        owned = self._choose_owned(request.deployment)
        answer = owned.admission.submit(ask(owned.operations))
        with suppress(TookTooLong):
            return answer.result(_TIMEOUT)
        if answer.cancel():
            what = f"nothing was changed: it waited {_TIMEOUT:g} s for proofs and changes that came first"
            raise Busy(Problem(what, owned.controller.name, "try again in a moment"))
        try:
            return answer.result(_COMMIT_TIMEOUT)
        except TookTooLong:
            what = "the devices did not answer in time; whether it will be done is not known"
            raise OlafError(Problem(what, owned.controller.name, "see the status")) from None

    def _on_cluster(self, request: Any, ask: Callable[[Operations], Operation]) -> Any:
        return convert.cluster_message(self._carry_out(request, ask))

    def _on_worker(self, request: Any, ask: Callable[[Operations], Operation]) -> Any:
        return convert.worker_message(self._carry_out(request, ask))

    def _join_member(self, request: Any) -> Any:
        wish = convert.member_wish(request, self._choose_owned(request.deployment).udp_port)
        return self._on_worker(request, lambda ask: ask.join(wish))

    def _set_halted(self, request: Any, halted: bool) -> Any:
        answer = self._on_cluster(request, lambda ask: ask.set_halted(request.cluster, halted))
        self._choose_owned(request.deployment).notices.send_halt(answer.name, halted)
        return answer

    def _ask_for_help(self, request: Any) -> Any:
        notices = self._choose_owned(request.deployment).notices
        asked = notices.ask_for_help(request.cluster, request.segment, request.round, request.worker)
        return olaf_pb2.HelpAnswer(asked=asked)

    def _let_go(self, request: Any) -> Any:
        owned = self._choose_owned(request.deployment)
        if self.owned.pop(owned.controller.name, None) is not None:
            owned.let_go()
        return olaf_pb2.Nothing()

    def _delete_cluster(self, request: Any) -> Any:
        answer = self._carry_out(request, lambda ask: ask.delete_cluster(request.cluster))
        return olaf_pb2.DeleteClusterAnswer(members=answer["members"])

    def _get_status(self, request: Any) -> Any:
        chosen = [self._choose_owned(request.deployment)] if request.deployment else self.owned.values()
        return olaf_pb2.GetStatusAnswer(
            deployments=[convert.status_message(owned.controller.status(request.summary)) for owned in chosen]
        )

    def _get_queues(self, request: Any) -> Any:
        owned = self._choose_owned(request.deployment)
        queues: Mapping[str, Mapping[str, int]] = {}
        try:
            queues = owned.controller.southbound.queue_registers()
        except OlafError:
            if owned.controller.status(summary=True).ready:
                raise
        message = convert.queues_message(queues, dict(owned.messages), owned.ages.recent_reports())
        message.staleness.extend(owned.staleness.recent_reports().values())
        message.heads.extend(owned.heads.recent_reports().values())
        message.players.extend(owned.players.recent_reports().values())
        return message

    def _prove_objectives(self, request: Any) -> Any:
        proof = self._choose_owned(request.deployment).admission.prove(request.cluster, request.period)
        try:
            proof.result(_TIMEOUT)
        except TookTooLong:
            raise OlafError(Problem("no answer in time", request.cluster, "ask again")) from None
        return olaf_pb2.Nothing()

    def _report_ages(self, request: Any) -> Any:
        """Store the reports of existing clusters; then refuse a request that names others."""
        owned = self._choose_owned(request.deployment)
        known = {cluster["name"] for cluster in owned.controller.status().clusters}
        convert.check_reports(request)
        owned.ages.put({each.name: each.value for each in request.ages if each.name in known})
        owned.staleness.put({each.cluster: each for each in request.staleness if each.cluster in known})
        owned.heads.put({each.worker: each for each in request.heads if each.cluster in known})
        named = {each.name for each in request.ages}
        named |= {each.cluster for each in (*request.staleness, *request.heads)}
        if named - known:
            listed = ", ".join(repr(name[:40]) for name in sorted(named - known)[:8])
            raise BadInput(Problem(f"no cluster is called {listed}", owned.controller.name))
        return olaf_pb2.Nothing()


_ANSWERS: Mapping[str, Callable[[Calls, Any], Any]] = {
    "CreateCluster": lambda self, r: self._on_cluster(
        r, lambda ask: ask.create_cluster(convert.cluster_wish(r))
    ),
    "DeleteCluster": Calls._delete_cluster,
    "Join": Calls._join_member,
    "Leave": lambda self, r: self._on_worker(r, lambda ask: ask.leave(r.worker)),
    "MoveWorker": lambda self, r: self._on_worker(r, lambda ask: ask.move(r.worker, r.cluster, r.port)),
    "SetThreshold": lambda self, r: self._on_cluster(
        r, lambda ask: ask.set_threshold(r.cluster, r.threshold)
    ),
    "SetMode": lambda self, r: self._on_cluster(r, lambda ask: ask.set_mode(r.cluster, convert.mode_of(r))),
    "SetReward": lambda self, r: self._on_cluster(
        r, lambda ask: ask.set_reward(r.cluster, convert.reward_of(r))
    ),
    "SetStaleness": lambda self, r: self._on_cluster(
        r, lambda ask: ask.set_staleness(r.cluster, convert.bound_of(r))
    ),
    "Reset": lambda self, r: self._on_cluster(
        r, lambda ask: ask.command(Command.RESET, r.cluster, convert.segment_of(r))
    ),
    "FBcast": lambda self, r: self._on_cluster(
        r, lambda ask: ask.command(Command.FBCAST, r.cluster, convert.segment_of(r))
    ),
    "Help": Calls._ask_for_help,
    "LetGo": Calls._let_go,
    "Backup": lambda self, r: olaf_pb2.BackupAnswer(file=self.controller_of(r.deployment).backup().encode()),
    "Halt": lambda self, r: self._set_halted(r, True),
    "Resume": lambda self, r: self._set_halted(r, False),
    "GetStatus": Calls._get_status,
    "GetQueues": Calls._get_queues,
    "ReportAges": Calls._report_ages,
    "Prove": Calls._prove_objectives,
}
