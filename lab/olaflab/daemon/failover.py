"""Two controllers over the same switches: the leader is killed or cut off from etcd while clients change
memberships; then nothing that was acknowledged may be missing.

The controllers are processes of their own, each with its own way to an etcd.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from olafctl.control import devices
from olafctl.daemon.api.client import DaemonClient
from olafctl.daemon.etcd import messages
from olafctl.daemon.etcd.client import Etcd
from olafctl.daemon.etcd.store import leader_key
from olafctl.targets import testbeds
from olaflab.daemon import pair_daemon
from olaflab.daemon.chaos import Chaos
from olaftest.daemon import etcd_server
from olaftest.daemon.daemon_process import DaemonProcess, wait_until
from olaftest.daemon.etcd_server import EtcdCluster
from olaftest.daemon.relay import Relay
from olaftest.daemon.switch_pair import SwitchPair, running_pair

_TESTBED = """
name: failover
engine: {indices: 16, slots: 4, beats: 24, address: 10.0.0.250}
ports: [{number: 1, name: ps}, {numbers: 2-4, name: tor}]
parameter_servers: [{name: ps, port: ps, ip: 10.0.0.254}]
clusters: []
"""
_PORTS = (2,)


@dataclass(frozen=True)
class FailoverReport:
    """Times are in seconds of wall time, of each round in order."""

    served_after_kill: list[float]
    """From the kill of the leader to the first change that the other acknowledged."""
    served_after_cut: list[float]
    """The same from the moment the leader lost etcd."""
    stopped_before_lease: list[float]
    """From the last change that a leader without etcd acknowledged to the end of its lease at etcd."""
    primary: bool
    """Whether at the end of every round the devices had seen the new leader's election id, and no higher."""
    outcomes: dict[str, int]
    lost: list[str]
    """Workers about whom no order explains the answers."""


def run_failover(
    kills: int, cuts: int, losses: int, changes: int, progress: Callable[[str], None]
) -> FailoverReport:
    """Kill the leader ``kills`` times, cut it off from etcd ``cuts`` times, and kill a member of an etcd of
    three ``losses`` times, after at least ``changes`` changes were acknowledged since the last time.

    Raises OlafError when something does not come back.
    """
    bed = testbeds.load_testbed("failover.yaml", _TESTBED)
    with (
        etcd_server.running_cluster(3 if losses else 1) as etcd,
        running_pair(bed) as pair,
        _run_controllers(pair, etcd) as both,
    ):
        trial = _Trial(pair, both, etcd)
        trial.begin_trial()
        for number in range(kills):
            progress(f"kill {number + 1} of {kills}")
            trial.kill_leader(changes)
        for number in range(cuts):
            progress(f"cut {number + 1} of {cuts}")
            trial.cut_leader(changes)
        for number in range(losses):
            progress(f"loss {number + 1} of {losses}")
            trial.lose_member(number % 3, changes)
        return trial.end_trial()


@dataclass
class _Controller:
    daemon: DaemonProcess
    relays: list[Relay]
    """To each member of etcd."""


@contextmanager
def _run_controllers(pair: SwitchPair, etcd: EtcdCluster) -> Iterator[list[_Controller]]:
    both: list[_Controller] = []
    try:
        for name in ("a", "b"):
            relays = [Relay.to(endpoint) for endpoint in etcd.endpoints]
            endpoints = ",".join(relay.endpoint for relay in relays)
            both.append(_Controller(pair_daemon.make_process(pair, name, endpoints), relays))
            both[-1].daemon.start()
        yield both
    finally:
        for each in both:
            each.daemon.kill()
            for relay in each.relays:
                relay.close()


class _Trial:
    def __init__(self, pair: SwitchPair, both: list[_Controller], etcd: EtcdCluster) -> None:
        self._pair = pair
        self._both = both
        self._cluster = etcd
        self._etcd = Etcd(etcd.endpoints)
        self._chaos = Chaos([each.daemon for each in both], _PORTS, seed=1)
        self._served_after_kill: list[float] = []
        self._served_after_cut: list[float] = []
        self._stopped: list[float] = []
        self._primary = True

    def begin_trial(self) -> None:
        self._chaos.begin_clients()

    def await_changes(self, changes: int) -> None:
        """Wait until so many more changes are acknowledged."""
        self._chaos.await_answers(len(self._chaos.answers) + changes)

    def kill_leader(self, changes: int) -> None:
        self.await_changes(changes)
        leader, other = self._leader_first()
        since = time.monotonic()
        self._chaos.end_daemon(leader.daemon)
        self._served_after_kill.append(self._first_of(other, since) - since)
        self._check_primary()
        leader.daemon.start()

    def cut_leader(self, changes: int) -> None:
        self.await_changes(changes)
        leader, other = self._leader_first()
        term = self._read_term()
        since = time.monotonic()
        for relay in leader.relays:
            relay.freeze_traffic()
        while self._read_term() == term:
            time.sleep(0.01)
        ended = time.monotonic()
        self._served_after_cut.append(self._first_of(other, since) - since)
        last = self._chaos.await_answers(1, leader.daemon.address)[-1]
        self._stopped.append(ended - last)
        self._check_primary()
        for relay in leader.relays:
            relay.heal_traffic()

    def lose_member(self, member: int, changes: int) -> None:
        """Kill a member of etcd, and start it again, both under load."""
        self._cluster.kill(member)
        self.await_changes(changes)
        self._cluster.start(member)
        self._cluster.wait()
        self.await_changes(changes)

    def end_trial(self) -> FailoverReport:
        self._chaos.end_clients()
        leader, _ = self._leader_first()
        with DaemonClient(leader.daemon.address) as client:
            self._chaos.note_status(client.address, client.call("GetStatus").deployments[0])
        return FailoverReport(
            [round(each, 2) for each in self._served_after_kill],
            [round(each, 2) for each in self._served_after_cut],
            [round(each, 2) for each in self._stopped],
            self._primary,
            self._chaos.count_outcomes(),
            [*self._chaos.find_unexplained()],
        )

    def _first_of(self, controller: _Controller, since: float) -> float:
        """Return the time of the first change after ``since`` that ``controller`` acknowledged."""
        return min(self._chaos.await_answers(1, controller.daemon.address, since))

    def _leader_first(self) -> list[_Controller]:
        """Return the leader, and the other."""
        wait_until(lambda: self._read_term() > 0)
        return sorted(
            self._both, key=lambda each: each.daemon.address.encode() not in self._read_leader().value
        )

    def _read_term(self) -> int:
        found = self._read_leader()
        return int(found.create_revision) if found is not None else 0

    def _read_leader(self) -> Any:
        """Return the leader's key as etcd has it; None when there is none."""
        answer = self._etcd.transact([], [messages.get_keys(leader_key(self._pair.testbed.name))])
        return next(iter(answer.responses[0].response_range.kvs), None)

    def _check_primary(self) -> None:
        running = self._pair.running()
        assert running is not None
        with devices.watch_devices(running) as sessions:
            seen = {session.highest_election_id for session in sessions.values()}
        self._primary = self._primary and seen == {self._read_term() << 64}
