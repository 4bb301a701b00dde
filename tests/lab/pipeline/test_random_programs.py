"""P4 programs as C++ and as Verilog: random ones and p4c's samples."""

import random
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from olaflab.pipeline.samples.run import find_samples, run_sample
from olafswitch.p4.compiler import as_text, compile_text, p4info_of
from olafswitch.p4.refuse import Refused
from olafswitch.p4.switch.native import NativeSwitch
from olafswitch.p4.syntax.preprocess import preprocess_text
from olafswitch.ports.pcap import PcapReader, PcapWriter
from olaftest.programs.equality import compare_text
from olaftest.programs.generator import FRAME_BYTES, Generator, expected_frame

SECONDS = 600  # a debug build of p4c on a busy machine
MISSING = [tool for tool in ("p4c-bm2-ss", "simple_switch", "unshare") if not shutil.which(tool)]
beside = pytest.mark.skipif(bool(MISSING), reason=f"not on PATH: {', '.join(MISSING)}")


def _make_frames(seed: int) -> list[bytes]:
    r = random.Random(seed)
    edges = [bytes(FRAME_BYTES), b"\xff" * FRAME_BYTES]
    return [each + bytes(64) for each in [*edges, *(r.randbytes(FRAME_BYTES) for _ in range(100))]]


@pytest.mark.parametrize("seed", range(2))
def test_a_program_computes_what_python_computes(seed: int) -> None:
    text, results = Generator(seed).generate_program()
    program = compile_text(preprocess_text(text, "case.p4"), optimize="-O0")
    switch = NativeSwitch(optimize="-O0")
    switch.commit(switch.prepare(program.p4info, program.device_config))
    assert not program.p4info.HasField("type_info")
    for frame in _make_frames(seed):
        assert switch.process(0, frame) == [(1, expected_frame(frame, results))]
    switch.close()


@pytest.mark.parametrize("seed", range(20))
def test_a_mistake_anywhere_is_refused(seed: int) -> None:
    right, _ = Generator(seed).generate_program()
    wrong, _ = Generator(seed).generate_program(mistake=True)
    p4info_of(preprocess_text(right, "case.p4"), "case.p4")
    with pytest.raises(Refused):
        p4info_of(preprocess_text(wrong, "case.p4"), "case.p4")


@pytest.mark.parametrize("seed", [0, 44])  # 44 has two shifts in a row, which Verilator 5.048 gets wrong
def test_a_program_is_the_same_in_verilog(seed: int) -> None:
    text, _ = Generator(seed).generate_program()
    assert compare_text(preprocess_text(text, "case.p4"), 200).left > 100


def _compile_p4c(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    (folder / "case.p4").write_text(text)
    command = ["p4c-bm2-ss", "--std", "p4-16", "case.p4", "-o", "case.json"]
    command += ["--p4runtime-files", "case.txtpb"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=SECONDS)


@beside
@pytest.mark.parametrize("seed", range(8))
def test_p4c_and_bmv2_agree(tmp_path: Path, seed: int) -> None:
    wrong, _ = Generator(seed).generate_program(mistake=True)
    assert _compile_p4c(tmp_path, wrong).returncode != 0, wrong
    text, results = Generator(seed).generate_program()
    compiled = _compile_p4c(tmp_path, text)
    assert compiled.returncode == 0, compiled.stderr
    info = p4info_of(preprocess_text(text, "case.p4"), "case.p4")
    assert (tmp_path / "case.txtpb").read_text() == as_text(info)
    frames = _make_frames(seed)
    assert _sent_by_bmv2(tmp_path, frames) == [expected_frame(frame, results) for frame in frames]


def _sent_by_bmv2(folder: Path, frames: list[bytes]) -> list[bytes]:
    """Run BMv2 in a network namespace of its own, since its Thrift port listens everywhere."""
    PcapWriter(folder / "one_out.pcap").close()
    given = PcapWriter(folder / "one_in.pcap")
    for frame in frames:
        given.write(frame)
    given.close()
    command = ["unshare", "--map-root-user", "--net", "simple_switch", "-i", "1@one", "--use-files", "0"]
    with subprocess.Popen([*command, "case.json"], cwd=folder, stdout=subprocess.DEVNULL) as process:
        try:
            deadline = time.monotonic() + SECONDS
            while len(sent := _frames_of(folder / "one_out.pcap")) < len(frames):
                assert process.poll() is None and time.monotonic() < deadline, f"{len(sent)} frames came"
                time.sleep(0.05)
        finally:
            process.terminate()
            process.wait(SECONDS)
    return sent


def _frames_of(path: Path) -> list[bytes]:
    reader = PcapReader(path)
    try:
        return [frame for _, frame in reader]
    finally:
        reader.close()


ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = find_samples(ROOT / "tests" / "p4" / "programs")


def test_there_are_programs() -> None:
    assert len(PROGRAMS) >= 6


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_program(program: Path) -> None:
    result = run_sample(program)
    assert result.outcome == "pass", result.reason
