"""iSwitch over engines on three machines, whose members lose 1 % of all datagrams: every sum is exact, and
all members have the same bits."""

import hashlib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

import numpy as np
import pytest

pytest.importorskip("olaf", reason="needs the SDK: pip install ./sdk")

from olaf.rounds import Rounds
from olaf.transport.udp import UdpPort

from olafctl.membership.model import Host, default_mac
from olafctl.targets import testbeds
from olafctl.testbed.model import Testbed
from olafctl.wire.layouts import BEAT_BYTES, ETHERNET
from olaflab.training.cosim.medium import address_of
from olaflab.training.replicas import plan as plans
from olaflab.training.replicas.live import ReplicaTeam
from olaflab.training.replicas.lossy import LossyPort
from olafswitch.ports.namespace import run_within
from olaftest.daemon.machines import MachineLab, lab, why_not
from tests.machines.conftest import over_machines

MEMBERS, VALUES, ROUNDS = 4, 3000, 100
LOSS = 0.01
PLAN = plans.ReplicaPlan(
    members=MEMBERS, results=500, values=VALUES, h=MEMBERS, staleness=3, loss=LOSS, kill=False, late=False,
    levels=2, pace=0.004, seed=1, target="twin",
)  # fmt: skip


def write_testbed(made: MachineLab, *changes: tuple[str, str]) -> Testbed:
    """Make the testbed of ``olaflab bench replica``: its root on m1, a rack on each of m2 and m3."""
    text = over_machines(
        plans.make_testbed(PLAN, "unix").text, "software", 3,
        *((f"{{name: {name}, ", f"{{name: {name}, machine: m{place}, ")
          for place, name in enumerate(("root", "tor1", "tor2"), 1)),
        ("{numbers: 1-2, name: rack}", "{number: 1, name: rack1, transport: nic, path: cable1}, "
         "{number: 2, name: rack2, transport: nic, path: cable2}"),
        *((f"{{numbers: {n}01-{n}02, name: host, transport: unix}}",
           f"{{number: {n}01, name: host{n}01, transport: nic, path: host{n}01}}, "
           f"{{number: {n}02, name: host{n}02, transport: nic, path: host{n}02}}") for n in (1, 2)),
        *((f"name: up{n}}}", f"name: up{n}, transport: nic, path: cable{n}}}") for n in (1, 2)),
        *((f"root.rack{n}], rate: 10 Gb/s, delay: 1 us}}", f"root.rack{n}]}}") for n in (1, 2)),
        *changes,
    )  # fmt: skip
    path = made.folder / f"{plans.NAME}.yaml"
    path.write_text(text)
    return testbeds.load_testbed(path)


@pytest.fixture(scope="module")
def made() -> Iterator[tuple[MachineLab, Mapping[str, str]]]:
    """Provide three machines, and the namespace of each member's host behind them."""
    if reason := why_not():
        pytest.skip(reason)
    with lab("m1", "m2", "m3") as racks:
        for number in (1, 2):
            racks.join_cable("m1", f"m{number + 1}", f"cable{number}")
        bed = write_testbed(racks)
        assert bed.root.address is not None
        known = [(str(each.ip), each.mac) for each in bed.workers]
        known.append((str(bed.root.address), default_mac(bed.root.address)))
        ports = {port.number: port for port in bed.ports}
        machine_of = {engine.name: engine.machine for engine in bed.engines}
        yield (
            racks,
            {
                each.name: racks.add_host(
                    each, machine_of[ports[each.port].engine], ports[each.port].name, known
                )
                for each in bed.workers
            },
        )


@pytest.mark.slow
def test_replicas_end_with_the_same_bits(made: tuple[MachineLab, Mapping[str, str]]) -> None:
    racks, namespaces = made
    bed = write_testbed(racks)
    racks.olafctl("deploy", str(bed.source))
    with ReplicaTeam(bed, PLAN, namespaces) as team:
        outcome = team.run_plan(300, print)
    assert outcome.problems == []
    assert {(end.version, end.sha256) for end in outcome.ends} == {(PLAN.results, outcome.ends[0].sha256)}
    assert len(outcome.ends) == MEMBERS and sum(end.lost for end in outcome.ends) > 0


@pytest.mark.slow
def test_sums_of_rounds_are_exact(made: tuple[MachineLab, Mapping[str, str]]) -> None:
    """Whole numbers add up to the same bits in any order."""
    racks, namespaces = made
    bed = write_testbed(racks, ("mode: iswitch-async, threshold: 4", "mode: iswitch"))
    racks.olafctl("deploy", "--force", str(bed.source))
    given = np.random.default_rng(1).integers(-1000, 1000, (MEMBERS, ROUNDS, VALUES)).astype(np.float32)
    exact = hashlib.sha256(given.sum(0).tobytes()).hexdigest()
    with ExitStack() as stack, ThreadPoolExecutor(MEMBERS) as pool:
        ports = [
            LossyPort(_open_port(namespaces[each.name], each), LOSS, each.number) for each in bed.workers
        ]
        members = [stack.enter_context(closing(_make_rounds(bed, port))) for port in ports]
        digests = [*pool.map(_sum_vectors, members, given)]
    assert digests == [exact] * MEMBERS
    assert sum(port.lost for port in ports) > 0


def _open_port(namespace: str, host: Host) -> UdpPort:
    return run_within(namespace, lambda: UdpPort(address_of(host)))


def _make_rounds(bed: Testbed, port: LossyPort) -> Rounds:
    [cluster], server = bed.clusters, (str(bed.root.address), bed.udp_port)
    peers = [address_of(each) for each in cluster.workers if address_of(each) != port.address]
    mtu = bed.beats * BEAT_BYTES - ETHERNET.size
    return Rounds(port, server, MEMBERS, segments=cluster.segments, mtu=mtu, epoch=cluster.epoch, peers=peers)


def _sum_vectors(member: Rounds, vectors: np.ndarray) -> str:
    for vector in vectors:
        member.reduce(vector)
    return hashlib.sha256(vectors.tobytes()).hexdigest()
