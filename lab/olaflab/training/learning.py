"""How many heads of a training learn, and what their learners cost; where the parameter server is."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from olaf import ParameterServer
from olaf.elastic import Admission, Carried, Ledger, Warm
from olaf.elastic.lease import Invocation, Report

from olafctl.membership.model import Cluster
from olaflab.training.head import Crew
from olaflab.training.plan import UpdateStep


class Learning:
    """The admission of each cluster's learners, if it follows the network, and one ledger of all learners."""

    def __init__(self, clusters: Sequence[Cluster], crew: Crew, now: float = 0.0) -> None:
        """``now`` in seconds of the training's clock."""
        self._crew = crew
        workers = [worker.name for cluster in clusters for worker in cluster.workers]
        self._slots = {worker: slot for slot, worker in enumerate(workers)}
        self._first = {cluster.number: self._slots[cluster.workers[0].name] for cluster in clusters}
        self._admissions = {
            one.number: Admission(len(one.workers), one.segments) for one in clusters if crew.auto
        }
        self._ledger = Ledger(crew.price, crew.learners or len(self._slots), now)
        self._warm = Warm(self._ledger, crew.cold, crew.keep_alive)

    def slot_of(self, worker: str) -> int:
        """Return the slot of a worker with its own learner."""
        return self._slots[worker]

    def unit_slot(self, cluster: int, unit: int) -> int:
        """Return the slot of a cluster's ``unit``-th learner."""
        return self._first[cluster] + unit

    def begin_invocation(self, slot: int, now: float) -> Invocation:
        """Begin the invocation of a learner that has rows: now, or once it has started."""
        return self._warm.begin(slot, now)

    def end_invocation(self, invocation: Invocation, now: float) -> None:
        """End the invocation of a learner that has learnt its rows."""
        self._warm.end(invocation, now)

    def look(self, cluster: Cluster, step: UpdateStep, server: ParameterServer) -> int | None:
        """Return how many heads of a cluster may work from now on, after this update; None where all may."""
        admission = self._admissions.get(cluster.number)
        if admission is None:
            return None
        counters = server.counters(cluster.name)
        admission.chance(step.probability)
        return admission.look(Carried(counters.received, counters.updates, counters.staleness.total))

    @property
    def follows_network(self) -> bool:
        """Whether the network limits how many may work."""
        return self._crew.auto

    @property
    def admitted_heads(self) -> int:
        """Heads that may work, of all clusters; without such a limit, as many as may learn."""
        if not self._admissions:
            return self._crew.learners or len(self._slots)
        return sum(admission.learners for admission in self._admissions.values())

    def report_costs(self, now: float) -> Report:
        """Report what learners cost until now."""
        return self._ledger.report(now)

    def format_progress(self, now: float) -> str:
        """Format the costs for a line of progress."""
        report = self.report_costs(now)
        return (
            f"{self.admitted_heads} of {len(self._slots)} heads learn  {report.busy:.1f} learner s  "
            f"${report.reserved:.4f} reserved, {report.invoked:.4f} invoked, {report.whole:.4f} with starts"
        )

    def close(self, now: float) -> dict[str, Any]:
        """End all learners; return the report, and every invocation."""
        self._warm.close(now)
        return {
            "admitted": self.admitted_heads,
            **asdict(self.report_costs(now)),
            "ledger": [{**asdict(each), "cost": each.cost(now)} for each in self._ledger.invocations],
        }
