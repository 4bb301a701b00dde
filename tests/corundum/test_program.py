"""A user's P4 program in Corundum's application block: sums, tables, completions, and the page's waveform."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from olafctl import paths
from olafctl.cli.main import olafctl
from olafctl.targets.corundum.boards import BOARDS
from olafctl.targets.corundum.program import list_program_files
from olafctl.targets.corundum.variant import CHECKOUT, place_in_design
from olafswitch.errors import BadInput
from olafswitch.p4.hardware.driver import Driver
from olafswitch.simulation.bench import Bench, Signals
from olafswitch.simulation.verilate import build_bench, lint_module
from tests.corundum.card import CORUNDUM, needs_checkout
from tests.corundum.test_variant import check_core

PROGRAM = paths.sources() / "switch" / "examples" / "adder.p4"
PAGE = paths.sources() / "docs" / "corundum.md"
PORTS = range(1, 5)
TAG = 0x8005
SHOWN = (
    "s_axis_sync_rx_tvalid",
    "s_axis_sync_tx_tvalid",
    "m_axis_sync_tx_cpl_valid",
    "m_axis_sync_tx_tvalid",
)


class ProgramBlock:
    """The block with two MACs, ports 1 and 2, and their interfaces of the host, 3 and 4."""

    def __init__(self, folder: Path, width: int) -> None:
        self.files = list_program_files(PROGRAM)
        for name, text in self.files.items():
            (folder / Path(name).name).write_text(text)
        sources = sorted(folder.glob("*.v"))
        made = build_bench(
            "olaf_corundum", sources, {"WIDTH": width}, folders=[folder], sources=[*folder.glob("*.vh")]
        )
        bench = self.bench = Bench(made, {"clk": 4000})

        def stream(name: str, lane: int, bits: int) -> Signals:
            return Signals.axis(name, [(f"{name}_tuser", bits)], lane, width // 8)

        lanes = (0, 1)
        ends = [(name, lane, bits) for name, bits in (("rx", 1), ("tx", 17)) for lane in lanes]
        self.sources = [bench.source(stream(f"s_axis_sync_{name}", lane, bits)) for name, lane, bits in ends]
        ends = [(name, lane, bits) for name, bits in (("tx", 17), ("rx", 1)) for lane in lanes]
        self.sinks = [bench.sink(stream(f"m_axis_sync_{name}", lane, bits)) for name, lane, bits in ends]
        cpl = "m_axis_sync_tx_cpl_"
        self.completions = [
            bench.sink(Signals(f"{cpl}tag", "", "", f"{cpl}valid", f"{cpl}ready", (), lane, 2))
            for lane in lanes
        ]
        bench["rst"] = 1
        bench.run_cycles(20)
        bench["rst"] = 0
        bench.run_cycles(20)
        self.axil = bench.axil("s_axil_app_ctrl_")
        about = json.loads(self.files["agent/user_program.json"])
        driver = Driver(about, lambda at: self.axil.read(at)[0], self.write)
        (self.table,) = driver.tables.values()
        self.table.set_default(None)

    def write(self, address: int, value: int) -> None:
        assert self.axil.write(address, value) == 0

    def send(self, port: int, frame: bytes) -> None:
        """Send a frame into a port; from the host with TAG."""
        self.sources[port - 1].send(frame, [TAG << 1 if port > 2 else 0])

    def left(self) -> dict[int, list[bytes]]:
        """Return the frames of the next 3000 cycles, by port."""
        self.bench.run_cycles(3000)
        return {port: [frame.data for frame in self.sinks[port - 1].frames()] for port in PORTS}

    def tags(self) -> list[list[int]]:
        """Return the tags that came back, by lane."""
        return [[int.from_bytes(each.data, "little") for each in sink.frames()] for sink in self.completions]


@pytest.fixture(params=[64, 512])
def block(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ProgramBlock]:
    made = ProgramBlock(tmp_path, request.param)
    with closing(made.bench):
        yield made


def frame(kind: int, content: bytes) -> bytes:
    return bytes.fromhex("0200000000aa 0200000000bb") + kind.to_bytes(2, "big") + content.ljust(86, b"!")


def addends(a: int, b: int, total: int = 0) -> bytes:
    return b"".join(value.to_bytes(4, "big") for value in (a, b, total))


def answer(sent: bytes, total: bytes) -> bytes:
    return sent[6:12] + sent[:6] + sent[12:22] + total + sent[26:]


def test_sums_go_back_and_the_rest_crosses_to_the_host_and_back(block: ProgramBlock) -> None:
    for end in (*block.sources, *block.sinks, *block.completions):
        end.pause(0.3)
    for number in range(20):
        for port in PORTS:
            block.send(port, frame(0x88B6, addends(number, port)))
            block.send(port, frame(0x0800, bytes([port, number])))
    left = block.left()
    for port, beyond in {1: 3, 2: 4, 3: 1, 4: 2}.items():
        due = [frame(0x0800, bytes([beyond, number])) for number in range(20)]
        for number in range(20):
            sent = frame(0x88B6, addends(number, port))
            due.append(answer(sent, (number + port).to_bytes(4, "big")))
        assert Counter(left[port]) == Counter(due)
    assert block.tags() == [[TAG] * 40, [TAG] * 40]


def test_after_a_reset_amid_a_frame_only_whole_frames_leave(block: ProgramBlock) -> None:
    for port in PORTS:
        block.send(port, frame(0x0800, bytes(1400)))
    block.bench.run_cycles(40)
    for source in block.sources:
        source.forget()
    block.bench["rst"] = 1
    block.bench.run_cycles(5)
    block.tags(), block.left()
    block.bench["rst"] = 0
    block.table.set_default(None)
    for number in (1, 2):
        for port in PORTS:
            block.send(port, frame(0x0800, bytes([number])))
    left, due = block.left(), [frame(0x0800, bytes([number])) for number in (1, 2)]
    assert all(frames in (due, due[1:]) for frames in left.values())
    assert block.tags() == [[TAG, TAG], [TAG, TAG]]


def test_its_table_is_written_by_the_driver_and_a_port_that_is_none_drops(block: ProgramBlock) -> None:
    table = block.table
    number = next(at for at, each in enumerate(table.actions) if each.endswith("send"))
    for port in (2, 77):
        table.insert(0x0200000000AA, (1 << 48) - 1, 0, number, table.packed(number, [port]))
        block.send(3, frame(0x0800, b"host"))
        left = block.left()
        assert left.pop(2) == ([frame(0x0800, b"host")] if port == 2 else [])
        assert not any(left.values()) and block.tags() == [[TAG], []]
        table.delete(0x0200000000AA, (1 << 48) - 1, 0)
    assert block.axil.read(1 << 20)[1] == 3


def test_the_pages_waveform_is_the_simulations(tmp_path: Path) -> None:
    """A sum comes from the first MAC, another frame from the host on its way there."""
    block = ProgramBlock(tmp_path, 512)
    block.send(1, frame(0x88B6, addends(40, 2)))
    block.send(3, frame(0x0800, b"host"))
    drawn = dict.fromkeys(SHOWN, "")
    for _ in range(30):
        block.bench.run_cycles(1)
        for name in SHOWN:
            drawn[name] += "▔" if block.bench[name] & 1 else "▁"
    assert "".join(f"    {name:26}{line}\n" for name, line in drawn.items()) in PAGE.read_text()
    block.bench.close()


def test_the_block_is_clean_at_every_width(tmp_path: Path) -> None:
    for name, text in list_program_files(PROGRAM).items():
        (tmp_path / Path(name).name).write_text(text)
    for width in (64, 128, 512):
        assert (
            lint_module("olaf_corundum", [tmp_path], [tmp_path / "olaf_corundum.v"], [f"-GWIDTH={width}"])
            == ""
        )


@needs_checkout
def test_the_pages_command_builds_a_variant(monkeypatch: pytest.MonkeyPatch) -> None:
    (command,) = re.findall(
        r"^    OLAF_CORUNDUM=\S+ olafctl (build \S+\.p4 .*)$", PAGE.read_text(), re.MULTILINE
    )
    monkeypatch.setenv(CHECKOUT, str(CORUNDUM))
    monkeypatch.chdir(paths.sources())
    done = CliRunner().invoke(olafctl, [*command.split(), "--json"])
    assert done.exit_code == 0, done.output
    hdl = Path(json.loads(done.stdout)["folder"]) / "hdl"
    assert {"user_program.v", "mqnic_app_block.v"} < {path.name for path in hdl.iterdir()}
    assert not list(hdl.glob("olaf_queue*"))


@needs_checkout
def test_corundums_core_elaborates_with_the_program(tmp_path: Path) -> None:
    check_core(place_in_design(CORUNDUM, BOARDS["fb2CG-100g"], list_program_files(PROGRAM)), 512, tmp_path)


def test_what_is_no_v1model_program_is_refused() -> None:
    with pytest.raises(BadInput, match="is for XSA"):
        list_program_files(paths.sources() / "p4src" / "vnp4_2_xsa.p4")
    done = CliRunner().invoke(olafctl, ["build", str(PROGRAM)])
    assert done.exit_code and "is a P4 program, not a testbed" in str(done.exception)
