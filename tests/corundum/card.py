"""Corundum's application block with the box in it: between streams with tags, and in the whole NIC."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from olafctl import paths
from olafctl.targets.corundum.variant import CHECKOUT
from olafctl.targets.corundum_sim.nic import Nic
from olafctl.targets.opennic_sim.box import Around, Box
from olafctl.wire.geometry import Geometry
from olafswitch.p4.verilog.module import Module
from olafswitch.simulation.bench import Signals, Sink

CORUNDUM = Path(os.environ.get(CHECKOUT, "/nonexistent")).resolve()
needs_checkout = pytest.mark.skipif(
    not (CORUNDUM / "fpga" / "mqnic").is_dir(), reason=f"{CHECKOUT} does not name a checkout of corundum"
)
HDL: Path = paths.sources() / "hdl" / "corundum"
TAGS = 32
"""The most frames of a lane that the NIC has out; a frame's tag has the highest of 16 bits set."""
_TAG = 0x8000


class CorundumBox(Box):
    """The block, with ``lanes`` MACs and as many interfaces of the host, on streams of ``width`` bits.

    ``rx`` and ``tx`` are the front ports' streams, the MACs' first: a value of 1 with a frame into a MAC is a
    receive error. ``h2c`` and ``c2h`` are the first interface's, which also carries control traffic.
    """

    clocks: Mapping[str, int] = {"clk": 4000}
    programs: Sequence[Any] = ()
    """What has written the tables, and may write them again."""
    register_port = ("s_axil_app_ctrl_", "clk")
    completions: Sequence[Sink] = ()

    def __init__(
        self, queue: Geometry, blocks: Mapping[int, Module], width: int, lanes: int = 2, seed: int = 1
    ) -> None:
        self.width, self.lanes = width, lanes
        self.sent = [0] * lanes
        """The number of frames that each interface has sent."""
        self.completed = [0] * lanes
        """The number of these for which the NIC has got its tag back."""
        self._out: list[set[int]] = [set() for _ in range(lanes)]
        self._ends: list[list[int]] = [[] for _ in range(lanes)]
        """The number of beats, from the first one on, with which each frame that is out has ended."""
        around = Around("olaf_corundum", sorted(HDL.glob("*.v")), parameters={"LANES": lanes, "WIDTH": width})
        super().__init__(queue, blocks, seed, ports=2 * lanes, around=around)

    def connect(self, ports: int) -> None:
        bench, lanes = self.bench, range(self.lanes)
        error, tag = ("_tuser", 1), ("_tuser", 17)

        def named(prefix: str, lane: int, user: tuple[str, int]) -> Signals:
            return Signals.axis(prefix, [(prefix + user[0], user[1])], lane, self.width // 8)

        self.rx += [bench.source(named("s_axis_sync_rx", lane, error)) for lane in lanes]
        self.rx += [bench.source(named("s_axis_sync_tx", lane, tag)) for lane in lanes]
        self.tx += [bench.sink(named("m_axis_sync_tx", lane, tag)) for lane in lanes]
        self.tx += [bench.sink(named("m_axis_sync_rx", lane, error)) for lane in lanes]
        cpl = "m_axis_sync_tx_cpl_"
        self.completions = [
            bench.sink(Signals(f"{cpl}tag", "", "", f"{cpl}valid", f"{cpl}ready", (), lane, 2))
            for lane in lanes
        ]
        self.h2c, self.c2h = self.rx[self.lanes], self.tx[self.lanes]

    def power_up(self) -> None:
        self.bench["rst"] = 1
        self.run_cycles(20)
        self.bench["rst"] = 0

    def reset(self, start: bool = True, limit: int = 50_000) -> None:
        """Reset as PCI Express does: the NIC forgets its frames, and so do the far ends of all streams."""
        if start:
            for source in self.rx:
                source.forget()
            self.bench["rst"] = 1
            self.run_cycles(5)
            for lane in range(self.lanes):
                self._out[lane].clear()
                self._ends[lane].clear()
                self.completed[lane] = self.sent[lane]
            self.bench["rst"] = 0
        self.run_cycles(limit // 5)  # the box takes less than this to send what it has begun, and to reset

    def send(self, port: int, frame: bytes, error: int = 0) -> None:
        """Send a frame into a front port; from an interface of the host, when a tag is free."""
        lane = port - 1 - self.lanes
        if lane < 0:
            self.rx[port - 1].send(frame, [error])
            return
        while not (free := set(range(TAGS)) - self._out[lane]):
            self.run_cycles(50)
        tag = min(free)
        self._out[lane].add(tag)
        self.sent[lane] += 1
        source = self.rx[self.lanes + lane]
        source.send(frame, [(_TAG | tag) << 1 | error])
        self._ends[lane].append(source.beats + source.pending)

    def run_cycles(self, cycles: int) -> None:
        """Run, and take what is completed then."""
        super().run_cycles(cycles)
        self.collect_tags()

    def check_completions(self) -> None:
        """Fail where a frame of the host is not completed."""
        assert self.completed == self.sent

    def collect_tags(self) -> None:
        """Take the completions; fail at a tag that is not outstanding at its lane, or early."""
        for lane, sink in enumerate(self.completions):
            for done in sink.frames():
                tag = int.from_bytes(done.data, "little")
                assert tag & _TAG and tag ^ _TAG in self._out[lane], f"lane {lane} completes {tag:#06x}"
                self._out[lane].remove(tag ^ _TAG)
                assert self._ends[lane].pop(0) <= self.rx[self.lanes + lane].beats, f"lane {lane}: early"
                self.completed[lane] += 1

    def left(self) -> dict[int, list[bytes]]:
        """Return the frames since the last call, by front port; none has a tag or an error."""
        taken: dict[int, list[bytes]] = {}
        for port, sink in enumerate(self.tx, start=1):
            frames: list[Any] = sink.frames()
            assert all(frame.user == (0,) for frame in frames)
            taken[port] = [frame.data for frame in frames]
        return taken


class WholeNic(Nic):
    """The card in Corundum with two MACs."""

    programs: Sequence[Any] = ()

    def send(self, port: int, frame: bytes, error: int = 0) -> None:
        """Send a frame into a front port; a host's frame has no error."""
        if port <= len(self.rx):
            self.rx[port - 1].send(frame, [error])
        else:
            self.hosts[port - 1 - len(self.rx)].send(frame)

    def check_completions(self) -> None:
        """Fail where the NIC has not finished a frame of the host."""
        for host in self.hosts:
            produced, consumed = host.read_ring()
            assert produced == consumed == host.produced & 0xFFFF == host.completed & 0xFFFF

    def left(self) -> dict[int, list[bytes]]:
        """Return the frames since the last call, by front port; into a MAC without tag, error or gap."""
        taken: dict[int, list[bytes]] = {}
        for port, (_, out) in enumerate(self.ends[:-1], start=1):
            frames = out.frames()
            taken[port] = [frame.data for frame in frames]
            if port <= len(self.rx):
                assert all(frame.user == (0,) for frame in frames)
        return taken
