"""A front port may be a veth, a TAP, a UNIX socket or pcap files: frames go through all of them alike."""

import dataclasses
import os
import socket
from pathlib import Path

import pytest

from olafctl.network import interfaces
from olafctl.targets import processes, registry
from olafctl.targets.testbeds import load_testbed
from olafctl.targets.twin.attach import ENGINE_CPU
from olafctl.testbed.model import Testbed
from olafswitch.errors import OlafError
from olafswitch.ports import unix
from olafswitch.ports.host import UnixHostPort, open_host_port
from olafswitch.ports.pcap import PcapReader, PcapWriter
from olafswitch.ports.transport import Transport
from olaftest.deployment import program_devices

from .conftest import LAPTOP, SOON, quietly, started, update, why_not

pytestmark = pytest.mark.skipif(why_not("twin") is not None, reason=str(why_not("twin")))

KINDS = [
    pytest.param(
        kind, marks=pytest.mark.skipif(needs_root and bool(interfaces.why_not()), reason="needs root")
    )
    for kind, needs_root in (
        (Transport.VETH, True),
        (Transport.TAP, True),
        (Transport.UNIX, False),
        (Transport.PCAP, False),
    )
]


def bed_of(kind: Transport) -> Testbed:
    bed = load_testbed(LAPTOP)
    return dataclasses.replace(
        bed, ports=tuple(dataclasses.replace(port, transport=kind) for port in bed.ports)
    )


def test_the_packet_thread_runs_where_the_operator_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bed, state = bed_of(Transport.UNIX), tmp_path / "bed"
    chosen = max(os.sched_getaffinity(0))
    monkeypatch.setenv(ENGINE_CPU, str(chosen))
    with started(bed, "software", state, programmed=False):
        threads = [
            os.sched_getaffinity(thread.id)
            for process in processes.find_processes(state)
            for thread in process.threads()
        ]
        assert {chosen} in threads
        assert os.sched_getaffinity(0) in threads


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("kind", KINDS)
def test_an_engine_keeps_the_rights_of_its_ports_and_avoids_the_veths_processor(
    kind: Transport, tmp_path: Path
) -> None:
    bed, state = bed_of(kind), tmp_path / "bed"
    with started(bed, "twin", state, programmed=False):
        (process,) = processes.of_engine(state)
        text = Path(f"/proc/{process.pid}/status").read_text()
        threads = [
            os.sched_getaffinity(each.id) for one in processes.find_processes(state) for each in one.threads()
        ]
    held = {line.split()[0]: int(line.split()[1], 16) for line in text.splitlines() if line.startswith("Cap")}
    needed = sum(1 << number for number in (1, 12, 13, 14, 39))
    namespaces = 1 << 21 if kind in (Transport.VETH, Transport.TAP) else 0
    for which in ("CapBnd:", "CapEff:", "CapPrm:"):
        assert held[which] & ~(needed | namespaces) == 0
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("only one processor")
    off = {interfaces.receiver_of(state)} if kind is Transport.VETH else set()
    assert os.sched_getaffinity(0) - off in threads
    assert os.sched_getaffinity(0) in threads


def test_frames_before_a_pipeline_is_pushed_count_as_lost(tmp_path: Path) -> None:
    bed, target, state = bed_of(Transport.UNIX), registry.get_target("twin"), tmp_path / "bed"
    with started(bed, "twin", state, programmed=False) as running:
        port = open_host_port(running.attachments[0])
        port.send(bytes(60))
        assert port.receive(0.1) is None
        found = target.find(bed, state)
        assert found is not None
        stats = found.stats()
        assert stats["losses"]["no_pipeline"] == 1
        assert stats["ports"]["1"]["rx_frames"] == 1


def test_several_hosts_at_one_socket_share_the_segment(tmp_path: Path) -> None:
    bed, state = bed_of(Transport.UNIX), tmp_path / "bed"
    with started(bed, "twin", state) as running:
        path = Path(running.attachments[0].path)
        hosts = [UnixHostPort(path) for _ in range(3)]
        worker = UnixHostPort(Path(running.attachments[1].path))
        frame = update(bed, bed.workers[0], 1)
        hosts[1].close()
        worker.send(frame)
        assert hosts[0].receive(SOON) == frame
        assert hosts[2].receive(SOON) == frame
    with pytest.raises(OlafError, match="lost"):
        hosts[0].receive(SOON)
    with pytest.raises(OlafError, match="deployed"):
        open_host_port(running.attachments[0])


def test_a_socket_in_use_stops_the_start(tmp_path: Path) -> None:
    bed, target, state = bed_of(Transport.UNIX), registry.get_target("twin"), tmp_path / "bed"
    (state / "ports").mkdir(parents=True)
    with unix.listen_at(state / "ports" / "2.sock", socket.SOCK_SEQPACKET):
        with pytest.raises(OlafError, match="port 2"):
            target.start(bed, target.build(bed, quietly), state, quietly)
        target.stop(state)


def test_a_foreign_capture_is_sent_when_both_pipelines_run(tmp_path: Path) -> None:
    bed, target, state = bed_of(Transport.PCAP), registry.get_target("twin"), tmp_path / "bed"
    (state / "ports").mkdir(parents=True)
    writer = PcapWriter(state / "ports" / "2.in.pcap")
    for _ in range(100):
        writer.write(bytes(60))
    with started(bed, "twin", state, programmed=False) as running:
        found = target.find(bed, state)
        assert found is not None
        assert found.stats()["ports"]["2"]["rx_frames"] == 0
        program_devices(running, bed)
        frame = update(bed, bed.workers[0], 1)
        port = open_host_port(running.attachments[1])
        port.send(frame)
        assert open_host_port(running.attachments[0]).receive(SOON) == frame
        assert found.stats()["ports"]["2"]["rx_frames"] == 101
    assert [frame for _, frame in PcapReader(state / "ports" / "1.out.pcap")] == [frame]
