"""What ``olaflab bench control`` measures: a daemon with thousands of members, over two switches."""

import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

import psutil

from olafctl import environments
from olafctl.daemon.api.client import DaemonClient
from olafctl.membership import limits
from olafctl.membership.membership import Change, Membership, make_rows
from olafctl.membership.model import Cluster
from olafctl.membership.operations import MemberWish, Operations
from olafctl.membership.sqlite import SqliteStore
from olafctl.targets import testbeds
from olafctl.testbed.ground import make_ground
from olaflab.daemon import pair_daemon
from olafswitch.errors import BadInput, OlafError, Problem
from olaftest.daemon.daemon_process import running_daemon, wait_until
from olaftest.daemon.switch_pair import SwitchPair, running_pair

_TESTBED = """
name: control
engine: {indices: 1024, slots: 4, beats: 24}
ports: [{number: 1, name: ps}, {numbers: 2-9, name: tor}]
parameter_servers: [{name: ps, port: ps, ip: 10.0.0.254}]
clusters: []
"""
_SHELL_WRITES = Path(__file__).with_name("shell_writes.py")
_FIRST = IPv4Address("10.1.0.1")
_CLIENTS = 16
_CHECK_EVERY = 1.0
"""Far more often than a daemon does by default, so that most joins meet a check."""


@dataclass(frozen=True)
class Figures:
    """Times in seconds, memory in bytes."""

    members: int
    clusters: int
    reconcile: float
    """From the start of the daemon's process until empty devices hold everything and were read back."""
    reconcile_cpu: float
    """Processor time of the daemon in it, the start of Python included."""
    unchanged: float
    """The same when the devices hold everything already."""
    join_median: float
    join_p99: float
    """Joins of one client that waits for each answer."""
    joins_per_second: float
    """Joins of 16 clients at once."""
    join_cpu: float
    """Processor time of the daemon for each of these."""
    memory: int
    """Resident, after all of this."""
    shell_member: float
    """One member's writes one by one with p4runtime-shell."""


def measure_daemon(members: int, clusters: int, joins: int, progress: Callable[[str], None]) -> Figures:
    """Measure a daemon that begins with ``members`` in ``clusters``, and to which 5 · ``joins`` are added.

    Raises OlafError.
    """
    if (total := members + 5 * joins) > limits.WORKERS:
        raise BadInput(Problem(f"{total} members do not fit into tables of {limits.WORKERS}", "--joins"))
    with running_pair(testbeds.load_testbed("control.yaml", _TESTBED)) as pair:
        progress("writing members one by one with p4runtime-shell")
        shell = _time_shell(pair, min(200, members))
        pair.start([])
        progress(f"storing {members} members")
        _fill_store(pair, members, clusters)
        progress("reconciling empty devices")
        began = time.perf_counter()
        with (
            running_daemon(pair_daemon.make_process(pair, check_every=_CHECK_EVERY)) as daemon,
            DaemonClient(daemon.address) as client,
        ):
            wait_until(lambda: client.call("GetStatus", summary=True).deployments[0].ready)
            reconcile = time.perf_counter() - began
            process = psutil.Process(daemon.pid)
            reconcile_cpu = _cpu_seconds(process)
            progress(f"joining {joins} members, one after the other")
            times = sorted(_time_join(client, members + n, clusters) for n in range(joins))
            progress(f"joining {4 * joins} members by {_CLIENTS} clients")
            before = _cpu_seconds(process)
            rate = _join_together(daemon.address, members + joins, 4 * joins, clusters)
            join_cpu = (_cpu_seconds(process) - before) / (4 * joins)
            memory = process.memory_info().rss
        progress("reconciling devices that hold everything")
        began = time.perf_counter()
        with running_daemon(pair_daemon.make_process(pair)) as daemon, DaemonClient(daemon.address) as client:
            wait_until(lambda: client.call("GetStatus", summary=True).deployments[0].ready)
            unchanged = time.perf_counter() - began
    return Figures(
        members=members,
        clusters=clusters,
        reconcile=reconcile,
        reconcile_cpu=reconcile_cpu,
        unchanged=unchanged,
        join_median=times[len(times) // 2],
        join_p99=times[min(len(times) * 99 // 100, len(times) - 1)],
        joins_per_second=rate,
        join_cpu=join_cpu,
        memory=memory,
        shell_member=shell,
    )


def _cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _fill_store(pair: SwitchPair, members: int, clusters: int) -> None:
    """Store the members, as if they had joined."""
    ask = Operations(make_ground(pair.testbed))
    membership = Membership(pair.testbed.root.indices, {})
    everything: Change = {}
    for operation in (
        *(ask.create_cluster(Cluster(f"cluster{n}")) for n in range(clusters)),
        *(ask.join(_make_wish(n, clusters)) for n in range(members)),
    ):
        change = operation(membership).change
        membership.apply(change)
        everything.update(change)
    store = SqliteStore(pair.folder)
    store.finish(make_rows(everything))
    store.close()


def _make_wish(number: int, clusters: int) -> MemberWish:
    return MemberWish(f"cluster{number % clusters}", _FIRST + number, 2 + number % 8, 41000)


def _time_join(client: DaemonClient, number: int, clusters: int) -> float:
    """Return the seconds that one join takes."""
    wish = _make_wish(number, clusters)
    began = time.perf_counter()
    client.call("Join", cluster=wish.cluster, ip=str(wish.ip), port=wish.port, udp_port=wish.udp_port)
    return time.perf_counter() - began


def _join_together(address: str, first: int, count: int, clusters: int) -> float:
    """Return the joins a second of several clients at once. Raises OlafError when one is refused."""
    failures: list[OlafError] = []

    def join(part: int) -> None:
        try:
            with DaemonClient(address) as client:
                for number in range(first + part, first + count, _CLIENTS):
                    _time_join(client, number, clusters)
        except OlafError as error:
            failures.append(error)

    began = time.perf_counter()
    threads = [threading.Thread(target=join, args=(part,)) for part in range(_CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return count / (time.perf_counter() - began)


def _time_shell(pair: SwitchPair, members: int) -> float:
    """Return the seconds that p4runtime-shell takes for one member's writes, one by one."""
    running = pair.running()
    assert running is not None
    python = environments.python(environments.SHELL, lambda step: None)
    taken = 0.0
    for device, script in zip(running.devices, ("workers", "members"), strict=True):
        files = f"{device.p4info},{device.config}"
        argv = [str(python), "-P", str(_SHELL_WRITES), script, device.address]
        argv += [str(device.device_id), files, str(members)]
        ended = subprocess.run(argv, capture_output=True, text=True, check=False)
        if ended.returncode:
            raise OlafError(Problem(ended.stderr[-500:], "p4runtime-shell"))
        taken += float(ended.stdout.split()[-1])
    return taken / members


def format_lines(figures: Figures) -> Iterator[str]:
    """Format the figures for people, those of p4runtime-shell next to the daemon's."""
    everyone = figures.shell_member * figures.members
    yield f"{figures.members} members in {figures.clusters} clusters"
    shell = "p4runtime-shell, one by one"
    yield f"cold reconcile           {figures.reconcile:9.2f} s     ({shell}: {everyone:.1f} s)"
    yield f"  processor time         {figures.reconcile_cpu:9.2f} s"
    yield f"reconcile, all there     {figures.unchanged:9.2f} s"
    yield f"join, median             {figures.join_median * 1e3:9.2f} ms"
    yield f"join, 99th percentile    {figures.join_p99 * 1e3:9.2f} ms"
    one = 1 / figures.shell_member
    yield f"joins, {_CLIENTS} clients        {figures.joins_per_second:9.0f} /s    ({shell}: {one:.0f} /s)"
    yield f"  processor time of one  {figures.join_cpu * 1e3:9.2f} ms"
    yield f"memory                   {figures.memory / 1e6:9.0f} MB"
