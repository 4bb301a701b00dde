"""The verb simulate: STF and pcap files through a program's Verilog, and its waveforms."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from olafctl import paths
from olafswitch.cli.main import olafswitch
from olafswitch.p4runtime.entities import TableEntry
from olafswitch.p4runtime.session import Session
from olafswitch.ports.pcap import PcapReader, PcapWriter
from tests.blocks import find_block

EXAMPLE = paths.sources() / "switch" / "examples" / "cocotb_bench.py"


def _run_command(*words: object) -> tuple[int, str]:
    done = CliRunner().invoke(olafswitch, [str(word) for word in words])
    return done.exit_code, done.output + (str(done.exception) if done.exception else "")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide the program of the README as Verilog."""
    made = tmp_path_factory.mktemp("next")
    program = (
        find_block("switch/README.md", "cat > next.p4").text.partition("<<'END'\n")[2].partition("END\n")[0]
    )
    (made / "next.p4").write_text(program)
    code, output = _run_command("compile", made / "next.p4", "--verilog", made / "rtl")
    assert code == 0, output
    return made / "rtl"


def test_frames_of_a_pcap_file_leave_as_the_entries_say(folder: Path, tmp_path: Path) -> None:
    frame = bytes.fromhex("0000000002aa0000000000010800") + b"hello"
    for name, sent in (("1.in", frame), ("2.in", b"\0" * 60)):
        writer = PcapWriter(tmp_path / name)
        writer.write(sent)
        writer.close()
    (tmp_path / "entries.stf").write_text("add next hdr.ethernet.dst:0x2aa send(port:2)\n")
    code, output = _run_command(
        "simulate", folder, "--stf", tmp_path / "entries.stf", "--trace", tmp_path / "waves.vcd",
        "-p", f"1=pcap:{tmp_path / '1.in'},", "-p", f"2=pcap:{tmp_path / '2.in'},{tmp_path / '2.out'}",
    )  # fmt: skip
    assert code == 0, output
    assert "2 frames in, 1 out" in output
    reader = PcapReader(tmp_path / "2.out")
    assert [each for _, each in reader] == [frame]
    reader.close()
    assert "m_axis_tdata" in (tmp_path / "waves.vcd").read_text()


def test_a_difference_from_an_stf_file_fails(folder: Path, tmp_path: Path) -> None:
    stf = tmp_path / "wrong.stf"
    stf.write_text("packet 1 0000000002aa 000000000001 0800\nexpect 2 00\n")
    code, output = _run_command("simulate", folder, "--stf", stf)
    assert code == 1 and "port 2: 0 frames, 1 expected" in output


def test_its_tables_are_served_over_p4runtime(folder: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "olafswitch", "simulate", str(folder), "--listen", f"unix:{tmp_path}/s"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        address = running.stdout.readline().removeprefix("P4Runtime at ").strip()
        with Session.connect(address, 1, election_id=1) as session:
            session.push(folder / "next.p4info.txtpb", folder / "next.json")
            entry = TableEntry("next", {"hdr.ethernet.dst": 2}, "send", {"port": 3})
            session.insert(entry)
            assert session.entries() == {entry}
        running.send_signal(signal.SIGTERM)
        assert "0 frames in" in running.stdout.read()
    assert running.returncode == 0


def test_a_folder_without_a_module_is_named(tmp_path: Path) -> None:
    code, output = _run_command("simulate", tmp_path)
    assert code != 0 and "no modules with a description" in output


def test_cocotb_runs_the_example(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("cocotb", reason="cocotb is not installed")
    copy = tmp_path / EXAMPLE.name
    copy.write_text(EXAMPLE.read_text())
    done = subprocess.run(
        [sys.executable, str(copy)], env={**os.environ, "RTL": str(folder)}, cwd=tmp_path,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "iverilog" in done.stderr and "not found" in done.stderr.lower():
        pytest.skip("Icarus Verilog is not installed")
    assert "PASS=1 FAIL=0" in done.stdout, done.stdout[-2000:] + done.stderr[-2000:]
