"""Trainings whose learners share a slow output.

Learners are functions of (newest weights, rows) that compute for a log-normal time; rows are steps of
CartPole, played with the weights that a learner takes. Members, server and policies are the SDK's, and every
datagram goes through an engine, all in virtual time. Stellaris' evaluation asks what rules against staleness
are worth there, and the equal terms what Olaf adds to all that needs no device.
"""

import hashlib
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from math import isinf
from pathlib import Path
from typing import Any

import numpy as np
import olaf
from olaf.elastic import Admission, Carried, Learners, Ledger
from olaf.policies import Asynchronous, PolicyMaker, Stellaris
from olaf.server import ServerCounters
from olaf.transport.virtual import VirtualNetwork
from olaf.worker import TransmissionControl

from olafctl.control.serving import parameter_server
from olafctl.queue.registers import DISPOSITIONS, rate_word
from olafctl.targets.interface import Progress, Running, VirtualTime, of_root
from olafctl.targets.testbeds import load_testbed
from olafctl.testbed.model import Testbed
from olafctl.wire.layouts import GRADIENT_OFFSET
from olafctl.wire.modes import Mode
from olaflab.training.cartpole import ActorCritic, PoleNetwork
from olaflab.training.cosim.medium import EngineMedium, address_of
from olaftest.deployment import deployed_testbed

HIDDEN = 32
VALUES = PoleNetwork(3, HIDDEN).size
SLOTS = 8
GRADIENT, JITTER = 21e-3, 0.3
"""Seconds of a gradient, and the deviation of their logarithm."""
COLD = 2.0
"""Seconds of a learner's start, and for which one is kept alive: to keep one for as long as a start takes
never costs more than twice the best choice."""
PRICE = 3.06 / 3600 / 4
"""$ of a learner's second."""
RATE = 0.3
"""Rate of plain ascent: with an optimiser that normalises gradients, weights of staleness would cancel."""
_FLOOR = 0.13
"""δ_max·d^K ends here, whatever K."""
_ROUND = 40
_ROOT, _ALIKE = 3.0, 1e9
"""v; and one with which all updates weigh alike."""
_BOUND = 4
"""Versions for each learner, beyond which the engine drops an update."""


@dataclass(frozen=True)
class System:
    """A queue and a server's policy for gradients that wait."""

    name: str
    mode: Mode
    policy: Callable[..., Any]
    engine: bool = False
    """Whether the engine weighs, by the staleness that it sees."""
    control: bool = True
    """Whether workers send with the probability of OLAF §5."""
    adding: bool = False
    """Whether a worker adds up its gradients and sends their sum at its share of the output."""

    def make_policy(self, setting: "Setting") -> PolicyMaker:
        """Return the server's policy for this training."""
        rate, learners = RATE * setting.step, setting.learners
        if self.policy is Asynchronous:
            return partial(Asynchronous, rate=rate)
        rounds = max(learners * setting.seconds / GRADIENT / _ROUND, 1.0)
        root = _ALIKE if self.engine else _ROOT
        return partial(
            self.policy, rate=rate, decay=_FLOOR ** (1 / rounds), root=root, round=_ROUND, workers=learners
        )


SYSTEMS = {
    system.name: system
    for system in (
        System("FIFO + Stellaris", Mode.FIFO, Stellaris),
        System("Olaf + plain", Mode.OLAF, Asynchronous),
        System("Olaf + Stellaris at the server", Mode.OLAF, Stellaris),
        System("Olaf + Stellaris in the engine", Mode.OLAF, Stellaris, engine=True),
    )
}


@dataclass(frozen=True)
class Setting:
    """One training."""

    system: str
    learners: int
    """Most learners that there may be, over all clusters."""
    output: float
    """Share that the output carries of what they send when all are busy; infinite without a limit."""
    seconds: float
    """Virtual."""
    auto: bool = False
    """Whether as many learn as the network carries: those of one cluster."""
    step: float = 1.0
    """The learning rate in units of RATE."""
    pace: float = 1.0
    """What a worker that adds up uses of its share of the output."""
    parts: int = 10
    """Parts of the time, each with its mean return."""
    clusters: int = 1
    """Clusters of as many learners each, and each with a model of its own."""

    @property
    def rate(self) -> int | None:
        """Rate of the output, in bit/s; None without a limit."""
        if isinf(self.output):
            return None
        frame = 8 * (GRADIENT_OFFSET + 4 * VALUES)
        return round(self.learners * frame / GRADIENT * self.output)


@dataclass(frozen=True)
class OutputRun:
    """The outcome of one training."""

    returns: list[float]
    """Mean return of the episodes that ended in each part of the time, or of the part before where none did;
    of several clusters the mean of theirs."""
    gradients: int
    frames: int
    """Learners' frames that arrived at the server."""
    updates: int
    """Gradients in them."""
    lost: int
    """Gradients that the queue dropped or replaced."""
    staleness: float
    age: float
    """Average Age-of-Model in seconds."""
    admitted: float
    """Learners that might run, the mean over time."""
    busy: float
    """Learner-seconds."""
    reserved: float
    """$, as the two that follow: of all learners, busy or not; of invocations; with starts and keep-alive."""
    invoked: float
    whole: float
    weights: str
    """SHA-256 of those at the end."""

    @property
    def final_return(self) -> float:
        """The mean return over the last fifth of the time."""
        return float(np.mean(self.returns[-(len(self.returns) // 5) :]))

    @property
    def mean_return(self) -> float:
        """The mean return over all of the time: what fast learning raises."""
        return float(np.mean(self.returns))


class Pacing(TransmissionControl):
    """Adding up before sending, which needs no device: one update every ``interval`` seconds at most.

    What is late shortens the wait for the next one, so that in the mean a worker sends all that it may.
    """

    def __init__(self, interval: float, first: float) -> None:
        """``first``: seconds until the first update may go, so that workers do not send together."""
        super().__init__(on=False)
        self._interval, self._next = interval, first

    def draw(self, now: float) -> bool:
        """Return whether the next update is due."""
        if now < self._next:
            return False
        self._next = max(self._next + self._interval, now)
        return True


def make_testbed(learners: int, target: str = "twin", clusters: int = 1, slots: int | None = None) -> Testbed:
    """Make a testbed of clusters with ``learners`` members in all, before ``slots``, by default SLOTS."""
    text = f"""
name: bench-learners
target: {target}
engine: {{indices: 8, slots: {slots or SLOTS}, beats: 22, staleness_root: {_ROOT:.0f}, active_window: 1 s}}
ports:
  - {{number: 1, name: ps, transport: unix}}
  - {{number: 2, name: tor, transport: unix}}
parameter_servers: [{{name: ps, port: ps, ip: 10.0.0.254}}]
clusters:
  - {{count: {clusters}, workers: {learners // clusters}, values: {VALUES},
      name: learner, port: 2, ip: 10.0.1.1}}
"""
    return load_testbed(Path("bench-learners.yaml"), text)


def train(running: Running, bed: Testbed, system: System, setting: Setting, seed: int) -> OutputRun:
    """Train once from the beginning. Raises OlafError."""
    queue = of_root(running.queues)
    for name, value in (
        ("mode", system.mode.number),
        ("rate", rate_word(setting.rate)),
        ("stale_enable", int(system.engine)),
        ("stale_bound", _BOUND * setting.learners),
    ):
        queue.write(name, value)
    with closing(running.virtual_time()) as engine:
        training = _OutputTraining(engine, bed, system, setting, seed)
        training.run_training()
        counted = queue.read_all()
    dropped = [name for name in DISPOSITIONS if name.startswith("dropped_")]
    return training.make_result(
        sum(counted[name] for name in (*dropped, "replaced_worker", "replaced_reward"))
    )


class Deployed:
    """An engine that is deployed when a training needs it."""

    def __init__(self, bed: Testbed, progress: Progress) -> None:
        self._bed, self._progress = bed, progress
        self._running: Running | None = None
        self._open = ExitStack()

    def train_deployed(self, system: System, setting: Setting, seed: int) -> OutputRun:
        """Train as :func:`train` does. Raises OlafError."""
        if self._running is None:
            self._running = self._open.enter_context(deployed_testbed(self._bed, self._progress))
        return train(self._running, self._bed, system, setting, seed)

    def close(self) -> None:
        """Stop the engine."""
        self._open.close()


class _OutputTraining:
    """Members, learners and server, as events of the network; it runs the learners."""

    def __init__(
        self, engine: VirtualTime, bed: Testbed, system: System, setting: Setting, seed: int
    ) -> None:
        self._network = VirtualNetwork(EngineMedium(engine, bed))
        self._setting = setting
        listen = address_of(bed.parameter_servers[0])
        where = f"{listen[0]}:{listen[1]}"
        self._clusters = [each.name for each in bed.clusters]
        self._server = parameter_server(
            bed, where, system.make_policy(setting), port=self._network.port(listen)
        )
        self._random = np.random.default_rng((seed, 1))
        self._weights: list[Any] = []
        """The weights that each member has."""
        self._ends: list[olaf.Worker] = []
        for number, (cluster, worker) in enumerate((each, w) for each in bed.clusters for w in each.workers):
            if worker is cluster.workers[0]:
                first = PoleNetwork(3, HIDDEN).begin(self._random).astype(np.float32)
            port = self._network.port(address_of(worker))
            end = olaf.Worker(where, VALUES, segments=cluster.segments, epoch=cluster.epoch, seed=number,
                              control=system.control, port=port)  # fmt: skip
            end.begin(first)
            self._ends.append(end)
            self._weights.append(first.copy())
        self._adding = system.adding
        self._rows = deque(ActorCritic(1000 * seed + number, HIDDEN) for number, _ in enumerate(self._ends))
        """Environments whose rows no learner has; where all may learn, each learner takes back its own."""
        self._returns: list[list[list[float]]] = [[[] for _ in range(setting.parts)] for _ in self._clusters]
        """Returns of the episodes that ended, by cluster and part."""
        self._gradients, self._begin = 0, 0.0
        self._admission = Admission(setting.learners, bed.clusters[0].segments)
        self._admitted, self._since, self._held = setting.learners, 0.0, 0.0

    def run_training(self) -> None:
        """Run until the time is over and frames on their way have arrived."""
        number = self._setting.learners
        self._network.run(10.0, lambda: all(end.begun for end in self._ends))
        self._ledger = Ledger(PRICE, number, self._network.time + COLD)
        self._learners = Learners(
            self,
            self._take_rows,
            lambda: None,
            lambda result: None,
            self._ledger,
            lambda: self._network.time,
            number,
            keep_alive=COLD,
        )
        self._learners.prewarm(number)
        self._begin = self._since = self._network.time + COLD
        if self._adding:
            self._pace_members()
        self._network.run(self._begin)
        self._learners.wake()
        self._network.run(self._begin + self._setting.seconds)

    def _pace_members(self) -> None:
        interval = GRADIENT / self._setting.output / self._setting.pace
        for number, end in enumerate(self._ends):
            end.control = Pacing(interval, self._begin + interval * number / len(self._ends))

    def start(self, slot: int) -> None:
        self._network.at(self._network.time + COLD, partial(self._mark_started, slot))

    def give(self, slot: int, weights: Any, rows: ActorCritic) -> None:
        """Give rows to a learner, whose member has the newest weights."""
        own = self._weights[slot]
        for block in self._ends[slot].poll():
            own[block.place] = block.values
        gradient = rows.gradient(own.astype(np.float64), 0)
        seconds = GRADIENT * float(self._random.lognormal(0, JITTER))
        self._network.at(self._network.time + seconds, partial(self._finish_gradient, slot, rows, gradient))

    def stop(self, slot: int) -> None:
        """Stop nothing: nothing is left of a learner without rows."""

    def _mark_started(self, slot: int) -> None:
        self._learners.ready(slot)

    def _take_rows(self) -> ActorCritic | None:
        return self._rows.popleft() if self._rows else None

    def _finish_gradient(self, slot: int, rows: ActorCritic, gradient: Any) -> None:
        end, now = self._ends[slot], self._network.time
        if now > self._begin + self._setting.seconds:
            return
        parts = self._setting.parts
        part = min(int((now - self._begin) / self._setting.seconds * parts), parts - 1)
        ended, self._gradients = rows.poles.returns, self._gradients + 1
        self._returns[slot * len(self._clusters) // len(self._ends)][part] += ended
        self._admission.chance(end.probability)
        end.offer((-gradient).astype(np.float32), float(np.mean(ended)) if ended else 0.0)
        ended.clear()
        self._rows.append(rows)
        self._admit_learners()
        self._learners.finished(slot, None)
        self._tick_learners()

    def _admit_learners(self) -> None:
        if not self._setting.auto:
            return
        (its,) = self._read_counters()
        number = self._admission.look(Carried(its.received, its.updates, its.staleness.total))
        if number != self._admitted:
            self._account_admitted(number)
            self._learners.admit(number)

    def _account_admitted(self, number: int) -> None:
        self._held += self._admitted * (self._network.time - self._since)
        self._admitted, self._since = number, self._network.time

    def _tick_learners(self) -> None:
        due = self._learners.tick()
        if due is not None:
            self._network.at(due, self._learners.tick)

    def make_result(self, lost: int) -> OutputRun:
        """Return the result of the training that is over."""
        now = self._network.time
        self._account_admitted(self._admitted)
        self._learners.close()
        report = self._ledger.report(now)
        each = self._read_counters()
        ages = [self._server.age_of_model(name) or 0.0 for name in self._clusters]
        weights = [found for name in self._clusters if (found := self._server.weights(name)) is not None]
        returns = np.mean([_mean_parts(its) for its in self._returns], axis=0).tolist()
        return OutputRun(
            returns, self._gradients, sum(its.received for its in each), sum(its.updates for its in each),
            lost, float(np.mean([its.staleness.mean or 0.0 for its in each])), float(np.mean(ages)),
            self._held / (now - self._begin), report.busy, report.reserved, report.invoked, report.whole,
            hashlib.sha256(np.concatenate(weights).tobytes()).hexdigest(),
        )  # fmt: skip

    def _read_counters(self) -> list[ServerCounters]:
        return [self._server.counters(name) for name in self._clusters]


def _mean_parts(parts: Sequence[Sequence[float]]) -> list[float]:
    """Return the mean of each part; of the part before where there is none, 0 before the first."""
    found: list[float] = []
    for part in parts:
        found.append(float(np.mean(part)) if part else found[-1] if found else 0.0)
    return found
