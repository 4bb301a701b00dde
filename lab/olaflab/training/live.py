"""Training in wall time: workers as processes or Ray tasks, and the counters of the engine."""

import logging
import math
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from types import MappingProxyType

from olaf import ParameterServer
from olaf.elastic import SharedPool
from olaf.transport.udp import UdpPort

from olafctl.control.serving import parameter_server, served_clusters
from olafctl.membership.model import Cluster, Host
from olafctl.targets.interface import Registers
from olafctl.testbed.model import Testbed
from olaflab.training.admission import Admit, always_admit
from olaflab.training.cosim.medium import address_of
from olaflab.training.journal import ClusterProgress, Journal
from olaflab.training.learning import Learning
from olaflab.training.plan import ClusterFigures, TrainingPlan, UpdateStep, summarise_cluster, values_of
from olaflab.training.team import WorkerJob, WorkerProcesses, WorkerTeam
from olafswitch.errors import BadInput, OlafError, Problem
from olafswitch.ports.namespace import run_within


class Counting:
    """A queue's counters from now on. What a dead engine counted after the last look is lost with it."""

    def __init__(self, registers: Registers) -> None:
        """Raises OlafError when the engine does not answer."""
        self._registers = registers
        self._last = registers.read_all()
        self._counted = dict.fromkeys(self._last, 0)
        self.answers = True
        """Whether the engine did when it was last looked at."""

    def look(self) -> dict[str, int]:
        """Read the counters by name; the last ones while the engine does not answer."""
        try:
            now = self._registers.read_all()
        except OlafError:
            self.answers = False
            return self._counted
        self.answers = True
        # Its clock begins with it.
        before = {} if now["cycle"] < self._last["cycle"] else self._last
        self._counted = {
            name: counted + now[name] - before.get(name, 0) for name, counted in self._counted.items()
        }
        self._last = now
        return self._counted


def count_lost(counted: dict[str, int]) -> int:
    """Count the updates that were dropped, whatever the reason."""
    return sum(value for name, value in counted.items() if name.startswith("dropped_"))


_LOG = logging.getLogger("olafctl")
_LINGER = 30.0
"""Seconds that workers have to end what they are at."""
_CHECKPOINT = 5.0
"""Seconds of training that a kill -9 may cost."""

Show = Callable[[Mapping[str, ClusterProgress], ParameterServer], None]
"""Given every cluster's figures now and then, by name, and the server that has their weights."""


Gather = Callable[[Sequence[WorkerJob]], WorkerTeam]
"""Brings the workers up."""


def train_live(
    testbed: Testbed,
    server: Host,
    plan: TrainingPlan,
    namespaces: Mapping[str, str | None],
    journal: Journal,
    report: float,
    show: Show,
    gather: Gather = WorkerProcesses,
    admits: Mapping[str, Admit] = MappingProxyType({}),
    learning: Learning | None = None,
) -> list[ClusterFigures]:
    """Train every cluster that is not of an iswitch mode until each worker has made its updates, or Ctrl-C.

    ``namespaces`` are the hosts' by name, None this process's own; ``show`` is called every ``report``
    seconds; ``admits`` and ``learning`` are for heads, the former by cluster. Raises BadInput for a cluster
    that no network fits, and for addresses that cannot be used.
    """
    clusters = served_clusters(testbed)
    values = {cluster.name: values_of(cluster, testbed) for cluster in clusters}
    serving = _open_server(testbed, server, plan, namespaces[server.name], journal, values)
    begin = time.monotonic() - journal.begin
    gates = {
        one.number: SharedPool(f"train-{os.getpid()}-{one.name}", len(one.workers))
        for one in clusters
        if learning is not None and learning.follows_network
    }
    jobs = [
        WorkerJob(
            cluster,
            worker,
            namespaces[worker.name],
            server,
            plan,
            journal.done[worker.name],
            journal.memory(worker.name),
            f"train-{os.getpid()}-{worker.name}",
            f"train-{os.getpid()}",
            admits.get(cluster.name, always_admit),
            f"train-{os.getpid()}-{cluster.name}" if gates else "",
        )
        for cluster in clusters
        for worker in cluster.workers
    ]
    with closing(serving), gather(jobs) as team:
        until = due = time.monotonic() + report
        end = math.inf if plan.seconds is None else time.monotonic() + plan.seconds
        ending = False
        while team.left and (not ending or time.monotonic() < until):
            try:
                for message in team.steps(max(min(due, end) - time.monotonic(), 0.0)):
                    step = _rebase_step(message, begin)
                    journal.write_update(step)
                    if learning is not None:
                        _record_learnt(learning, step, clusters, serving, gates)
                if time.monotonic() >= end and not ending:
                    ending, until, end = True, time.monotonic() + _LINGER, math.inf
                    team.stop()
                if time.monotonic() >= due:
                    due += report
                    show(_collect_figures(clusters, serving, journal, begin), serving)
            except KeyboardInterrupt:
                if ending:
                    raise
                # The command line lets only the first one through, for commands that clean up then.
                signal.signal(signal.SIGINT, signal.default_int_handler)
                _LOG.warning("every worker finishes what it is at; Ctrl-C again ends at once")
                ending, until = True, time.monotonic() + _LINGER
                team.stop()
        show(_collect_figures(clusters, serving, journal, begin), serving)
        return [
            summarise_cluster(one, journal.steps, [team.counters[w.name] for w in one.workers], serving)
            for one in clusters
        ]


def _rebase_step(step: UpdateStep, begin: float) -> UpdateStep:
    """Rebase a step's times to seconds since ``begin``."""
    turnout = step.turnout
    if turnout is not None:
        turnout = replace(turnout, began=turnout.began - begin, learnt=turnout.learnt - begin)
    return replace(step, time=time.monotonic() - begin, turnout=turnout)


def _record_learnt(
    learning: Learning,
    step: UpdateStep,
    clusters: tuple[Cluster, ...],
    serving: ParameterServer,
    gates: Mapping[int, SharedPool],
) -> None:
    """Record a worker's learner in its process: it has started with that, and is alive as long."""
    if step.turnout is not None:
        invocation = learning.begin_invocation(learning.slot_of(step.worker), step.turnout.began)
        learning.end_invocation(invocation, step.turnout.learnt)
    (cluster,) = [one for one in clusters if one.number == step.cluster]
    number = learning.look(cluster, step, serving)
    if number is not None:
        gates[cluster.number].limit(number)


def _open_server(
    testbed: Testbed,
    server: Host,
    plan: TrainingPlan,
    namespace: str | None,
    journal: Journal,
    values: Mapping[str, int],
) -> ParameterServer:
    """Open the server with models of so many ``values`` by cluster, whatever the checkpoint holds."""
    host, number = address_of(server)
    try:
        port = run_within(namespace, lambda: UdpPort((host, number)))
    except OSError as error:
        what = error.strerror or str(error)
        raise BadInput(Problem(what, f"parameter server {server.name}", "is another one running?")) from error
    serving = parameter_server(
        testbed, f"{host}:{number}", plan.policy, port=port, checkpoint=journal.checkpoint, every=_CHECKPOINT
    )
    for name, wanted in values.items():
        weights = serving.weights(name)
        if weights is not None and len(weights) != wanted:
            port.close()  # and leave the checkpoint as it is
            what = f"has {len(weights)} values of {name}, which has {wanted} in the testbed"
            raise BadInput(Problem(what, str(journal.checkpoint), "choose another folder with --out"))
    return serving


def _collect_figures(
    clusters: tuple[Cluster, ...], serving: ParameterServer, journal: Journal, begin: float
) -> Mapping[str, ClusterProgress]:
    """Collect the figures of the clusters that have any."""
    now = time.monotonic() - begin
    found = {one.name: journal.report_cluster(one, now, serving.age_of_model(one.name)) for one in clusters}
    return {name: figures for name, figures in found.items() if figures is not None}
