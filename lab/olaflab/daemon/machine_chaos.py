"""Chaos over machines: engines on three of them, daemons on two of these, and an etcd at the desk."""

import os
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from unittest import mock

from olafctl.control.deploy import find_processes
from olafctl.control.store import Store
from olafctl.daemon.api.client import DaemonClient
from olafctl.daemon.etcd.client import Etcd
from olafctl.daemon.etcd.store import EtcdStore
from olafctl.daemon.leadership import Alone
from olafctl.machines.certificates import issue_pair
from olafctl.membership.interface import MembershipStore
from olafctl.targets import testbeds
from olafctl.targets.interface import Running
from olafctl.testbed.model import Testbed
from olaflab.daemon import chaos
from olafswitch.errors import OlafError, Problem
from olafswitch.ports.namespace import run_within
from olaftest.daemon import etcd_server
from olaftest.daemon.daemon_process import DaemonProcess
from olaftest.daemon.machines import DESK, OPERATOR, PORT, MachineLab, lab, why_not

_ENGINES = ("m1", "m2", "m3")
_DAEMONS = ("m1", "m2")
_TESTBED = f"""
name: chaos
target: software
machines: [{", ".join(f"{{name: m{n}, address: 10.97.0.{n + 1}:{PORT}}}" for n in (1, 2, 3))}]
engines:
  - {{name: root, machine: m1, indices: 4, slots: 2, beats: 4, address: 10.0.0.250,
     ports: [{{number: 1, name: ps, transport: unix}},
             {{number: 3, name: down3, transport: nic, path: cable2}},
             {{number: 4, name: down4, transport: nic, path: cable3}}]}}
  - {{name: left, machine: m2, indices: 4, slots: 2, beats: 4,
     ports: [{{number: 2, name: a, transport: unix}},
             {{number: 5, name: up5, transport: nic, path: cable2}}]}}
  - {{name: right, machine: m3, indices: 4, slots: 2, beats: 4,
     ports: [{{number: 6, name: b, transport: unix}},
             {{number: 7, name: up7, transport: nic, path: cable3}}]}}
links: [{{ends: [left.up5, root.down3]}}, {{ends: [right.up7, root.down4]}}]
parameter_servers: [{{name: ps, port: ps, ip: 10.0.0.254}}]
clusters: []
"""
_PORTS = (2, 6)
_ENGINE = "olafctl.targets.twin.process"
_ETCDS = 3
_LONGEST_CUT = 6.0
"""Seconds: longer than a leader's lease."""


def run_machine_chaos(
    kills: int, cuts: int, changes: int, seed: int, progress: Callable[[str], None]
) -> chaos.ChaosReport:
    """Run as :func:`olaflab.daemon.chaos.run_chaos`, on agents, engines, daemons, members of etcd, and the
    machine of the daemon that leads; cut machines and the cables between engines. Raises OlafError."""
    if reason := why_not():
        raise OlafError(Problem(reason, remedy="run as root"))
    with lab(*_ENGINES) as made:
        for number in (2, 3):
            made.join_cable("m1", f"m{number}", f"cable{number}")
        # Everything from here on is at the desk, which reaches all machines.
        return run_within(
            made.machines[DESK].network,
            lambda: _at_desk(made, kills, cuts, changes, seed, progress),
        )


def _at_desk(
    made: MachineLab, kills: int, cuts: int, changes: int, seed: int, progress: Callable[[str], None]
) -> chaos.ChaosReport:
    certs, host = made.folder / OPERATOR, made.machines[DESK].address
    issue_pair(certs, "etcd", (host,), 1)
    with (
        mock.patch.dict(os.environ, made.environment_at()),
        etcd_server.running_cluster(_ETCDS, tls=certs, host=host) as etcd,
        _serve_machines(made, etcd) as ground,
    ):
        progress("deploying")
        return chaos.run_on(ground, _PORTS, kills, cuts, changes, seed, progress)


@contextmanager
def _serve_machines(made: MachineLab, etcd: etcd_server.EtcdCluster) -> Iterator["_Machines"]:
    ground = _Machines(made, etcd)
    with ExitStack() as stack:
        for daemon in ground.daemons:
            stack.callback(daemon.kill)
            daemon.start()
        yield ground
        ground.await_healing()


class _Machines:
    """See :class:`olaflab.daemon.chaos.Ground`."""

    def __init__(self, made: MachineLab, etcd: etcd_server.EtcdCluster) -> None:
        self._lab, self._etcd = made, etcd
        self._healing: threading.Timer | None = None
        bed = made.folder / "chaos.yaml"
        bed.write_text(_TESTBED)
        self._testbed = testbeds.load_testbed(bed)
        self._at = {name: made.make_daemon(bed, name, *self._daemon_options(name)) for name in _DAEMONS}

    def _daemon_options(self, name: str) -> list[str]:
        etcd = ["--etcd", ",".join(self._etcd.endpoints), "--etcd-certs", str(self._lab.folder / OPERATOR)]
        return [*etcd, "--advertise", f"{self._lab.machines[name].address}:1"]

    @property
    def daemons(self) -> Sequence[DaemonProcess]:
        return [*self._at.values()]

    def kill(self, chance: random.Random, end: Callable[[DaemonProcess], None]) -> str:
        victim = chance.choice(["agent", "engine", "daemon", "leader's machine", "etcd's member"])
        name = chance.choice(_ENGINES)
        if victim not in ("agent", "engine"):
            self.await_healing()  # what a dead daemon had sent would still arrive after its end
        if victim == "agent":
            self._lab.kill_agent(name)
            self._lab.start_agent(name)
        elif victim == "engine":
            for process in self._lab.machines[name].processes(_ENGINE):
                process.kill()
        elif victim == "etcd's member":
            member = chance.randrange(_ETCDS)
            self._etcd.kill(member)
            self._etcd.start(member)
            self._etcd.wait()
        elif victim == "daemon":
            daemon = self._at[chance.choice(_DAEMONS)]
            end(daemon)
            daemon.start()
        else:
            name = self._find_leading()
            self._lab.machines[name].kill_all()
            end(self._at[name])
            self._lab.kill_agent(name)
            self._lab.start_agent(name)
            self._at[name].start()
        return victim

    def cut(self, chance: random.Random) -> str:
        name, interface, what = chance.choice(
            [(each, "mgmt", "a machine") for each in _ENGINES]
            + [(f"m{n}", f"cable{n}", "a cable between engines") for n in (2, 3)]
        )
        self.await_healing()
        self._lab.cut_network(name, interface=interface)
        healing = partial(self._lab.cut_network, name, whole=True, interface=interface)
        self._healing = threading.Timer(chance.uniform(0, _LONGEST_CUT), healing)
        self._healing.start()
        return what

    def await_healing(self) -> None:
        """Wait until nothing is cut any more."""
        if self._healing is not None:
            self._healing.join()

    @contextmanager
    def store(self) -> Iterator[MembershipStore]:
        with closing(Etcd(self._etcd.endpoints, self._lab.folder / OPERATOR)) as etcd:
            yield EtcdStore(etcd, self._testbed.name, Alone())

    def found(self) -> tuple[Testbed, Running | None]:
        return self._testbed, find_processes(self._testbed, Store(self._lab.machines[DESK].folder / "found"))

    def _find_leading(self) -> str:
        """Return the machine of the daemon that leads; where none does, the first one's."""
        for name, daemon in self._at.items():
            try:
                with DaemonClient(daemon.address) as client:
                    [status] = client.call("GetStatus", summary=True).deployments
            except OlafError:
                continue
            if status.term:
                return name
        return _DAEMONS[0]
