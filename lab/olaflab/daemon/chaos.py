"""Chaos: memberships change while the daemon and the twin are killed and the network between them is cut;
then everything must agree.

The daemon runs as a process of its own over a real twin, and is reached through its API alone, as by any
client.
"""

import itertools
import math
import random
import threading
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import psutil

from olafctl.control import devices
from olafctl.control.deploy import find
from olafctl.control.desired import desired
from olafctl.control.plan import plan
from olafctl.control.store import Store
from olafctl.daemon.api.client import Client
from olafctl.daemon.api.convert import clusters_of
from olafctl.daemon.controller import Unavailable
from olafctl.membership.membership import Membership
from olafctl.membership.model import Cluster
from olafctl.membership.sqlite import SqliteStore
from olafctl.targets import processes
from olaflab.daemon.daemon_process import TIMEOUT, until
from olaflab.daemon.history import Call, Outcome, violations
from olaflab.daemon.kept_twin import KeptTwin, kept_twin
from olafswitch.errors import BadInput, OlafError, Problem

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
"""Front ports that workers join by, and join again by."""
_CLUSTERS = {"red": "OLAF", "green": "FIFO", "blue": "ISWITCH"}
"""With their modes: H of the last follows its members, so that each change of these is one of the queue's."""
_CLIENTS = 4
_WORKERS = 12
_DAEMON, _TWIN = "daemon", "twin"
_FROZEN_SECONDS = 2.0


@dataclass(frozen=True)
class Report:
    """What happened, and what does not agree."""

    killed: dict[str, int]
    cuts: dict[str, int]
    """Of the network, by what became of what was under way."""
    outcomes: dict[str, int]
    """Of joins, leaves and moves."""
    reads: int
    """Of the whole membership, each compared with the history at its revision."""
    revisions: int
    members: int
    """At the end."""
    disagreements: list[str]


def run(
    kills: int, cuts: int, changes: int, seed: int, progress: Callable[[str], None], *, tree: bool = False
) -> Report:
    """Kill a random one of daemon and twin ``kills`` times and cut the network between them ``cuts`` times,
    while at least ``changes`` joins, leaves and moves are answered. Of a ``tree`` of three
    engines workers also change the engine. Raises OlafError when something does not come back."""
    progress("deploying")
    with kept_twin(_TREE if tree else _TESTBED) as twin:
        chaos = _Chaos(twin, random.Random(seed), _TREE_PORTS if tree else _PORTS)
        progress("creating clusters")
        chaos.prepare()
        clients = [
            threading.Thread(target=chaos.change_memberships, args=(seed + n,), daemon=True)
            for n in range(_CLIENTS)
        ]
        clients.append(threading.Thread(target=chaos.read_memberships, daemon=True))
        for client in clients:
            client.start()
        chaos.disturb(kills, cuts, changes, progress)
        for client in clients:
            client.join(TIMEOUT)
            if client.is_alive():
                raise OlafError(Problem(f"a client waits for its answer for {TIMEOUT:g} s", "the daemon"))
        progress("comparing")
        return chaos.compare()


class _Chaos:
    def __init__(self, twin: KeptTwin, chance: random.Random, ports: Sequence[int]) -> None:
        self._folder = twin.folder
        self._ports = ports
        self._daemon = twin.daemon
        self._relays = twin.relays
        self._chance = chance
        self._steps = itertools.count()
        self._calls: list[Call] = []
        self._reads: list[tuple[int, dict[str, str]]] = []
        self._deaths: list[int] = []
        """Steps at which a daemon was dead."""
        self._killed: Counter[str] = Counter()
        self._cuts: Counter[str] = Counter()
        self._ending = threading.Event()
        self._progressed = threading.Condition()

    def prepare(self) -> None:
        with Client(self._daemon.address) as client:
            for name, mode in _CLUSTERS.items():
                until(partial(_created, client, name, mode))

    # Clients

    def change_memberships(self, seed: int) -> None:
        """What one client does, until the run ends."""
        chance = random.Random(seed)
        with Client(self._daemon.address, timeout=TIMEOUT) as client:
            while not self._ending.is_set():
                number = chance.randrange(_WORKERS)
                action = chance.choice(["join", "join", "leave", "move"])
                cluster = chance.choice(list(_CLUSTERS))
                self._call(client, number, action, cluster, chance.choice(self._ports))

    def _call(self, client: Client, number: int, action: str, cluster: str, port: int) -> None:
        worker = f"w{number}"
        request = {"cluster": cluster, "ip": f"10.0.1.{number + 1}", "port": port, "name": worker}
        began, outcome = next(self._steps), Outcome.DONE
        try:
            match action:
                case "join":
                    client.call("Join", **request)
                case "leave":
                    client.call("Leave", worker=worker)
                case _:
                    client.call("MoveWorker", worker=worker, cluster=cluster)
        except BadInput:
            outcome = Outcome.REFUSED
        except Unavailable:
            self._ending.wait(0.02)
            return  # the answer was that nothing was changed
        except OlafError:
            outcome = Outcome.UNKNOWN
        with self._progressed:
            self._calls.append(Call(worker, action, cluster, began, next(self._steps), outcome))
            self._progressed.notify_all()
        if outcome is Outcome.UNKNOWN:
            self._await_daemon(client)

    def read_memberships(self) -> None:
        """What the client does that only looks."""
        with Client(self._daemon.address, timeout=TIMEOUT) as client:
            while not self._ending.is_set():
                began = next(self._steps)
                try:
                    status = _status(client)
                except OlafError:
                    self._await_daemon(client)
                    continue
                ended, found = next(self._steps), _where(status)
                with self._progressed:
                    self._reads.append((int(status.resume_token), found))
                    self._calls += _as_reads(found, began, ended)
                self._ending.wait(0.05)

    def _await_daemon(self, client: Client) -> None:
        """Wait until it answers again: a client that repeats itself would find out nothing more."""
        while not self._ending.is_set():
            with suppress(OlafError):
                client.call("GetStatus", summary=True)
                return
            self._ending.wait(0.02)

    # Disturbances

    def disturb(self, kills: int, cuts: int, changes: int, progress: Callable[[str], None]) -> None:
        """Kill and cut in random order, each after a few more answers or at once; then end the clients."""
        todo = ["kill"] * kills + ["cut"] * cuts
        self._chance.shuffle(todo)
        for number, what in enumerate(todo, 1):
            self._await_answers(self._answered() + self._chance.randrange(6))
            victim = self._kill() if what == "kill" else self._cut()
            progress(f"{number} of {len(todo)}: {victim}")
        self._await_answers(max(self._answered() + 1, changes))
        self._ending.set()

    def _kill(self) -> str:
        victim = self._chance.choice([_DAEMON, _TWIN])
        if victim == _DAEMON:
            self._end_daemon()
            self._daemon.start()
        else:
            for process in processes.of(self._folder):
                with suppress(psutil.Error):
                    process.kill()
        self._killed[victim] += 1
        return f"killed the {victim}"

    def _end_daemon(self) -> None:
        self._daemon.kill()
        self._deaths.append(next(self._steps))

    def _cut(self) -> str:
        """Make the twin unreachable for a while: refused at once, or not answering; what was sent into the
        silence arrives afterwards or is lost."""
        how = self._chance.choice(["refused", "arrived late", "lost"])
        for relay in self._relays:
            relay.cut() if how == "refused" else relay.freeze()
        self._ending.wait(self._chance.uniform(0, _FROZEN_SECONDS))
        for relay in self._relays:
            if how == "lost":
                relay.cut()
            relay.heal()
        self._cuts[how] += 1
        return f"cut the network: {how}"

    def _answered(self) -> int:
        known = (Outcome.DONE, Outcome.REFUSED)
        return sum(call.outcome in known and call.action != "read" for call in self._calls)

    def _await_answers(self, count: int) -> None:
        with self._progressed:
            if not self._progressed.wait_for(lambda: self._answered() >= count, TIMEOUT):
                raise OlafError(Problem(f"no change was answered for {TIMEOUT:g} s", "the daemon"))

    # Comparison

    def compare(self) -> Report:
        """Compare the clients' answers, the store, the devices and the queue."""
        with Client(self._daemon.address) as client:
            until(lambda: client.call("GetStatus", summary=True).deployments[0].ready)
            # Engines above may know a worker that changed its cluster a little later.
            until(lambda: not self._drift(clusters_of(_status(client))))
            status = _status(client)
        found, step = _where(status), next(self._steps)
        self._calls += _as_reads(found, step, step)
        self._end_daemon()
        calls = [self._bounded(call) for call in self._calls]
        wrong = [f"no order explains the answers about {worker}" for worker in violations(calls)]
        wrong += self._misread()
        wrong += self._differences(found)
        changes = [call for call in calls if call.action != "read"]
        return Report(
            killed=dict(self._killed),
            cuts=dict(self._cuts),
            outcomes=dict(Counter(call.outcome.value for call in changes)),
            reads=len(self._reads),
            revisions=int(status.resume_token),
            members=len(found),
            disagreements=wrong,
        )

    def _bounded(self, call: Call) -> Call:
        """A call of unknown outcome may take effect until the daemon that lived when it ended is dead."""
        if call.outcome is not Outcome.UNKNOWN:
            return call
        later = bisect_right(self._deaths, call.ended)
        return replace(call, ended=self._deaths[later] if later < len(self._deaths) else math.inf)

    def _misread(self) -> Iterator[str]:
        """Memberships that were read and never stored."""
        store = SqliteStore(self._folder)
        at: dict[int, dict[str, str]] = {}
        now: dict[str, str] = {}
        for event in _everything(store):
            room, _, name = event.key.partition("/")
            if room == "member":
                now.pop(name, None)
                if event.row is not None:
                    now[name] = str(event.row["cluster"])
            at[event.revision] = dict(now)
        store.close()
        for revision, found in self._reads:
            if at.get(revision) != found:
                yield f"at revision {revision} a client read {found}, but {at.get(revision)} was stored"

    def _differences(self, found: dict[str, str]) -> Iterator[str]:
        """Between the store, the status, what the devices hold, and the queue's settings and tables."""
        store = SqliteStore(self._folder)
        _, rows = store.rows()
        if store.intent() is not None:
            yield "the store has an intent that is neither finished nor undone"
        store.close()
        testbed, _ = find(Store(self._folder))
        membership = Membership(testbed.indices, rows)
        if found != {name: member.cluster for name, member in membership.members.items()}:
            yield "the status is not what the store holds"
        for name in membership.clusters:
            numbers = [member.number for member in membership.clusters[name].workers]
            if len(set(numbers)) < len(numbers):
                yield f"members of {name} share a number: {sorted(numbers)}"
        yield from self._drift(tuple(membership.snapshot()))

    def _drift(self, clusters: tuple[Cluster, ...]) -> list[str]:
        """How what the devices and queues hold differs from what these clusters ask for."""
        testbed, twin = find(Store(self._folder))
        assert twin is not None
        wanted = desired(testbed, clusters)
        with devices.watching(twin) as sessions:
            actual = devices.read(twin, sessions, wanted)
        return list(plan(actual, wanted).lines())


def _everything(store: SqliteStore) -> Iterator[Any]:
    """Every event of a store's history."""
    since = 0
    while events := store.history(since):
        yield from events
        since = events[-1].revision


def _created(client: Client, name: str, mode: str) -> bool:
    try:
        client.call("CreateCluster", name=name, mode=mode.upper())
    except BadInput:
        return True
    except OlafError:
        return False
    return True


def _status(client: Client) -> Any:
    [status] = client.call("GetStatus").deployments
    return status


def _where(status: Any) -> dict[str, str]:
    return {worker.name: worker.cluster for worker in status.workers}


def _as_reads(found: dict[str, str], began: int, ended: int) -> list[Call]:
    """One look at all workers, as a look at each."""
    workers = (f"w{number}" for number in range(_WORKERS))
    return [Call(worker, "read", found.get(worker, ""), began, ended, Outcome.DONE) for worker in workers]
