"""A simulated card: the box in Verilator, hosts at its ports, its registers and the host function at sockets.

Its clock runs while anything moves and during register accesses, some thousand times slower than a card's.
While nothing moves in the queue, the queue's own clock keeps the wall's: timed events (a rate, a cluster's
window) come then, late by the time that moving frames took.
"""

import json
import math
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from olafctl.queue.registers import CLOCK_HZ
from olafctl.targets.opennic.bar import ALL_ONES, WRITE, Accesses
from olafctl.targets.opennic.card import BAR_SOCKET, HOST_SOCKET, build_id_of
from olafctl.targets.opennic.health import CMACS, OPENNIC, RS_FEC, RX_ALIGNED, RX_OK, RX_STATUS
from olafctl.targets.opennic.ips import IPS
from olafctl.targets.opennic.plugin import MANIFEST, TABLES
from olafctl.targets.opennic.registers import BOX_BYTES, BY_NAME
from olafctl.targets.opennic.shell import Shell
from olafctl.targets.opennic_sim.box import Box, Inward, Outward
from olafctl.targets.opennic_sim.front import Front, Segment, wait_readable
from olafctl.wire.geometry import Geometry
from olafswitch.p4.verilog.module import Module
from olafswitch.ports import unix

_SLICE = 200
"""The cycles between two looks at the ports."""
_QUIET = 2000
"""The cycles without a beat after which only the queue can still hold frames."""
_ROOM = 4096
"""The beats that wait at an input before the card stops reading its port."""
_IDLE_CYCLES = 60 * CLOCK_HZ
_PCAP_SECONDS = 0.002
_BUILD_ID = BY_NAME["build_id"].offset


def queue_of(build: Path) -> Geometry:
    """Return OlafQueue's parameters in the build in the folder ``build``."""
    return Geometry(**json.loads((build / MANIFEST).read_text())["queue"])


def blocks_of(build: Path) -> Mapping[int, Module]:
    """Return VNP4₁ and VNP4₂ of the plug-in in the folder ``build``."""
    return {
        ip.number: Module(
            ip.name,
            (build / "hdl" / f"{ip.name}.v").read_text(),
            json.loads((build / TABLES.format(ip.name)).read_text()),
        )
        for ip in IPS
    }


class Simulation(Protocol):
    """A card's RTL, and the shell around it."""

    @property
    def shell(self) -> Shell: ...

    @property
    def box(self) -> Box: ...

    def access(self, kind: int, address: int, value: int) -> int:
        """Make one access outside the box."""


class OpennicSimulation:
    """The box alone, with the registers of OpenNIC's shell that the agent reads."""

    shell = OPENNIC

    def __init__(self, build: Path, ports: int) -> None:
        """Build and load the box. Raises OlafError."""
        self.box = Box(queue_of(build), blocks_of(build), ports=ports)
        self._registers: dict[int, int] = {0: 0x20260101}
        for base in CMACS[:ports]:
            self._registers.update({base + RX_STATUS: RX_OK | RX_ALIGNED, base + RS_FEC: 3})

    def access(self, kind: int, address: int, value: int) -> int:
        """Make one access to the shell; an unanswered read returns all ones, as over PCI Express."""
        if kind == WRITE:
            self._registers[address] = value
        return self._registers.get(address, ALL_ONES)


class SimulatedCard:
    """A card that runs the build in a plug-in's folder."""

    def __init__(self, simulation: Simulation, build: Path, fronts: Sequence[Front], state: Path) -> None:
        """Start the card; ``fronts`` are the front ports' ends; sockets are made in ``state``. Raises
        OlafError."""
        self._build_id = int(build_id_of(build), 16)
        self._simulation, self._box = simulation, simulation.box
        self._fronts = fronts
        self._host = Segment(state / HOST_SOCKET)
        self._accesses = Accesses(unix.listen_at(state / BAR_SOCKET, socket.SOCK_STREAM))
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
            before = self._box.count_beats()
            self._box.run_cycles(_SLICE)
            self._hand_out()
            self._still = self._still + _SLICE if self._box.count_beats() == before else 0
            if self._still >= _QUIET:
                self._moving, self._still = self._box.quiet(1) == 0, 0

    def stop(self) -> None:
        """End :meth:`move_frames`, from any thread."""
        self._waker.send(b"x")

    def close(self) -> None:
        """Free everything, after :meth:`move_frames` has ended."""
        for front in (*self._fronts, self._host):
            front.close()
        self._accesses.close()
        self._box.close()

    def access(self, kind: int, offset: int, value: int) -> int:
        """Make one access to the card's registers."""
        place = offset - self._simulation.shell.box
        if not 0 <= place < BOX_BYTES:
            return self._simulation.access(kind, offset, value)
        self._keep_time()
        if kind == WRITE:
            self._moving, self._still = True, 0
            self._box.axil.write(place, value)
            return 0
        if place == _BUILD_ID:  # as if the bitstream had been built with it
            return self._build_id
        read, response = self._box.axil.read(place)
        return ALL_ONES if response else read

    def _take_in(self) -> bool:
        came = False
        for front, (source, _) in self._pair_ends():
            if source.pending >= _ROOM:
                continue
            for frame in front.receive():
                source.send(frame)
                came = True
        return came

    def _hand_out(self) -> None:
        for front, (_, sink) in self._pair_ends():
            for frame in sink.frames():
                self.lost += not front.send(frame.data)

    def _pair_ends(self) -> Iterator[tuple[Front, tuple[Inward, Outward]]]:
        """Yield each front port and the host with its ends; a box may have a port more than the testbed."""
        *ports, host = self._box.ends
        yield from zip(self._fronts, ports, strict=False)
        yield self._host, host

    def _keep_time(self) -> float:
        """Bring an idle queue up to the wall's clock; return the seconds until the next event."""
        passed = (time.monotonic() - self._began) * CLOCK_HZ
        due = int(passed) - self._box.bench.cycles() - self._skipped
        quiet = self._box.quiet(max(due, 0) + _IDLE_CYCLES)
        skipped = min(max(due, 0), quiet)
        self._box.skip(skipped)
        self._skipped += skipped
        return max(quiet - due, 0) / CLOCK_HZ
