"""A simulated card: the whole box in Verilator, hosts at its ports, BAR2 and the host function at sockets.

Its clock runs while anything moves and during register accesses, some thousand times slower than a card's.
While nothing moves in the queue, the queue's own clock keeps the wall's: what waits for its time (a rate, a
cluster's window) comes then, late by what moving frames took.
"""

import json
import math
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from olafctl.queue.registers import CLOCK_HZ
from olafctl.targets.opennic.bar import ALL_ONES, WRITE, Accesses
from olafctl.targets.opennic.health import CMACS, RS_FEC, RX_ALIGNED, RX_OK, RX_STATUS
from olafctl.targets.opennic.ips import IPS
from olafctl.targets.opennic.plugin import MANIFEST, TABLES
from olafctl.targets.opennic.registers import BOX_BASE, BOX_BYTES, BY_NAME
from olafctl.targets.opennic_sim.box import Box
from olafctl.targets.opennic_sim.front import Front, Segment, wait_readable
from olafctl.wire.geometry import Geometry
from olafswitch.p4.verilog.module import Module
from olafswitch.ports import unix

_SLICE = 200
"""Cycles between two looks at the ports."""
_QUIET = 2000
"""Cycles without a beat after which only the queue can still hold frames."""
_ROOM = 4096
"""Beats that wait at an input before the card stops reading its port."""
_IDLE_CYCLES = 60 * CLOCK_HZ
_PCAP_SECONDS = 0.002
_BUILD_ID = BOX_BASE + BY_NAME["build_id"].offset


def blocks_of(build: Path) -> Mapping[int, Module]:
    """VNP4₁ and VNP4₂ of the plug-in in the folder ``build``."""
    return {
        ip.number: Module(
            ip.name,
            (build / "hdl" / f"{ip.name}.v").read_text(),
            json.loads((build / TABLES.format(ip.name)).read_text()),
        )
        for ip in IPS
    }


class SimulatedCard:
    """The card that runs the build in a plug-in's folder."""

    def __init__(self, build: Path, fronts: Sequence[Front], state: Path) -> None:
        """``fronts`` are the CMACs' ends; the sockets are made in ``state``. Raises OlafError."""
        manifest = json.loads((build / MANIFEST).read_text())
        self._build_id = int(manifest["build_id"], 16)
        self._box = Box(Geometry(**manifest["queue"]), blocks_of(build), ports=len(fronts))
        self._fronts = fronts
        self._host = Segment(state / "host.sock")
        self._accesses = Accesses(unix.listen_at(state / "bar.sock", socket.SOCK_STREAM))
        self._other: dict[int, int] = {0: 0x20260101}
        for base in CMACS[: len(fronts)]:
            self._other.update({base + RX_STATUS: RX_OK | RX_ALIGNED, base + RS_FEC: 3})
        self._moving, self._still = False, 0
        self._began = time.monotonic()
        self._skipped = -self._box.bench.cycles()
        self._awake, self._waker = socket.socketpair()
        self.lost = 0
        """Frames that a host did not take."""

    def move_frames(self) -> None:
        """Move frames until :meth:`stop`. Raises OlafError when an assertion in the RTL failed."""
        polled = any(not list(front.waitables()) for front in self._fronts)
        while True:
            rest = min(self._keep_time(), _PCAP_SECONDS if polled else math.inf)
            ready = wait_readable(
                (*self._fronts, self._host),
                [self._awake.fileno(), *self._accesses.waitables()],
                0.0 if self._moving else rest,
            )
            if self._awake.fileno() in ready:
                return
            self._accesses.answer(self.access)
            if self._take_in():
                self._moving, self._still = True, 0
            if not self._moving and self._keep_time() > 0:
                continue
            self._moving = True
            before = self._count_beats()
            self._box.run_cycles(_SLICE)
            self._hand_out()
            self._still = self._still + _SLICE if self._count_beats() == before else 0
            if self._still >= _QUIET:
                self._moving, self._still = self._box.quiet(1) == 0, 0

    def stop(self) -> None:
        """End :meth:`run`, from any thread."""
        self._waker.send(b"x")

    def close(self) -> None:
        """Free everything, after :meth:`run` has ended."""
        for front in (*self._fronts, self._host):
            front.close()
        self._accesses.close()
        self._box.close()

    def access(self, kind: int, offset: int, value: int) -> int:
        """One access to BAR2; what nothing answers reads all ones, as over PCI Express."""
        if not BOX_BASE <= offset < BOX_BASE + BOX_BYTES:
            if kind == WRITE:
                self._other[offset] = value
            return self._other.get(offset, ALL_ONES)
        self._keep_time()
        if kind == WRITE:
            self._moving, self._still = True, 0
            self._box.axil.write(offset - BOX_BASE, value)
            return 0
        if offset == _BUILD_ID:  # as if the bitstream had been built with it
            return self._build_id
        read, response = self._box.axil.read(offset - BOX_BASE)
        return ALL_ONES if response else read

    def _take_in(self) -> bool:
        came = False
        sources = (*self._box.rx, self._box.h2c)
        for front, source in zip((*self._fronts, self._host), sources, strict=True):
            if source.pending >= _ROOM:
                continue
            for frame in front.receive():
                source.send(frame)
                came = True
        return came

    def _hand_out(self) -> None:
        sinks = (*self._box.tx, self._box.c2h)
        for front, sink in zip((*self._fronts, self._host), sinks, strict=True):
            for frame in sink.frames():
                self.lost += not front.send(frame.data)

    def _count_beats(self) -> int:
        box = self._box
        return sum(end.beats for end in (*box.rx, box.h2c, *box.tx, box.c2h))

    def _keep_time(self) -> float:
        """Bring a queue in which nothing moves up to the wall's clock; seconds until something can happen."""
        passed = (time.monotonic() - self._began) * CLOCK_HZ
        due = int(passed) - self._box.bench.cycles() - self._skipped
        quiet = self._box.quiet(max(due, 0) + _IDLE_CYCLES)
        skipped = min(max(due, 0), quiet)
        self._box.skip(skipped)
        self._skipped += skipped
        return max(quiet - due, 0) / CLOCK_HZ
