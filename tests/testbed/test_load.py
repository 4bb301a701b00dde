"""The content of a right testbed: quantities, defaults, ranges and the shipped files."""

from dataclasses import asdict
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from olafctl.membership.model import Kind
from olafctl.targets import testbeds
from olafctl.testbed.model import Testbed
from olafctl.wire.modes import Mode
from olafswitch.ports.transport import Transport

HEAD = """
ports: [{numbers: 1-4, name: tor}]
parameter_servers: [{port: 1, ip: 10.0.0.254}]
"""


def load(tmp_path: Path, text: str) -> Testbed:
    path = tmp_path / "bed.yaml"
    path.write_text(HEAD + text)
    return testbeds.load_testbed(path)


def test_left_out_fields_have_defaults(tmp_path: Path) -> None:
    bed = load(tmp_path, "clusters: []")
    assert (bed.name, bed.target, bed.blocks) == ("bed", "twin", "rtl")
    assert (bed.udp_port, bed.control_tos) == (20300, 0xFC)
    assert asdict(bed.root) == {
        "indices": 16,
        "slots": 8,
        "beats": 24,
        "adder_latency": 4,
        "mode": Mode.OLAF,
        "reward_threshold": None,
        "output_rate": None,
        "active_window": 10_000_000,
        "accumulate_quota": 4,
        "staleness_root": None,
        "address": None,
        "shards": 1,
        "name": "engine",
        "machine": "",
    }
    server = bed.parameter_servers[0]
    assert (server.name, server.mac, server.udp_port) == ("ps", "02:00:0a:00:00:fe", 20300)


@pytest.mark.parametrize(
    ("written", "rate"),
    [
        ("40 Gb/s", 40_000_000_000),
        ("40Gbps", 40_000_000_000),
        ("2.5 Gbit/s", 2_500_000_000),
        ("100 Mb/s", 100_000_000),
        ("0.128 Tb/s", 128_000_000_000),
        ("off", None),
        ("unlimited", None),
    ],
)
def test_rates(written: str, rate: int | None, tmp_path: Path) -> None:
    assert load(tmp_path, f"clusters: []\nengine: {{output_rate: {written}}}").root.output_rate == rate


@pytest.mark.parametrize(
    ("written", "ns"), [("10 ms", 10_000_000), ("1.5us", 1500), ("2 µs", 2000), ("40 ns", 40), ("1 s", 10**9)]
)
def test_durations(written: str, ns: int, tmp_path: Path) -> None:
    assert load(tmp_path, f"clusters: []\nengine: {{active_window: {written}}}").root.active_window == ns


def test_workers_are_dealt_over_ports_in_turn(tmp_path: Path) -> None:
    bed = load(
        tmp_path,
        "clusters:\n - {count: 2, workers: 3, name: c, ports: [tor2, 3-4], ip: 10.9.0.0/24, index: 5}",
    )
    assert [(w.name, w.port, str(w.ip), w.cluster, w.replica) for w in bed.workers] == [
        ("c0-w0", 2, "10.9.0.1", "c0", 1),
        ("c0-w1", 3, "10.9.0.2", "c0", 2),
        ("c0-w2", 4, "10.9.0.3", "c0", 3),
        ("c1-w0", 2, "10.9.0.4", "c1", 4),
        ("c1-w1", 3, "10.9.0.5", "c1", 5),
        ("c1-w2", 4, "10.9.0.6", "c1", 6),
    ]
    assert [cluster.group for cluster in bed.clusters] == [6, 7]


def test_a_worker_may_say_everything(tmp_path: Path) -> None:
    bed = load(
        tmp_path,
        """
clusters:
  - index: 3
    workers:
      - {name: w, port: tor2, ip: 10.1.1.1, mac: 02-AA-00-00-00-01, udp_port: 41000, id: 0xBEEF}
""",
    )
    worker = bed.workers[0]
    assert (worker.port, worker.ip, worker.mac) == (2, IPv4Address("10.1.1.1"), "02:aa:00:00:00:01")
    assert (worker.udp_port, worker.worker_id, worker.cluster) == (41000, 0xBEEF, "cluster3")


def test_a_range_of_ports_shares_a_transport_and_numbers_paths(tmp_path: Path) -> None:
    path = tmp_path / "bed.yaml"
    path.write_text(
        "ports:\n"
        "  - {number: 1, transport: pcap, path: ps.pcap}\n"
        "  - {numbers: 2-3, name: tor, transport: unix, path: '/tmp/tor-{number}.sock'}\n"
        "parameter_servers: [{port: 1, ip: 10.0.0.254}]\n"
        "clusters: []\n"
    )
    ports = testbeds.load_testbed(path).ports
    assert [(port.number, port.name, port.transport, port.path) for port in ports] == [
        (1, "port1", Transport.PCAP, "ps.pcap"),
        (2, "tor2", Transport.UNIX, "/tmp/tor-2.sock"),
        (3, "tor3", Transport.UNIX, "/tmp/tor-3.sock"),
    ]


def test_nested_routes_are_a_longest_prefix_match_not_a_mistake(tmp_path: Path) -> None:
    bed = load(
        tmp_path, "clusters: []\nroutes:\n - {prefix: 0.0.0.0/0, port: 2}\n - {prefix: 10.0.0.0/8, port: 3}"
    )
    assert [(str(route.prefix), route.port) for route in bed.routes] == [("0.0.0.0/0", 2), ("10.0.0.0/8", 3)]


def test_each_cluster_has_indices_for_the_segments_of_its_model(tmp_path: Path) -> None:
    bed = load(
        tmp_path,
        """\
engine: {indices: 8, beats: 24, address: 10.0.0.250}
clusters:
  - {count: 2, workers: 2, name: small, port: 1, ip: 10.0.1.1}
  - {count: 1, workers: 3, name: large, port: 1, ip: 10.0.2.1, values: 1441, epoch: 3, role: player}
  - {count: 1, workers: 4, name: rounds, port: 1, ip: 10.0.3.1, values: 360, mode: iswitch, threshold: 3}
""",
    )
    by_name = {cluster.name: cluster for cluster in bed.clusters}
    assert [(c.first, c.segments) for c in bed.clusters] == [(0, 1), (1, 1), (2, 5), (7, 1)]
    assert (by_name["large"].epoch, bed.mode_of(by_name["large"])) == (3, Mode.OLAF)
    assert {worker.kind for worker in by_name["large"].workers} == {Kind.PLAYER}
    assert {worker.kind for worker in by_name["rounds"].workers} == {Kind.WORKER}
    assert (by_name["rounds"].mode, by_name["rounds"].threshold) == (Mode.ISWITCH, 3)
    assert [worker.number for worker in by_name["rounds"].workers] == [0, 1, 2, 3]
