"""Random frames through the whole simulated box, each accounted for against the twin's programs.

The box runs both XSA programs in Verilog, their tables written over its registers; what must leave is what
the v1model programs of the twin send for the same frame. Frames are unique, so each that leaves is traced to
the one that it came from. Updates are not combined (mode FIFO), so that every frame in is a frame out.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from ipaddress import IPv4Address

import numpy as np

from olafctl import paths
from olafctl.targets.opennic.blocks import compile_block
from olafctl.targets.opennic.box_registers import Copy
from olafctl.targets.opennic.ips import IPS
from olafctl.targets.opennic.registers import HOST_ETHER_TYPE
from olafctl.targets.opennic_sim.box import Box
from olafctl.wire import layouts
from olafctl.wire.frames import Datagram, Endpoint, mac_bits, pack_header, unpack_header
from olafctl.wire.geometry import Geometry
from olafctl.wire.layouts import ANY_PORT, CPU_PORT, QUEUE_PORT, TUSER, FrameType, Refusal
from olafctl.wire.modes import Mode
from olafswitch.errors import OlafError, Problem
from olafswitch.p4.compiler import compile_program
from olafswitch.p4.hardware.driver import Driver
from olafswitch.p4.hardware.plane import HardwarePlane
from olafswitch.p4.switch.native import NativeSwitch
from olafswitch.p4.syntax.preprocess import preprocess_file
from olafswitch.p4.verilog.module import Module
from olafswitch.p4runtime.dataplane import ActionCall, Exact, Key, Lpm, P4Info, Replica
from olafswitch.p4runtime.program import ProgramInfo
from olaftest.frames import OlafFrame

QUEUE = Geometry(slots=8, beats=142)
WORKERS_PORT, SERVERS_PORT = 1, 2
PORTS = (WORKERS_PORT, SERVERS_PORT)
SIZES = (60, 64, 65, 128, 129, 1500, 9036)
LONGEST = 9036
EPOCH = 2
WORKER = Endpoint("02:00:00:00:00:01", IPv4Address("10.0.0.1"), 40001)
NEIGHBOUR = Endpoint("02:00:00:00:00:02", IPv4Address("10.0.0.2"), 40002)
SERVER = Endpoint("02:00:00:00:00:fe", IPv4Address("10.0.0.254"), layouts.UDP_PORT)
STRANGER = Endpoint("02:00:00:00:00:99", IPv4Address("10.0.0.99"), 5000)
_NOWHERE = Endpoint("02:00:00:00:00:77", IPv4Address("10.9.9.9"), 5000)
CLUSTER_GROUP, _FLOOD_GROUP = 6, 100
MEMBERS = ((WORKERS_PORT, WORKER), (WORKERS_PORT, NEIGHBOUR), (SERVERS_PORT, STRANGER))
_BROADCAST = (1 << 48) - 1
_BATCH = 64
_RESET_EVERY = 16
"""Batches after which the box is reset in the middle of one."""
_LOST_EVERY = 100
"""Batches after which a port takes no beat for one of them."""
_DEAD_CYCLES = 260_000
"""After which a port that takes none no longer holds up the others."""
_REWRITTEN = 0.01
"""Share of frames after which a stranger's entry comes or goes, and a known one is written again."""
_UDP = layouts.ETHERNET.size + layouts.IPV4.size + layouts.UDP.size
_CHECKSUM_AT = layouts.ETHERNET.size + 10

_NONE = np.zeros(0, dtype=np.float32)

Sent = tuple[int, bytes]


class _Programmer:
    """A program, native, whose entries are named as a controller names them."""

    def __init__(self, file: str, architecture: str, driver: Driver | None = None) -> None:
        """With ``driver`` what it programs is a module in Verilog."""
        self.program = compile_program(paths.sources() / "p4src" / file)
        self.switch = NativeSwitch(cpu_port=CPU_PORT, architecture=architecture)
        self.switch.commit(self.switch.prepare(self.program.p4info, self.program.device_config))
        self._added: list[tuple[int, Key, ActionCall]] = []
        self._strange: list[tuple[int, Key]] = []
        self._tables: NativeSwitch | HardwarePlane = self.switch
        if driver is not None:
            self._tables = HardwarePlane(driver, ProgramInfo(self.program.p4info))
            self._tables.start()

    def add_entry(self, table: str, match: int | Lpm, action: str, *values: int) -> None:
        """Add an entry."""
        info: P4Info = self.program.p4info
        tables = {each.preamble.alias: each.preamble.id for each in info.tables}
        form = next(each for each in info.actions if each.preamble.alias == action)
        key = (Exact(match) if isinstance(match, int) else match,)
        call = ActionCall(form.preamble.id, values)
        self._tables.insert(tables[table], key, 0, call)
        self._added.append((tables[table], key, call))

    def rewrite_members(self, pick: random.Random) -> None:
        """Write one of the entries again, and add or remove one that no frame of random_frame() meets."""
        table, key, call = pick.choice(self._added)
        self._tables.modify(table, key, 0, call)
        if self._strange:
            self._tables.delete(*self._strange.pop(), 0)
            return
        table, _, call = self._added[-1]
        strange = (Exact(pick.randrange(0x0B000000, 0x0C000000)),)
        self._tables.insert(table, strange, 0, call)
        self._strange.append((table, strange))


def _program_first(file: str, architecture: str, driver: Driver | None = None) -> _Programmer:
    """Program a worker with an id in cluster 5, one without in cluster 6, and one parameter server."""
    made = _Programmer(file, architecture, driver)
    for reason in Refusal:
        made.add_entry("refusals", reason, "refuse")
    made.add_entry("workers", int(WORKER.ip), "assign", 5, 77, 8, 4, 3, EPOCH, ANY_PORT)
    made.add_entry("workers", int(NEIGHBOUR.ip), "assign", 6, 0, 12, 1, 0, 0, ANY_PORT)
    made.add_entry("parameter_servers", int(SERVER.ip), "admit", ANY_PORT, mac_bits(SERVER.mac), SERVER.port)
    return made


def _program_second(file: str, architecture: str, driver: Driver | None = None) -> _Programmer:
    made = _Programmer(file, architecture, driver)
    made.add_entry("cluster_multicast", 5, "multicast", CLUSTER_GROUP)
    for port, endpoint in ((WORKERS_PORT, WORKER), (WORKERS_PORT, NEIGHBOUR), (SERVERS_PORT, SERVER)):
        made.add_entry("forwarding", Lpm(int(endpoint.ip), 32), "forward", port)
    made.add_entry("bridging", mac_bits(WORKER.mac), "forward", WORKERS_PORT)
    made.add_entry("bridging", _BROADCAST, "flood", _FLOOD_GROUP)
    return made


class Twin:
    """Sends a frame that meets an empty queue through the twin's programs."""

    def __init__(self) -> None:
        self._first = _program_first("vnp4_1.p4", "v1model").switch
        second = _program_second("vnp4_2.p4", "v1model")
        for member, (_, endpoint) in enumerate(MEMBERS, start=1):
            second.add_entry("members", member, "deliver", *_delivery_params(endpoint))
        self._second = second.switch
        replicas = [Replica(port, member) for member, (port, _) in enumerate(MEMBERS, start=1)]
        self._second.set_multicast_group(CLUSTER_GROUP, replicas)
        self._second.set_multicast_group(_FLOOD_GROUP, [Replica(port, 0) for port in PORTS])

    def run_first(self, port: int, frame: bytes) -> list[Sent]:
        """Run VNP4₁ on a frame."""
        return self._first.process(port, frame)

    def run_frame(self, port: int, frame: bytes) -> list[Sent]:
        """Run a frame. Port 510 is the host; its frames begin with the port that they came in by."""
        sent: list[Sent] = []
        for out, between in self._first.process(port, frame):
            if out == CPU_PORT:
                sent.append((CPU_PORT, between))
                continue
            values = {**unpack_header(TUSER, between), "slots": QUEUE.slots}
            sent += self._second.process(QUEUE_PORT, pack_header(TUSER, values) + between[TUSER.size :])
        return sent


def _delivery_params(endpoint: Endpoint) -> tuple[int, int, int]:
    return mac_bits(endpoint.mac), int(endpoint.ip), endpoint.port


@cache
def compile_blocks() -> Mapping[int, Module]:
    """Compile both XSA programs to Verilog."""
    made = {}
    for ip in IPS:
        source = paths.sources() / "p4src" / f"{ip.name}_xsa.p4"
        made[ip.number] = compile_block(ip, preprocess_file(source, (), {}), source.name)
    return made


def program_box(box: Box) -> "list[_Programmer]":
    """Write the twin's entries to the blocks' tables."""
    return [
        _program_first("vnp4_1_xsa.p4", "xsa", box.drivers[1]),
        _program_second("vnp4_2_xsa.p4", "xsa", box.drivers[2]),
    ]


def open_programmed_box(seed: int = 1, periods: Mapping[str, int] | None = None) -> Box:
    """Open the box with the twin's entries, groups and members."""
    box = Box(QUEUE, compile_blocks(), seed, periods)
    program_box(box)
    prepare_box(box)
    return box


def an_update(size: int) -> bytes:
    """Make a worker's update of ``size`` bytes, no less than its headers, to the parameter server."""
    return _of_size(
        OlafFrame(WORKER, SERVER, FrameType.UPDATE, 0, 1, 7, 1.25, 1_000, _NONE, epoch=EPOCH), size
    )


def an_ack(size: int) -> bytes:
    """Make the parameter server's answer of ``size`` bytes to the cluster."""
    return _of_size(OlafFrame(SERVER, WORKER, FrameType.ACK, 0, 1, 7, 1.25, 1_000, _NONE, epoch=EPOCH), size)


def _of_size(frame: OlafFrame, size: int) -> bytes:
    values = max(size - layouts.GRADIENT_OFFSET, 0) // 4
    return replace(frame, gradient=np.ones(values, dtype=np.float32)).encode()


def prepare_box(box: Box) -> None:
    """Write the twin's groups and members, and the queue's mode; after a reset as well."""
    members = [Copy(port, *_delivery_params(endpoint)) for port, endpoint in MEMBERS]
    box.registers.set_group(CLUSTER_GROUP, members)
    box.registers.set_group(_FLOOD_GROUP, [Copy(port) for port in PORTS])
    box.queue.write("mode", Mode.FIFO.number)


@dataclass
class Account:
    """What became of all frames."""

    frames: int = 0
    """Good frames sent in, of all inputs."""
    bad: int = 0
    """Frames that a port must drop: too long, or with a hole."""
    copies: int = 0
    """Frames that left, each what the twin sends, byte for byte but for the queue's status in ACKs."""
    dropped: dict[str, int] = field(default_factory=dict)
    """Dropped frames, by counter of the box or the queue."""
    resets: int = 0
    rewritten: int = 0
    """Times that entries were written while frames passed."""
    lost_links: int = 0
    cut: int = 0
    """Frames that were inside when the box was reset: some or all of their copies did not leave."""


def account_frames(frames: int, seed: int, progress: Callable[[str], None] = lambda step: None) -> Account:
    """Send ``frames`` random frames into two CMACs and the host, with pauses at every port and resets.

    Raises OlafError for a frame that left and should not have, left twice, left (without a reset) in part of
    its copies only, or is missing without a counter that counts it.
    """
    pick = random.Random(seed)
    box = Box(QUEUE, compile_blocks(), seed)
    run = _Run(box, pick, Twin(), program_box(box))
    prepare_box(box)
    try:
        batch = 0
        while run.total.frames < frames:
            batch += 1
            run.run_batch(
                min(_BATCH, frames - run.total.frames),
                reset=batch % _RESET_EVERY == 0,
                lost=batch % _LOST_EVERY == 1,
            )
            if batch % 50 == 0:
                progress(f"{run.total.frames:,} of {frames:,} frames")
    finally:
        box.close()
    return run.total


class _Run:
    """One box and the account of its frames."""

    def __init__(self, box: Box, pick: random.Random, twin: Twin, programs: "Sequence[_Programmer]") -> None:
        self._box, self._pick, self._twin, self._programs = box, pick, twin, programs
        self.total = Account()

    def run_batch(self, frames: int, reset: bool, lost: bool) -> None:
        """Send, wait until the box is idle, and account for each frame; with ``lost`` a port takes none."""
        box, pick = self._box, self._pick
        for end in (*box.rx, box.h2c):
            end.pause(pick.choice([0.0, 0.2, 0.5]))
        for sink in (*box.tx, box.c2h):
            sink.pause(pick.choice([0.0, 0.0, 0.2, 0.6]))
        if lost:
            pick.choice(box.tx).pause(1.0)
        box.registers.write("clear", 1)
        box.queue.write("clear", 1)
        due: list[list[Sent]] = []
        bad = 0
        for number in range(frames):
            bad += self._spoil_frame()
            due.append(self._send_frame(self.total.frames + number))
            if pick.random() < _REWRITTEN:
                pick.choice(self._programs).rewrite_members(pick)
                self.total.rewritten += 1
            if number % 4 == 3:
                box.run_cycles(pick.choice([100, 600, 2000]))
        if reset:
            box.run_cycles(pick.randint(1, 600))
            box.reset()
            prepare_box(box)
        if lost:
            box.run_cycles(_DEAD_CYCLES)
            box.settle(quiet=1200)
            for sink in box.tx:
                sink.pause(0.0)
            self.total.lost_links += 1
        box.settle(quiet=1200)
        missing = self._match_sent(due, cut=reset or lost)
        self.total.frames += frames
        self.total.bad += bad
        if reset:
            self.total.resets += 1
            self.total.cut += missing
            return
        self._compare_frames(frames, missing, bad, lost)

    def _spoil_frame(self) -> int:
        """Send now and then a frame that must be dropped; return how many."""
        pick = self._pick
        kind = pick.randrange(40)
        source = self._box.rx[pick.randrange(len(PORTS))]
        if kind == 0:
            source.beat(pick.randbytes(64), last=False, keep=(1 << 64) - 2)
            source.beat(pick.randbytes(64), last=True)
        elif kind == 1:
            source.send(bytes(pick.randint(9217, 12_000)))
        return int(kind < 2)

    def _send_frame(self, nonce: int) -> list[Sent]:
        """Send a frame; what must leave for it."""
        pick = self._pick
        port = pick.choice(PORTS)
        frame = random_frame(pick, nonce)
        shape = pick.randrange(20)
        if shape == 1:
            # A frame that looks like an update of another size, from an unknown worker.
            frame = _olaf_frame(pick, nonce, STRANGER, SERVER, FrameType.UPDATE)
            frame = (frame + pick.randbytes(64))[: pick.randint(60, len(frame) + 64)]
        if shape == 0:
            header = bytes(12) + HOST_ETHER_TYPE.to_bytes(2, "big") + port.to_bytes(2, "big")
            self._box.h2c.send(header + frame)
            return [(port, blank_status(frame))]
        self._box.rx[port - 1].send(frame)
        return [(out, blank_status(sent)) for out, sent in self._twin.run_frame(port, frame)]

    def _collect_left(self) -> Iterator[Sent]:
        for number, sink in enumerate(self._box.tx):
            for frame in sink.frames():
                if frame.user != (len(frame.data), 0, 1 << (6 + number)):
                    raise OlafError(
                        Problem(f"a frame of {len(frame.data)} bytes left with tuser {frame.user}")
                    )
                yield number + 1, blank_status(frame.data)
        for frame in self._box.c2h.frames():
            if frame.user[0] != len(frame.data):
                raise OlafError(Problem(f"a packet-in left with size {frame.user[0]}"))
            yield CPU_PORT, frame.data[layouts.ETHERNET.size :]

    def _match_sent(self, due: Sequence[Sequence[Sent]], cut: bool) -> int:
        """Trace each frame that left to the one that it came from; how many of these did not leave whole.

        Only a frame that a reset cut may leave some of its copies.
        """
        wanted: dict[Sent, list[int]] = {}
        for number, sent in enumerate(due):
            for each in sent:
                wanted.setdefault(each, []).append(number)
        arrived = [0] * len(due)
        for left in self._collect_left():
            origins = wanted.get(left)
            if not origins:
                what = f"port {left[0]} sent a frame of {len(left[1])} bytes that the twin does not send"
                raise OlafError(Problem(what, f"frames from {self.total.frames}"))
            arrived[origins.pop()] += 1
            self.total.copies += 1
        for number, sent in enumerate(due):
            if arrived[number] not in (0, len(sent)) and not cut:
                what = f"{arrived[number]} of {len(sent)} copies left"
                raise OlafError(Problem(what, f"frame {self.total.frames + number}"))
        return sum(1 for number, sent in enumerate(due) if arrived[number] < len(sent))

    def _compare_frames(self, frames: int, missing: int, bad: int, lost: bool) -> None:
        """Check that a counter accounts for every missing frame, and each stage's for what the one before
        sent."""
        counters, queue = self._box.registers.counters(), self._box.queue.read_all()
        causes = {name: queue[name] for name in ("dropped_full", "dropped_bypass")}
        causes["dropped_punt"] = counters["dropped_punt"]
        causes["stalled"] = sum(counters[f"stalled_port_{port}"] for port in range(len(PORTS)))
        passed = counters["in_queue"] - causes["dropped_full"] - causes["dropped_bypass"]
        for name, due in (
            ("in_vnp4_1", frames),
            ("out_vnp4_1", counters["in_queue"] + counters["punted"]),
            ("in_vnp4_2", passed),
            ("copied", counters["out_port_0"] + counters["out_port_1"]),
        ):
            if counters[name] != due and not lost:
                what = f"{name} counts {counters[name]} frames, {due} are due"
                raise OlafError(Problem(what, f"frames from {self.total.frames}"))
        # Of what the twin sends nowhere the queue may drop some as well.
        if missing > sum(causes.values()):
            what = f"{missing} frames are missing, the counters have {sum(causes.values())}"
            raise OlafError(Problem(what, f"frames from {self.total.frames}"))
        counted = sum(counters[f"{cause}_port_{n}"] for cause in ("oversize", "malformed") for n in range(2))
        if counted != bad:
            raise OlafError(Problem(f"{bad} bad frames came, {counted} are counted"))
        for name, count in causes.items():
            self.total.dropped[name] = self.total.dropped.get(name, 0) + count


def random_frame(pick: random.Random, nonce: int) -> bytes:
    """Draw any kind of frame of 60 to 9036 bytes; no two are alike."""
    size = pick.choice([*SIZES, pick.randint(60, LONGEST), pick.randint(60, 1500)])
    body = nonce.to_bytes(6, "big") + pick.randbytes(max(size - _UDP - 6, 12))
    kind = pick.randrange(9)
    if kind < 2:
        worker = pick.choice([WORKER, NEIGHBOUR])
        return _olaf_frame(pick, nonce, worker, SERVER, FrameType.UPDATE)
    if kind < 4:
        answer = _olaf_frame(pick, nonce, SERVER, WORKER, pick.choice([FrameType.ACK, FrameType.RESULT]))
        wrong = pick.random() < 0.3
        return answer[:_CHECKSUM_AT] + b"\x12\x34" + answer[_CHECKSUM_AT + 2 :] if wrong else answer
    if kind == 4:
        return Datagram(STRANGER, SERVER, body, layouts.CONTROL_TOS).encode()
    if kind < 7:
        return Datagram(STRANGER, pick.choice([SERVER, WORKER, _NOWHERE]), body).encode()
    target = pick.choice(["ff:ff:ff:ff:ff:ff", WORKER.mac])
    ethernet = {"dst_addr": mac_bits(target), "src_addr": mac_bits(STRANGER.mac), "ether_type": 0x1234}
    return pack_header(layouts.ETHERNET, ethernet) + body.ljust(46, b"\0")


def _olaf_frame(
    pick: random.Random, nonce: int, source: Endpoint, target: Endpoint, kind: FrameType
) -> bytes:
    values = pick.choice([1, 3, 300, 2243, pick.randint(1, 2243)])
    gradient = np.frombuffer(pick.randbytes(4 * values), dtype=np.uint32).view(np.float32)
    epoch = EPOCH if WORKER in (source, target) else 0
    return OlafFrame(source, target, kind, 0, 1, nonce, 1.25, 1_000, gradient, epoch=epoch).encode()


def blank_status(frame: bytes) -> bytes:
    """Blank a frame's status of the queue: what was waiting when an ACK passed, the twin's queue has not."""
    at = layouts.GRADIENT_OFFSET
    is_ipv4 = frame[12:14] == b"\x08\x00" and len(frame) > at
    is_ack = is_ipv4 and frame[42] == layouts.VERSION << 4 | FrameType.ACK and frame[43] & 2
    return frame[:at] + bytes(layouts.STATUS.size) + frame[at + layouts.STATUS.size :] if is_ack else frame
