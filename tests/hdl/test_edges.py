"""Inputs and settings at the edge of what the Verilog can represent, each with its stated outcome."""

import os
import shutil
import struct
import subprocess
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from olafctl import paths
from olafctl.queue.registers import BY_NAME
from olafctl.wire import layouts
from olafctl.wire.frames import unpack
from olafctl.wire.geometry import BOUNDS
from olafctl.wire.layouts import BEAT_BYTES, ETHERNET, GRADIENT_OFFSET, IPV4, UDP, Kind
from olaflab.queue.model import Departure, QueueModel, Sidecar
from olaflab.queue.traffic import Frame, update
from olafswitch.toolchain import verilator_root

LIMIT = 100_000
_OLAF_AT = GRADIENT_OFFSET - layouts.OLAF.size
CHECKSUM = slice(ETHERNET.size + IPV4.size + UDP.size - 2, ETHERNET.size + IPV4.size + UDP.size)


def bits(value: float) -> int:
    return int(np.float32(value).view(np.uint32))


def gradients(value: float, count: int = 40) -> bytes:
    return np.full(count, value, "<f4").tobytes()


def settled(queue: QueueModel) -> list[Departure]:
    queue.settle(LIMIT)
    return list(queue.take())


def waiting(queue: QueueModel, *frames: Frame) -> dict[str, int]:
    """The registers after ``frames`` came while nothing may leave."""
    queue.registers.write("hold", 1)
    for sidecar, frame in frames:
        queue.offer(sidecar, frame)
    queue.settle(LIMIT)
    return queue.registers.read_all()


@pytest.mark.parametrize("size", [0, 4, 33, 34, 60, 63, 222, 226, 65535])
def test_a_declared_size_that_cannot_be_is_a_wrong_length(queue: QueueModel, size: int) -> None:
    sidecar, _ = update(3, 1, gradients(1))
    for length in ((size - 34) % 65536, 30, 65535):
        claimed = update(3, 1, gradients(1), udp_length=length)[1]
        queue.offer(replace(sidecar, size=size), claimed)
    assert settled(queue) == []
    shown = queue.registers.read_all()
    assert (shown["dropped_length"], shown["in_updates"], shown["resident_updates"]) == (3, 3, 0)


def test_an_update_of_no_workers_is_refused(queue: QueueModel) -> None:
    queue.offer(*update(3, 1, gradients(1), count=0))
    assert settled(queue) == []
    assert queue.registers.read("dropped_header") == 1


@pytest.mark.parametrize("kept", [0, 1, 30, 43, 63])
def test_headers_that_did_not_come_are_not_looked_at(queue: QueueModel, kept: int) -> None:
    sidecar, frame = update(3, 1, gradients(1))
    beats = frame.ljust(4 * BEAT_BYTES, b"\0")
    wrong = bytearray(beats)
    wrong[kept:BEAT_BYTES] = b"\xff" * (BEAT_BYTES - kept)
    whole = (1 << BEAT_BYTES) - 1
    queue.offer(sidecar, bytes(wrong), keeps=[(1 << kept) - 1, whole, whole, (1 << 32) - 1])
    queue.offer(sidecar, bytes(wrong[:BEAT_BYTES]), keeps=[(1 << kept) - 1])
    assert settled(queue) == []
    shown = queue.registers.read_all()
    assert (shown["dropped_truncated"], shown["dropped_header"]) == (2, 0)


def test_a_hole_inside_a_frame_makes_it_bad(queue: QueueModel) -> None:
    sidecar, frame = update(3, 1, gradients(1))
    whole = (1 << BEAT_BYTES) - 1
    for beat in (1, 2):
        keeps = [whole, whole, whole, (1 << 32) - 1]
        keeps[beat] &= ~(1 << 20)
        assert waiting(queue)["occupancy"] == 0
        queue.offer(sidecar, frame.ljust(4 * BEAT_BYTES, b"\0"), keeps=keeps)
    assert settled(queue) == []
    assert queue.registers.read("dropped_truncated") == 2


def test_a_gradient_counts_as_missing_alone(queue: QueueModel) -> None:
    """A frame that breaks off while it leaves: gradients that came whole stay, also in its last beat."""
    sidecar, frame = update(3, 1, gradients(2, count=359))
    queue.offer(sidecar, frame[:1390])
    (left,) = settled(queue)
    came = (1390 - GRADIENT_OFFSET) // 4
    assert left.frame[GRADIENT_OFFSET:] == gradients(2, came) + gradients(0, 359 - came)
    assert queue.registers.read("repaired") == 1


def test_a_merge_leaves_no_udp_checksum(queue: QueueModel) -> None:
    headers = bytes(range(1, GRADIENT_OFFSET - layouts.OLAF.size + 1))
    frames = [update(3, worker, gradients(1), headers=headers) for worker in (1, 2)]
    other = update(4, 1, gradients(1), headers=headers)
    assert waiting(queue, *frames, other)["merged"] == 1
    queue.registers.write("hold", 0)
    merged, alone = settled(queue)
    assert merged.frame[CHECKSUM] == b"\0\0"
    assert merged.frame[: CHECKSUM.start - 2] == headers[: CHECKSUM.start - 2]
    assert alone.frame == other[1]


@pytest.mark.parametrize(
    ("waits", "comes", "threshold", "outcome"),
    [
        (16777218.0, 16777220.0, 1.0, "replaced_reward"),
        (16777218.0, 16777216.0, 1.0, "dropped_reward"),
        (16777216.0, 16777216.0, 1.0, "merged"),
        (1.0, 2.0, 1.0, "merged"),
        (1.0, float(np.nextafter(np.float32(2), np.float32(3))), 1.0, "replaced_reward"),
        (-16777218.0, -16777220.0, 1.0, "dropped_reward"),
        (3.4e38, 3.4028234e38, 3e38, "merged"),
        (3.4028234e38, float("inf"), 3e38, "replaced_reward"),
        (1e-45, 4.2e-45, 1e-45, "replaced_reward"),
        (1.0, 1.0000001, 1e-45, "replaced_reward"),
        (1.0, 1.0, 1e-45, "merged"),
    ],
)
def test_the_reward_boundary_is_exact(
    queue: QueueModel, waits: float, comes: float, threshold: float, outcome: str
) -> None:
    queue.registers.write("reward_enable", 1)
    queue.registers.write("reward_threshold", bits(threshold))
    shown = waiting(
        queue,
        update(3, 1, gradients(1), reward=bits(waits)),
        update(3, 2, gradients(1), reward=bits(comes)),
    )
    assert shown[outcome] == 1


@pytest.mark.parametrize("at_once", [1, 8])
def test_a_rate_above_the_line_gathers_no_credit(queue: QueueModel, at_once: int) -> None:
    """Many updates below one cycle's worth of the rate, then a slow rate: none may leave early.

    One alone leaves as it comes, several from where they waited.
    """

    def leave(values: int, number: int) -> list[Departure]:
        left = []
        for begin in range(0, number, at_once):
            queue.registers.write("hold", int(at_once > 1))
            for index in range(begin, begin + at_once):
                queue.offer(*update(index % 16, index, gradients(1, values)))
            if at_once > 1:
                queue.settle(LIMIT)
                queue.registers.write("hold", 0)
            left += settled(queue)
        assert len(left) == number
        return left

    queue.registers.write("rate", 0xFFFFFFFF)
    leave(0, 304)
    queue.registers.write("rate", 16 << 16)
    left = leave(360, 8)
    size = len(left[0].frame)
    # The credit of the fast rate is at most one cycle's, which is what 65,536 bits are worth.
    starts = [one.first for one in left][65536 // (8 * size) + 1 :]
    assert len(starts) >= 2
    assert all(later - earlier >= 8 * size // 16 for earlier, later in pairwise(starts))


def test_the_lowest_address_bits_only_say_which_bytes_are_meant(queue: QueueModel) -> None:
    offset = BY_NAME["active_window"].offset
    queue.registers.write("active_window", 0x11223344)
    for byte in range(4):
        assert queue.access(True, offset + byte, 0xAABBCCDD, 1 << byte)[0] == 0
        seen = struct.pack("<I", queue.registers.read("active_window"))
        assert seen[byte] == struct.pack("<I", 0xAABBCCDD)[byte]
    assert {queue.access(False, offset + byte) for byte in range(4)} == {(0, 0xAABBCCDD)}
    assert queue.access(True, 0xFFC, 1)[0] == queue.access(False, 0xFFD)[0] == 2


def test_updates_and_other_frames_take_turns(queue: QueueModel) -> None:
    queue.block(True)
    for index in range(6):
        queue.offer(*update(index, 1, gradients(1)))
        queue.offer(Sidecar(BEAT_BYTES, kind=Kind.ACK), bytes(BEAT_BYTES))
        queue.offer(Sidecar(BEAT_BYTES, kind=Kind.BYPASS), bytes(BEAT_BYTES))
    queue.drain(LIMIT)
    queue.block(False)
    kinds = [one.sidecar.kind == Kind.UPDATE for one in settled(queue)]
    assert sum(kinds) == 6 and len(kinds) == 18
    # While both wait, no two of a kind in a row; what is left over leaves together. The first few were
    # under way when the output stopped.
    last = max(index for index, is_update in enumerate(kinds) if is_update)
    assert all(one != next_one for one, next_one in pairwise(kinds[4 : last + 1]))


@pytest.mark.parametrize("name", sorted(BOUNDS))
@pytest.mark.parametrize("side", ["least", "greatest"])
def test_a_parameter_out_of_bounds_stops_the_elaboration(name: str, side: str) -> None:
    root = verilator_root()
    value = BOUNDS[name].least - 1 if side == "least" else BOUNDS[name].greatest + 1
    hdl = paths.sources() / "hdl"
    command = [str(root / "bin" / "verilator_bin"), "--lint-only", "--quiet", f"-I{hdl}"]
    result = subprocess.run(
        [*command, f"-G{name.upper()}={value}", "--top-module", "olaf_queue", str(hdl / "olaf_queue.v")],
        env={**os.environ, "VERILATOR_ROOT": str(root)},
        capture_output=True,
        text=True,
    )
    assert result.returncode != 0
    assert f"{name.upper()}_is_out_of_bounds" in result.stderr


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="iverilog is not installed")
def test_after_power_up_the_tables_are_cleared_without_a_reset(tmp_path: Path) -> None:
    hdl = paths.sources() / "hdl"
    bench = tmp_path / "bench.v"
    bench.write_text(
        "module bench;\n"
        "  reg clk = 1'b0; wire ready; integer left = 100;\n"
        "  always #2 clk = !clk;\n"
        "  olaf_queue queue (.aclk(clk), .aresetn(1'b1), .s_axis_tready(ready), .s_axis_tvalid(1'b0),\n"
        "    .m_axis_tready(1'b1), .s_axil_awvalid(1'b0), .s_axil_wvalid(1'b0), .s_axil_arvalid(1'b0),\n"
        "    .s_axil_bready(1'b1), .s_axil_rready(1'b1));\n"
        "  always @(posedge clk) begin\n"
        "    left <= left - 1;\n"
        '    if (ready === 1\'b1) begin $display("ready"); $finish; end\n'
        "    if (left == 0) $finish;\n"
        "  end\n"
        "endmodule\n"
    )
    modules = sorted(map(str, hdl.glob("olaf_*.v")))
    subprocess.run(
        [
            "iverilog",
            "-g2005",
            "-s",
            "bench",
            "-I",
            str(hdl),
            "-o",
            f"{tmp_path}/bench",
            *modules,
            str(bench),
        ],
        check=True,
        capture_output=True,
    )
    shown = subprocess.run(["vvp", f"{tmp_path}/bench"], capture_output=True, text=True, check=True)
    assert shown.stdout.split()[0] == "ready"


def test_generation_times_and_policies_wrap(queue: QueueModel) -> None:
    """Serial-number arithmetic: across the wrap the later time is newer, the earlier version older."""
    last = (1 << 48) - 1
    assert (
        waiting(
            queue,
            update(3, 1, gradients(1), gen_time=last, weights_version=2, seq=1, segment=4),
            update(3, 2, gradients(1), gen_time=0, weights_version=65534, seq=2, segment=4),
            update(4, 1, gradients(1), gen_time=0, weights_version=65534, seq=1),
            update(4, 2, gradients(1), gen_time=last, weights_version=2, seq=2),
        )["merged"]
        == 2
    )
    queue.registers.write("hold", 0)
    headers = [unpack(layouts.OLAF, left.frame[_OLAF_AT:]) for left in settled(queue)]
    assert [(one["gen_time"], one["weights_version"], one["seq"]) for one in headers] == [
        (0, 65534, 2),
        (0, 65534, 1),
    ]


def test_frames_that_the_queue_does_not_know_pass_by(queue: QueueModel) -> None:
    """A RESULT of another engine, too: only updates are combined."""
    sidecar, frame = update(3, 1, gradients(1))
    for kind in (Kind.RESULT, Kind.ACK, Kind.BYPASS, 77):
        queue.offer(replace(sidecar, kind=kind), frame)
    left = settled(queue)
    assert [(one.sidecar.kind, one.frame) for one in left] == [(kind, frame) for kind in (3, 2, 0, 77)]
    assert queue.registers.read("out_bypass") == 4
