"""A deployment in shards looks like one engine from outside."""

import ctypes
import dataclasses
import platform
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from olafctl.control import devices, shards
from olafctl.membership.model import Member
from olafctl.queue.registers import DISPOSITIONS
from olafctl.targets import processes
from olafctl.targets.interface import TimedFrame, of_root
from olafctl.targets.queue_process import SocketShards
from olafctl.targets.testbeds import load_testbed
from olafctl.targets.twin.running import RunningTwin
from olafctl.testbed.model import Testbed
from olafctl.wire.layouts import FrameType
from olafswitch.ports.host import HostPort
from olaftest.deployment import open_hosts
from olaftest.frames import OlafFrame

from .conftest import SOON, started, update

PS, RACK = 1, 2
_TGKILL = 234 if platform.machine() == "x86_64" else 131
TEXT = """
name: shards
target: software
engine: {shards: 2, indices: 16, slots: 8, mode: fifo}
ports:
  - {number: 1, name: ps}
  - {number: 2, name: rack}
parameter_servers: [{name: ps, port: ps, ip: 10.0.0.254}]
clusters:
  - {count: 4, workers: 2, name: job, ports: "2", ip: 10.0.1.1}
"""


@dataclasses.dataclass
class ShardBench:
    bed: Testbed
    running: RunningTwin
    threads: SocketShards
    ports: dict[int, HostPort]

    def send(self, worker: Member, seq: int, frame_type: FrameType = FrameType.UPDATE) -> None:
        self.ports[RACK].send(update(self.bed, worker, seq, frame_type))

    def receive(self, count: int) -> list[OlafFrame]:
        found = []
        for _ in range(count):
            frame = self.ports[PS].receive(SOON)
            assert frame is not None
            found.append(OlafFrame.decode(frame))
        return found


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ShardBench]:
    folder = tmp_path_factory.mktemp("shards")
    bed = load_testbed(folder / "shards.yaml", TEXT)
    with started(bed, "software", folder / "state") as running, open_hosts(running) as ports:
        assert isinstance(running, RunningTwin)
        shards.balance_shards(running, bed, bed.clusters)
        yield ShardBench(bed, running, running.sharded[bed.root.name], ports)


def test_clusters_are_dealt_out_and_every_update_arrives(bench: ShardBench) -> None:
    assert sorted(bench.threads.owners([each.first for each in bench.bed.clusters])) == [0, 0, 1, 1]
    for seq in range(1, 4):
        for worker in bench.bed.workers:
            bench.send(worker, seq)
    assert len(bench.receive(3 * len(bench.bed.workers))) == 24
    each = [shard["counters"]["in_updates"] for shard in bench.threads.counted()]
    assert each == [12, 12]
    assert of_root(bench.running.queues).read("in_updates") == 24


def test_what_waits_moves_with_its_cluster_and_keeps_its_order(bench: ShardBench) -> None:
    registers = of_root(bench.running.queues)
    registers.write("clear", 1)
    worker = bench.bed.clusters[0].workers[0]
    (owner,) = bench.threads.owners([bench.bed.clusters[0].first])
    registers.write("hold", 1)
    for seq in (1, 2, 3):
        bench.send(worker, seq)
    while registers.read("occupancy") < 3:
        pass
    for shard in (1 - owner, owner, 1 - owner):
        bench.threads.place(bench.bed.clusters[0].first, bench.bed.clusters[0].last, shard)
    bench.send(worker, 4)
    while registers.read("occupancy") < 4:
        pass
    registers.write("hold", 0)
    assert [frame.seq for frame in bench.receive(4)] == [1, 2, 3, 4]
    all_of = registers.read_all()
    assert (all_of["in_updates"], all_of["out_updates"], all_of["resident_updates"]) == (4, 4, 0)
    for each in bench.threads.counted():
        counters = each["counters"]
        gone = counters["out_updates"] + counters["merged"] + sum(counters[name] for name in DISPOSITIONS)
        assert counters["in_updates"] == gone
    bench.threads.place(bench.bed.clusters[0].first, bench.bed.clusters[0].last, owner)


def test_tables_count_what_every_shard_saw(bench: ShardBench) -> None:
    with devices.watch_devices(bench.running) as sessions:

        def counted() -> int:
            return sum(count.packets for count in sessions["vnp4_1"].direct_counters("workers").values())

        before = counted()
        for worker in bench.bed.workers:
            bench.send(worker, 5)
        bench.receive(len(bench.bed.workers))
        assert counted() - before == len(bench.bed.workers)


def test_an_unknown_shard_is_refused(bench: ShardBench) -> None:
    with pytest.raises(Exception, match="shard 7"):
        bench.threads.place(0, 0, 7)


def test_virtual_time_is_that_of_one_queue(bench: ShardBench, tmp_path: Path) -> None:
    one = dataclasses.replace(bench.bed, engines=(dataclasses.replace(bench.bed.root, shards=1),))
    frames = [
        TimedFrame(100 * n, RACK, update(bench.bed, worker, n))
        for n, worker in enumerate(4 * bench.bed.workers)
    ]
    with started(one, "software", tmp_path / "one") as running:
        expected = list(running.replay(iter(frames)))
    assert list(bench.running.replay(iter(frames))) == expected
    assert len(expected) == len(frames)
    bench.send(bench.bed.workers[-1], 9)  # the thread goes back to the wall's clock
    assert [frame.seq for frame in bench.receive(1)] == [9]


def test_a_thread_that_dies_ends_the_process(bench: ShardBench) -> None:
    """This test is the last one here: nothing runs after it."""
    (process,) = processes.of_engine(bench.running.logs()[0].parent)
    tasks = Path(f"/proc/{process.pid}/task")
    (thread,) = (task for task in tasks.iterdir() if (task / "comm").read_text() == "lane 1\n")
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.syscall(_TGKILL, process.pid, int(thread.name), signal.SIGSEGV) == 0
    process.wait(SOON)
    assert not bench.running.alive()
