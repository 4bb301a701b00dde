"""Programs in Verilog compared with the same programs in C++: every byte, bit of metadata and counter."""

import random
import zlib
from collections.abc import Iterator

import pytest

from olafctl import paths
from olafctl.targets.opennic.metadata import list_fields
from olafctl.wire import layouts
from olafctl.wire.frames import mac_bits
from olafctl.wire.layouts import CPU_PORT, FrameKind
from olafswitch.p4.compiler import compile_program, p4info_of
from olafswitch.p4.hardware.simulated import SimulatedSwitch
from olafswitch.p4.switch.native import NativeSwitch
from olafswitch.p4.syntax.preprocess import preprocess_file
from olafswitch.p4runtime.dataplane import ActionCall, Key, Lpm, Ternary
from olafswitch.p4runtime.program import ProgramInfo
from olaftest.programs.equality import compare_programs
from tests.p4.switches import PROGRAMS
from tests.p4src.frames import (
    CHILD,
    NEIGHBOUR,
    SERVER,
    SERVER_PORT,
    STRANGER,
    STRANGER_PORT,
    WORKER,
    WORKER_PORT,
    with_right_checksum,
)
from tests.p4src.test_xsa_vnp4 import _BASES

FRAMES = 3000
FIELDS = list_fields()
HASHES = {"vnp4_1_xsa": {"worker_hash": "crc32"}, "vnp4_2_xsa": {}}
MANY = 1000
"""The number of entries that no frame hits, so that others had to be moved."""


class Both:
    """One of the box's programs in both forms, with the same entries."""

    def __init__(self, name: str) -> None:
        source = paths.sources() / "p4src" / f"{name}.p4"
        program = compile_program(source)
        self.native = NativeSwitch(architecture="xsa")
        self.native.commit(self.native.prepare(program.p4info, program.device_config))
        if HASHES[name]:
            self.native.on_user_extern("worker_hash", lambda given: zlib.crc32(given.to_bytes(13, "big")))
        self.info = ProgramInfo(program.p4info)
        self.made = SimulatedSwitch.of_text(preprocess_file(source, (), {}), self.info, HASHES[name])
        self._keys: list[tuple[int, Key]] = []

    def add_entry(self, table: str, match: int | Lpm, action: str, **params: int) -> None:
        """Add an entry with one key field; missing parameters are 0."""
        found = next(each for each in self.info.tables.values() if each.name.endswith(f".{table}"))
        form = next(each for each in found.actions.values() if each.name.endswith(f".{action}"))
        key: Key = (match if isinstance(match, Lpm) else found.fields[0].kind.match(match),)
        call = ActionCall(form.id, tuple(params.get(param.name, 0) for param in form.params))
        self.native.insert(found.id, key, 0, call)
        self.made.insert(found.id, key, 0, call)
        self._keys.append((found.id, key))

    def count_same(self, frames: Iterator[tuple[bytes, dict[str, int]]]) -> int:
        """Return how many of the frames left, after checking that both forms send and count alike."""
        expected = []
        for frame, given in frames:
            out, metadata = self.native.process_with_metadata(frame, given)
            if out is not None:
                expected.append((out, (self._pack_bus(metadata),)))
            self.made.send(frame, self._pack_bus(given))
        got = [(each.data, each.user) for each in self.made.received()]
        assert got == expected
        for table, key in self._keys:
            assert self.made.direct_counter(table, key, 0) == self.native.direct_counter(table, key, 0)
        return len(expected)

    @staticmethod
    def _pack_bus(metadata: dict[str, int]) -> int:
        return sum(metadata.get(each.name, 0) << each.low for each in FIELDS)


def _random_frame(r: random.Random) -> bytes:
    if r.random() < 0.1:
        return r.randbytes(r.randrange(1, 200))
    frame = bytearray(r.choice(_BASES))
    for _ in range(r.randrange(3)):
        frame[r.randrange(min(len(frame), 72))] = r.getrandbits(8)
    made = bytes(frame)
    if r.random() < 0.5:
        made = with_right_checksum(made)
    if r.random() < 0.2:
        made = made[: r.randrange(1, len(made))]
    return made + r.randbytes(r.choice((0, 0, 1, 4, 20, 200, 1400)))


def test_vnp4_1_is_the_same_in_verilog() -> None:
    r, both = random.Random(1), Both("vnp4_1_xsa")
    both.add_entry(
        "workers", int(WORKER.ip), "assign", cluster=5, worker=77, index=10, segments=2, member=3, port=1
    )
    both.add_entry("workers", int(NEIGHBOUR.ip), "assign", cluster=6, segments=1, port=layouts.ANY_PORT)
    both.add_entry("workers", int(CHILD.ip), "assign", cluster=5, segments=2, port=STRANGER_PORT)
    server = {"port": SERVER_PORT, "mac": mac_bits(SERVER.mac), "udp_port": SERVER.port}
    both.add_entry("parameter_servers", int(SERVER.ip), "admit", **server)
    both.add_entry("workers", int(SERVER.ip), "not_a_worker", port=SERVER_PORT)
    both.add_entry("links", STRANGER_PORT, "from_below")
    for address in range(MANY):
        both.add_entry("workers", 0x0B000000 + address, "elsewhere", port=address % 4)
    for reason in layouts.Refusal:
        both.add_entry("refusals", reason, "refuse")

    def frames() -> Iterator[tuple[bytes, dict[str, int]]]:
        ports = (WORKER_PORT, SERVER_PORT, STRANGER_PORT, 3, CPU_PORT)
        for _ in range(FRAMES):
            frame = _random_frame(r)
            yield frame, {"src": r.choice(ports), "size": len(frame)}

    both.made.source.pause(0.1)
    both.made.sink.pause(0.3)
    assert both.count_same(frames()) > FRAMES / 3


def test_vnp4_2_is_the_same_in_verilog() -> None:
    r, both = random.Random(2), Both("vnp4_2_xsa")
    for cluster, group in ((5, 6), (9, 7)):
        both.add_entry("cluster_multicast", cluster, "multicast", group=group)
    both.add_entry("results", 9, "broadcast", group=7)
    both.add_entry("results", 5, "to_parent", mac=mac_bits(SERVER.mac), dst_addr=int(SERVER.ip), src_addr=1)
    both.add_entry("forwarding", Lpm(int(WORKER.ip) & 0xFFFFFF00, 24), "forward", port=SERVER_PORT)
    both.add_entry("forwarding", Lpm(int(WORKER.ip), 32), "forward", port=WORKER_PORT)
    both.add_entry("forwarding", Lpm(int(STRANGER.ip) & 0xFFFFFFF0, 28), "forward", port=STRANGER_PORT)
    both.add_entry("bridging", mac_bits(WORKER.mac), "forward", port=WORKER_PORT)
    both.add_entry("bridging", (1 << 48) - 1, "flood", group=100)
    for address in range(MANY):
        both.add_entry("bridging", 0x020000000000 + address + 1000, "forward", port=address % 4)

    def frames() -> Iterator[tuple[bytes, dict[str, int]]]:
        for _ in range(FRAMES):
            frame = _random_frame(r)
            given = {
                each.name: r.getrandbits(each.bits) if r.random() < 0.3 else 0
                for each in layouts.TUSER.fields
            }
            given |= {"kind": r.choice((*FrameKind, FrameKind.ACK, 9)), "cluster": r.choice((0, 5, 9, 6))}
            yield frame, given | {"size": len(frame), "dst": r.choice((0, 0, 0, 5, 511))}

    both.made.source.pause(0.3)
    both.made.sink.pause(0.1)
    assert both.count_same(frames()) > FRAMES / 3


@pytest.mark.parametrize("name", ["code", "headers", "tables", "value_sets", "stateful", "copies"])
def test_a_v1model_program_is_the_same_in_verilog(name: str) -> None:
    assert compare_programs(PROGRAMS / f"{name}.p4", 1000).left > 100


def test_a_reset_empties_tables_and_counters() -> None:
    both = Both("vnp4_1_xsa")
    both.add_entry("workers", int(WORKER.ip), "assign", cluster=5, segments=2, port=WORKER_PORT)
    both.add_entry("refusals", layouts.Refusal.PORT, "refuse")
    made, [(workers, key), _] = both.made, both._keys
    made.send(_BASES[0], both._pack_bus({"src": WORKER_PORT}))
    [named] = made.received()
    assert named.user[0] != both._pack_bus({"src": WORKER_PORT})
    assert made.direct_counter(workers, key, 0).packets == 1
    made.commit(made.p4info)
    made.send(_BASES[0], both._pack_bus({"src": 0}))
    [unknown] = made.received()
    assert not unknown.user[0] >> FIELDS[-1].low & 1 << 4
    both.add_entry("workers", int(WORKER.ip), "elsewhere", port=WORKER_PORT)
    assert made.direct_counter(workers, key, 0).packets == 0


def test_a_register_is_written_read_and_reset_by_a_driver() -> None:
    text = preprocess_file(PROGRAMS / "stateful.p4", (), {})
    info = ProgramInfo(p4info_of(text, "stateful.p4"))
    made = SimulatedSwitch.of_text(text, info, quick=True)
    try:
        ids = {each.name.rpartition(".")[2]: each.id for each in info.registers.values()}
        made.set_register(ids["totals"], 3, 0xFFFFFFF0)
        frame = bytes([1, 3, 0, 0x21])
        assert made.process(0, frame) == [(1, frame + (0x11).to_bytes(4, "big") + bytes(2))]
        assert [made.register(ids["totals"], index) for index in range(5)] == [0, 0, 0, 0x11, 0]
        assert made.register(ids["flags"], 0x21) == 1
        assert made.register(ids["lasts"], 1) == 0x21
        made.driver.reset()
        assert made.register(ids["totals"], 3) == made.register(ids["flags"], 0x21) == 0
    finally:
        made.close()


def test_no_frame_that_leaves_after_a_cells_write_saw_the_cell_before() -> None:
    text = preprocess_file(PROGRAMS / "stateful.p4", (), {})
    info = ProgramInfo(p4info_of(text, "stateful.p4"))
    made = SimulatedSwitch.of_text(text, info, quick=True)
    try:
        (totals,) = (each.id for each in info.registers.values() if each.name.endswith(".totals"))
        made.sink.pause(0.8)
        for _ in range(100):
            made.offer(0, bytes([1, 3, 0, 1]))
        while not made.sink.frames():
            made.bench.run_cycles(10)
        made.set_register(totals, 3, 1 << 24)
        made.quiesce()
        made.sink.frames()
        left = [int.from_bytes(out.data[4:8], "big") for out in made.received()]
        assert len(left) > 20 and min(left) > 1 << 24
    finally:
        made.close()


def test_what_an_entry_counted_moves_with_it() -> None:
    text = preprocess_file(PROGRAMS / "counted.p4", (), {})
    info = ProgramInfo(p4info_of(text, "counted.p4"))
    made = SimulatedSwitch.of_text(text, info, quick=True)
    try:
        [table] = info.tables.values()
        [send] = [each for each in table.actions.values() if each.name.endswith("send")]
        call = ActionCall(send.id, (3,))
        made.insert(table.id, (Ternary(1, 0xFF),), 1, call)
        made.process(0, bytes([1, 9]))
        for priority in range(2, 9):  # each goes in front of the first
            made.insert(table.id, (Ternary(priority, 0xFF),), priority, call)
            assert made.process(0, bytes([1, 9])) == [(3, bytes([1, 9]))]
        counted = made.direct_counter(table.id, (Ternary(1, 0xFF),), 1)
        assert (counted.packets, counted.bytes) == (8, 16)
        assert made.direct_counter(table.id, (Ternary(5, 0xFF),), 5).packets == 0
    finally:
        made.close()
