"""Chaos: memberships change while the daemon and the switches are killed; then everything must agree.

The daemon runs as a process of its own and is reached through its API alone, as by any client.
"""

import itertools
import math
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from olafctl.bench.history import Call, Outcome, violations
from olafctl.bench.pair_daemon import TIMEOUT, DaemonProcess, owning, until
from olafctl.bench.switch_pair import SwitchPair, switches
from olafctl.control import devices
from olafctl.control.desired import desired
from olafctl.control.pipeline import DEVICES
from olafctl.control.plan import plan
from olafctl.daemon.api.client import Client
from olafctl.daemon.controller import Unavailable
from olafctl.daemon.membership import Membership
from olafctl.daemon.store.sqlite import SqliteStore
from olafctl.errors import BadInput, OlafError, Problem
from olafctl.targets import testbeds
from olafctl.testbed.model import Testbed

_TESTBED = """
name: chaos
engine: {indices: 16, slots: 4, beats: 24}
ports: [{number: 1, name: ps}, {numbers: 2-4, name: tor}]
parameter_servers: [{name: ps, port: ps, ip: 10.0.0.254}]
clusters: []
"""
_CLUSTERS = ("red", "green", "blue")
_CLIENTS = 4
_WORKERS = 12
_DAEMON = "daemon"


@dataclass(frozen=True)
class Report:
    """What happened, and what does not agree."""

    killed: dict[str, int]
    outcomes: dict[str, int]
    members: int
    """At the end."""
    disagreements: list[str]


def testbed() -> Testbed:
    """The testbed of the run: three clusters are made in it at the start."""
    return testbeds.load("chaos.yaml", _TESTBED)


def run(kills: int, changes: int, seed: int, progress: Callable[[str], None]) -> Report:
    """Kill a random one of daemon, VNP4₁ and VNP4₂ ``kills`` times while at least ``changes`` joins, leaves
    and moves are tried. Raises OlafError when something does not come back."""
    with switches(testbed()) as pair, owning(pair) as daemon:
        chaos = _Chaos(pair, daemon, random.Random(seed))
        progress("creating clusters")
        chaos.prepare()
        clients = [
            threading.Thread(target=chaos.change_memberships, args=(seed + n,), daemon=True)
            for n in range(_CLIENTS)
        ]
        for client in clients:
            client.start()
        chaos.kill(kills, changes, progress)
        for client in clients:
            client.join(TIMEOUT)
        progress("comparing")
        return chaos.compare()


class _Chaos:
    def __init__(self, pair: SwitchPair, daemon: DaemonProcess, chance: random.Random) -> None:
        self._pair = pair
        self._daemon = daemon
        self._chance = chance
        self._steps = itertools.count()
        self._calls: list[Call] = []
        self._killed: Counter[str] = Counter()
        self._ending = threading.Event()
        self._progressed = threading.Condition()

    def prepare(self) -> None:
        with Client(self._daemon.address) as client:
            for name in _CLUSTERS:
                until(lambda name=name: self._created(client, name))  # type: ignore[misc]

    def _created(self, client: Client, name: str) -> bool:
        try:
            client.call("CreateCluster", name=name)
        except BadInput:
            return True
        except OlafError:
            return False
        return True

    def change_memberships(self, seed: int) -> None:
        """What one client does, until the run ends."""
        chance = random.Random(seed)
        with Client(self._daemon.address, timeout=TIMEOUT) as client:
            while not self._ending.is_set():
                number = chance.randrange(_WORKERS)
                action = chance.choice(["join", "join", "leave", "move"])
                self._call(client, number, action, chance.choice(_CLUSTERS))

    def _call(self, client: Client, number: int, action: str, cluster: str) -> None:
        worker = f"w{number}"
        asked = {"cluster": cluster, "ip": f"10.0.1.{number + 1}", "port": 2 + number % 3, "name": worker}
        began, outcome = next(self._steps), Outcome.DONE
        try:
            match action:
                case "join":
                    client.call("Join", **asked)
                case "leave":
                    client.call("Leave", worker=worker)
                case _:
                    client.call("MoveWorker", worker=worker, cluster=cluster)
        except BadInput:
            outcome = Outcome.REFUSED
        except Unavailable:
            self._ending.wait(0.02)
            return  # it was told that nothing was changed
        except OlafError:
            outcome = Outcome.UNKNOWN
        ended = math.inf if outcome is Outcome.UNKNOWN else next(self._steps)
        with self._progressed:
            self._calls.append(Call(worker, action, cluster, began, ended, outcome))
            self._progressed.notify_all()
        if outcome is Outcome.UNKNOWN:
            self._ending.wait(0.02)

    def kill(self, kills: int, changes: int, progress: Callable[[str], None]) -> None:
        """Kill again and again, each time after some more changes were answered; then end the clients."""
        for number in range(kills):
            self._await_answers(self._answered() + self._chance.randrange(1, 6))
            victim = self._chance.choice([_DAEMON, *DEVICES])
            progress(f"kill {number + 1} of {kills}: {victim}")
            self._killed[victim] += 1
            if victim == _DAEMON:
                self._daemon.kill()
                self._daemon.start()
            else:
                self._pair.kill(victim)
                self._pair.revive(victim)
        self._await_answers(max(self._answered() + 1, changes))
        self._ending.set()

    def _answered(self) -> int:
        return sum(call.outcome is not Outcome.UNKNOWN for call in self._calls)

    def _await_answers(self, count: int) -> None:
        with self._progressed:
            if not self._progressed.wait_for(lambda: self._answered() >= count, TIMEOUT):
                raise OlafError(Problem(f"no change was answered for {TIMEOUT:g} s", "the daemon"))

    def compare(self) -> Report:
        """What the clients were told, the store and the devices, against each other."""
        with Client(self._daemon.address) as client:
            until(lambda: client.call("GetStatus", summary=True).deployments[0].ready)
            [status] = client.call("GetStatus").deployments
        found = {worker.name: worker.cluster for worker in status.workers}
        for number in range(_WORKERS):
            step = next(self._steps)
            where = found.get(f"w{number}", "")
            self._calls.append(Call(f"w{number}", "read", where, step, step, Outcome.DONE))
        wrong = [f"no order explains the answers about {worker}" for worker in violations(self._calls)]
        self._daemon.kill()
        wrong += self._differences(found)
        outcomes = Counter(call.outcome.value for call in self._calls if call.action != "read")
        return Report(dict(self._killed), dict(outcomes), len(found), wrong)

    def _differences(self, found: dict[str, str]) -> Iterator[str]:
        """Between the store, the status and what the devices hold."""
        store = SqliteStore(self._pair.folder)
        _, rows = store.rows()
        if store.intent() is not None:
            yield "the store has an intent that is neither finished nor undone"
        store.close()
        membership = Membership(self._pair.testbed.engine.indices, rows)
        if found != {name: member.cluster for name, member in membership.members.items()}:
            yield "the status is not what the store holds"
        running = self._pair.running()
        assert running is not None
        with devices.watching(running) as sessions:
            actual = devices.read(running, sessions, [])
        clusters = membership.placed(membership.clusters)
        wanted = desired(replace(self._pair.testbed, clusters=clusters))
        yield from plan(actual, replace(wanted, registers={}, settings=())).lines()
