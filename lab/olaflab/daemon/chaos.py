"""Chaos: memberships change while the daemons and the engines are killed and the network between them is cut;
then everything must agree.

Daemons run as processes of their own over real engines, and are reached through their API alone, as by any
client.
"""

import itertools
import math
import random
import threading
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from olafctl.control import devices
from olafctl.control.desired import desired_state
from olafctl.control.plan import plan_changes
from olafctl.daemon.api.client import DaemonClient
from olafctl.daemon.api.convert import clusters_of
from olafctl.daemon.controller import Unavailable
from olafctl.daemon.leadership import NotLeader
from olafctl.membership.interface import MembershipStore
from olafctl.membership.membership import Membership
from olafctl.membership.model import Cluster
from olafctl.targets.interface import Running
from olafctl.testbed.model import Testbed
from olaflab.daemon.history import CallOutcome, HistoryCall, find_violations
from olaflab.daemon.kept_twin import kept_twin
from olafswitch.errors import BadInput, OlafError, Problem
from olaftest.daemon.daemon_process import TIMEOUT, DaemonProcess, wait_until

_TESTBED = """
name: chaos
engine: {indices: 4, slots: 2, beats: 4, address: 10.0.0.250}
ports: [{number: 1, name: ps, transport: unix}, {number: 2, name: w, transport: unix}]
parameter_servers: [{name: ps, port: ps, ip: 10.0.0.254}]
clusters: []
"""
_TREE = """
name: chaos
engines:
  - {name: root, indices: 4, slots: 2, beats: 4, address: 10.0.0.250,
     ports: [{number: 1, name: ps, transport: unix}, {numbers: 3-4, name: down}]}
  - {name: left, indices: 4, slots: 2, beats: 4,
     ports: [{number: 2, name: a, transport: unix}, {number: 5, name: up5}]}
  - {name: right, indices: 4, slots: 2, beats: 4,
     ports: [{number: 6, name: b, transport: unix}, {number: 7, name: up7}]}
links: [{ends: [left.up5, root.down3]}, {ends: [right.up7, root.down4]}]
parameter_servers: [{name: ps, port: ps, ip: 10.0.0.254}]
clusters: []
"""
_PORTS, _TREE_PORTS = (2,), (2, 6)
_CLUSTERS = {"red": "OLAF", "green": "FIFO", "blue": "ISWITCH"}
"""With their modes: H of the last follows its members, so that each change of these is one of the queue's."""
_CLIENTS = 4
_WORKERS = 12


@dataclass(frozen=True)
class ChaosReport:
    """What happened, and what does not agree."""

    killed: dict[str, int]
    cuts: dict[str, int]
    """Cuts of the network, by what became of what was under way."""
    outcomes: dict[str, int]
    """Outcomes of joins, leaves and moves."""
    reads: int
    """Reads of the whole membership, each compared with the history at its revision."""
    revisions: int
    members: int
    """At the end."""
    pause: float
    """The longest time between two changes that were done, in seconds."""
    disagreements: list[str]


class Ground(Protocol):
    """A deployment that is disturbed, with its daemons."""

    @property
    def daemons(self) -> Sequence[DaemonProcess]: ...

    def kill(self, chance: random.Random, end: Callable[[DaemonProcess], None]) -> str:
        """Kill something, a daemon by ``end``, and start it again; what it was."""

    def cut(self, chance: random.Random) -> str:
        """Cut the network for a while; what became of what was under way."""

    def store(self) -> AbstractContextManager[MembershipStore]:
        """Open the membership's store, to be read."""

    def found(self) -> tuple[Testbed, Running | None]:
        """Return what runs."""


def run_chaos(
    kills: int, cuts: int, changes: int, seed: int, progress: Callable[[str], None], *, tree: bool = False
) -> ChaosReport:
    """Kill a random one of daemon and twin ``kills`` times and cut the network between them ``cuts`` times,
    while at least ``changes`` joins, leaves and moves are answered. Of a ``tree`` of three
    engines workers also change the engine. Raises OlafError when something does not come back."""
    progress("deploying")
    with kept_twin(_TREE if tree else _TESTBED) as twin:
        return run_on(twin, _TREE_PORTS if tree else _PORTS, kills, cuts, changes, seed, progress)


def run_on(
    ground: Ground,
    ports: Sequence[int],
    kills: int,
    cuts: int,
    changes: int,
    seed: int,
    progress: Callable[[str], None],
) -> ChaosReport:
    """Run as :func:`run_chaos`, on what runs already; workers join, and join again, by ``ports``."""
    chaos = Chaos(ground.daemons, ports, seed)
    progress("creating clusters")
    chaos.begin_clients()
    chaos.disturb_ground(ground, kills, cuts, changes, progress)
    chaos.end_clients()
    progress("comparing")
    return chaos.compare_all(ground)


class Chaos:
    """Clients that change and read memberships at some daemons, and the history of their answers."""

    def __init__(self, daemons: Sequence[DaemonProcess], ports: Sequence[int], seed: int) -> None:
        """Workers join, and join again, by ``ports``."""
        self._ports = ports
        self._daemons = {each.address: each for each in daemons}
        self._seed, self._chance = seed, random.Random(seed)
        self._steps = itertools.count()
        self._calls: list[tuple[str, HistoryCall]] = []
        """With the address that was called."""
        self.answers: list[tuple[float, str, CallOutcome]] = []
        """Final answers to changes, with their monotonic times and the daemons' addresses."""
        self._reads: list[tuple[int, dict[str, str]]] = []
        self._deaths: dict[str, list[int]] = {address: [] for address in self._daemons}
        """Steps at which a daemon was dead."""
        self._killed: Counter[str] = Counter()
        self._cuts: Counter[str] = Counter()
        self._ending = threading.Event()
        self._progressed = threading.Condition()
        self._threads: list[threading.Thread] = []

    def begin_clients(self) -> None:
        """Create the clusters, and start the clients. Raises OlafError."""
        with self._open_clients() as clients:
            for name, mode in _CLUSTERS.items():
                wait_until(partial(create_cluster, clients, name, mode))
        works: list[Callable[[], None]] = [self._read_memberships]
        works += [partial(self._change_memberships, self._seed + number) for number in range(_CLIENTS)]
        for work in works:
            self._threads.append(threading.Thread(target=work, daemon=True))
            self._threads[-1].start()

    def end_clients(self) -> None:
        """Let the clients finish. Raises OlafError where one waits for ever."""
        self._ending.set()
        for client in self._threads:
            client.join(TIMEOUT)
            if client.is_alive():
                raise OlafError(Problem(f"a client waits for its answer for {TIMEOUT:g} s", "the daemon"))

    # Clients

    def _change_memberships(self, seed: int) -> None:
        """Change memberships as one client until the run ends; call one daemon until it does not lead."""
        chance = random.Random(seed)
        with self._open_clients() as clients:
            client = clients[0]
            while not self._ending.is_set():
                number = chance.randrange(_WORKERS)
                action = chance.choice(["join", "join", "leave", "move"])
                cluster, port = chance.choice(list(_CLUSTERS)), chance.choice(self._ports)
                if not self._call_daemon(client, number, action, cluster, port):
                    client = self._await_leader(clients) or client

    def _call_daemon(self, client: DaemonClient, number: int, action: str, cluster: str, port: int) -> bool:
        """Call a daemon, and return whether the answer is final."""
        worker = f"w{number}"
        request = {"cluster": cluster, "ip": f"10.0.1.{number + 1}", "port": port, "name": worker}
        began = next(self._steps)
        match action:
            case "join":
                change = partial(client.call, "Join", **request)
            case "leave":
                change = partial(client.call, "Leave", worker=worker)
            case _:
                change = partial(client.call, "MoveWorker", worker=worker, cluster=cluster)
        if (outcome := answer_of_change(change)) is None:
            return False
        with self._progressed:
            call = HistoryCall(worker, action, cluster, began, next(self._steps), outcome)
            self._calls.append((client.address, call))
            if outcome is not CallOutcome.UNKNOWN:
                self.answers.append((time.monotonic(), client.address, outcome))
            self._progressed.notify_all()
        return outcome is not CallOutcome.UNKNOWN

    def _await_leader(self, clients: Sequence[DaemonClient]) -> DaemonClient | None:
        """Wait for the one that leads: repeating a call that failed would find out nothing more."""
        while not self._ending.wait(0.02):
            for client in clients:
                with suppress(OlafError):
                    if client.call("GetStatus", summary=True).deployments[0].term:
                        return client
        return None

    def _read_memberships(self) -> None:
        """Read memberships until the run ends."""
        with self._open_clients() as clients:
            for turn in itertools.count():
                if self._ending.wait(0.05):
                    return
                client, began = clients[turn % len(clients)], next(self._steps)
                try:
                    status = _read_status(client)
                except OlafError:
                    continue
                ended, found = next(self._steps), _clusters_of_workers(status)
                with self._progressed:
                    self._reads.append((int(status.resume_token), found))
                    if status.term:  # who follows may be behind
                        self._calls += ((client.address, each) for each in _as_reads(found, began, ended))

    @contextmanager
    def _open_clients(self) -> Iterator[list[DaemonClient]]:
        """Open a client of each daemon."""
        with ExitStack() as stack:
            yield [stack.enter_context(DaemonClient(address, timeout=TIMEOUT)) for address in self._daemons]

    # Disturbances

    def disturb_ground(
        self, ground: Ground, kills: int, cuts: int, changes: int, progress: Callable[[str], None]
    ) -> None:
        """Kill and cut in random order, each after a few more answers or at once; then await the rest."""
        todo = ["kill"] * kills + ["cut"] * cuts
        self._chance.shuffle(todo)
        for number, what in enumerate(todo, 1):
            self.await_answers(len(self.answers) + self._chance.randrange(6))
            if what == "kill":
                victim = ground.kill(self._chance, self.end_daemon)
                self._killed[victim] += 1
                progress(f"{number} of {len(todo)}: killed the {victim}")
            else:
                how = ground.cut(self._chance)
                self._cuts[how] += 1
                progress(f"{number} of {len(todo)}: cut the network: {how}")
        self.await_answers(max(len(self.answers) + 1, changes))

    def end_daemon(self, daemon: DaemonProcess) -> None:
        """Kill a daemon: a call of unknown outcome takes effect before that, or never."""
        daemon.kill()
        self._deaths[daemon.address].append(next(self._steps))

    def await_answers(self, count: int, at: str = "", since: float = 0.0) -> Sequence[float]:
        """Wait for the answers of ``count`` changes, ``at`` one daemon and after ``since`` where these are
        given, and return their times. Raises OlafError."""

        def times() -> list[float]:
            return [when for when, by, _ in self.answers if at in ("", by) and when > since]

        with self._progressed:
            if not self._progressed.wait_for(lambda: len(times()) >= count, TIMEOUT):
                raise OlafError(Problem(f"no change was answered for {TIMEOUT:g} s", at or "the daemon"))
            return times()

    # Comparison

    def count_outcomes(self) -> dict[str, int]:
        """Count the changes by their outcomes."""
        return dict(Counter(call.outcome.value for _, call in self._calls if call.action != "read"))

    def note_status(self, address: str, status: Any) -> None:
        """Add to the history what the daemon at ``address`` has, when all changes are over."""
        step = next(self._steps)
        self._calls += ((address, each) for each in _as_reads(_clusters_of_workers(status), step, step))

    def find_unexplained(self) -> Sequence[str]:
        """Return the workers about whom no order explains the answers."""
        return find_violations([self._bound_call(by, call) for by, call in self._calls])

    def compare_all(self, ground: Ground) -> ChaosReport:
        """Compare the clients' answers, the store, the devices and the queue."""
        with self._open_clients() as clients:
            settled: list[tuple[DaemonClient, Any]] = []

            def look() -> bool:
                settled[:] = self._find_settled(ground, clients)
                return bool(settled)

            wait_until(look)
            leader, status = settled[0]
        found = _clusters_of_workers(status)
        self.note_status(leader.address, status)
        for daemon in self._daemons.values():
            self.end_daemon(daemon)
        wrong = [f"no order explains the answers about {worker}" for worker in self.find_unexplained()]
        wrong += self._find_misread(ground)
        wrong += self._find_differences(ground, found)
        done = sorted(when for when, _, outcome in self.answers if outcome is CallOutcome.DONE)
        return ChaosReport(
            killed=dict(self._killed),
            cuts=dict(self._cuts),
            outcomes=self.count_outcomes(),
            reads=len(self._reads),
            revisions=int(status.resume_token),
            members=len(found),
            pause=max((later - earlier for earlier, later in itertools.pairwise(done)), default=0.0),
            disagreements=wrong,
        )

    def _find_settled(
        self, ground: Ground, clients: Sequence[DaemonClient]
    ) -> Iterator[tuple[DaemonClient, Any]]:
        """Yield a leader with its status where all devices agree with it: engines above may know a worker
        that changed its cluster a little later, and the leader may change until then."""
        for client in filter(_is_ready, clients):
            status = _read_status(client)
            if status.term and not _find_drift(ground, clusters_of(status)):
                yield client, status

    def _bound_call(self, address: str, call: HistoryCall) -> HistoryCall:
        """Bound a call of unknown outcome, which may take effect until the daemon that lived when it ended is
        dead."""
        if call.outcome is not CallOutcome.UNKNOWN:
            return call
        deaths = self._deaths[address]
        later = bisect_right(deaths, call.ended)
        return replace(call, ended=deaths[later] if later < len(deaths) else math.inf)

    def _find_misread(self, ground: Ground) -> Iterator[str]:
        """Find memberships that were read and never stored."""
        at: dict[int, dict[str, str]] = {}
        now: dict[str, str] = {}
        with ground.store() as store:
            for event in _read_history(store):
                room, _, name = event.key.partition("/")
                if room == "member":
                    now.pop(name, None)
                    if event.row is not None:
                        now[name] = str(event.row["cluster"])
                at[event.revision] = dict(now)
        for revision, found in self._reads:
            if at.get(revision) != found:
                yield f"at revision {revision} a client read {found}, but {at.get(revision)} was stored"

    def _find_differences(self, ground: Ground, found: dict[str, str]) -> Iterator[str]:
        """Find differences between the store, the status, what the devices hold, and the queue's settings and
        tables."""
        with ground.store() as store:
            _, rows = store.rows()
            if store.intent() is not None:
                yield "the store has an intent that is neither finished nor undone"
        testbed, _ = ground.found()
        membership = Membership(testbed.indices, rows)
        if found != {name: member.cluster for name, member in membership.members.items()}:
            yield "the status is not what the store holds"
        for name in membership.clusters:
            numbers = [member.number for member in membership.clusters[name].workers]
            if len(set(numbers)) < len(numbers):
                yield f"members of {name} share a number: {sorted(numbers)}"
        yield from _find_drift(ground, tuple(membership.snapshot()))


def _find_drift(ground: Ground, clusters: tuple[Cluster, ...]) -> list[str]:
    """Find how what the devices and queues hold differs from what these clusters ask for."""
    testbed, running = ground.found()
    if running is None:
        raise OlafError(Problem("does not run", testbed.name))
    wanted = desired_state(testbed, clusters)
    with devices.watch_devices(running) as sessions:
        actual = devices.read_state(running, sessions, wanted)
    return list(plan_changes(actual, wanted).lines())


def _read_history(store: MembershipStore) -> Iterator[Any]:
    """Yield every event of a store's history."""
    since = 0
    while events := store.history(since):
        yield from events
        since = events[-1].revision


def _is_ready(client: DaemonClient) -> bool:
    try:
        [status] = client.call("GetStatus", summary=True).deployments
    except OlafError:
        return False
    return bool(status.term and status.ready)


def _read_status(client: DaemonClient) -> Any:
    [status] = client.call("GetStatus").deployments
    return status


def _clusters_of_workers(status: Any) -> dict[str, str]:
    return {worker.name: worker.cluster for worker in status.workers}


def _as_reads(found: dict[str, str], began: int, ended: int) -> list[HistoryCall]:
    """Split one look at all workers into a look at each."""
    workers = (f"w{number}" for number in range(_WORKERS))
    return [
        HistoryCall(worker, "read", found.get(worker, ""), began, ended, CallOutcome.DONE)
        for worker in workers
    ]


def answer_of_change(change: Callable[[], object]) -> CallOutcome | None:
    """Answer a change; None where nothing was changed."""
    try:
        change()
    except BadInput:
        return CallOutcome.REFUSED
    except (Unavailable, NotLeader):
        return None
    except OlafError:
        return CallOutcome.UNKNOWN
    return CallOutcome.DONE


def create_cluster(clients: Iterable[DaemonClient], name: str, mode: str = "OLAF", key: str = "") -> bool:
    """Create a cluster through the first daemon that does; return whether one did."""
    for client in clients:
        with suppress(OlafError):
            try:
                client.call("CreateCluster", name=name, mode=mode, key=key)
            except BadInput:
                known = {each.name for each in client.call("GetStatus").deployments[0].clusters}
                if name not in known:
                    raise
            return True
    return False
