"""The build for a board is whole, made of the checkout's own files, and refused where something lacks."""

import os
import re
import subprocess
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from olafctl.control.deploy import build_testbed
from olafctl.targets import testbeds
from olafctl.targets.corundum.boards import BOARD, BOARDS, Board
from olafctl.targets.corundum.shell import BYTES, CorundumBar
from olafctl.targets.corundum.target import TARGET
from olafctl.targets.corundum.variant import CHECKOUT, VALUES, Variant, assemble_variant, write_block
from olafctl.targets.corundum_sim.nic import replace_empty_selects
from olafctl.targets.interface import Build
from olafctl.targets.opennic.preflight import ask_vivado
from olafctl.targets.opennic_sim.target import OpennicSim
from olafctl.targets.registry import get_target
from olafctl.testbed.model import Testbed
from olafctl.wire.geometry import Geometry
from olafswitch.errors import BadInput, OlafError
from olafswitch.simulation.verilate import lint_module
from tests.corundum.card import CORUNDUM, needs_checkout
from tests.opennic.test_plugin import P4


@cache
def assemble(name: str) -> Variant:
    return assemble_variant(CORUNDUM, BOARDS[name], Geometry(slots=8, beats=142), P4)


def list_files(made: Variant, folder: Path) -> list[Path]:
    """Return the files that the board's own Makefile gives Vivado."""
    made.write(folder)
    show = "show: ; @echo $(SYN_FILES_REL) $(XDC_FILES_REL) $(IP_TCL_FILES_REL) $(CONFIG_TCL_FILES_REL)"
    command = ["make", "--no-print-directory", "-C", str(folder / made.folder), "--eval", show, "show"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [folder / made.folder / name for name in done.stdout.split()]


@needs_checkout
@pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
def test_every_board_has_every_file_and_the_values(board: Board, tmp_path: Path) -> None:
    files = list_files(assemble(board.name), tmp_path)
    assert not [path for path in files if not path.is_file()]
    names = [path.name for path in files]
    assert {"mqnic_app_block.v", "olaf_corundum.v", "olaf_box_250mhz.v", "vnp4_1.v", "olaf_layout.vh"} < set(
        names
    )
    assert len(set(names)) == len(names)
    config = next(path for path in files if path.name == "config.tcl").read_text()
    given = dict(re.findall(r'^dict set params (\w+) "([^"]*)"$', config, re.MULTILINE))
    assert given.items() >= VALUES.items()
    assert int(given["IF_COUNT"]) * int(given["PORTS_PER_IF"]) == board.macs


@needs_checkout
@pytest.mark.parametrize("width", [64, 128, 512])
def test_corundums_core_elaborates_with_the_block(width: int, tmp_path: Path) -> None:
    check_core(assemble("fb2CG-100g"), width, tmp_path)


def check_core(made: Variant, width: int, tmp_path: Path) -> None:
    """Check that Corundum's core elaborates with the block, without a warning about files of Olaf."""
    files = []
    for path in list_files(made, tmp_path):
        if path.suffix != ".v" or path.name.startswith(("fpga", "cmac")):
            continue
        if text := replace_empty_selects([path]).get(path.name):
            path = tmp_path / path.name
            path.write_text(text)
        files.append(path)
    values = {**VALUES, "IF_COUNT": 2, "AXIS_ETH_DATA_WIDTH": width}
    options = ["-Wno-fatal", "-Wno-TIMESCALEMOD", *(f"-G{name}={value}" for name, value in values.items())]
    output = lint_module("mqnic_core_pcie_us", [tmp_path / "hdl"], files, options)
    lines = [line for line in output.splitlines() if line.startswith("%")]
    assert "mqnic_core.v" in output  # these are its own warnings, so it was read
    assert not [line for line in lines if line.startswith("%Error") or "/hdl/olaf_" in line]


def test_a_block_of_another_corundum_is_refused() -> None:
    with pytest.raises(BadInput) as refused:
        write_block(
            "module mqnic_app_block (\n    input  wire clk,\n    output wire [1:0] new_tap\n);\n", "0" * 8
        )
    assert "has an output new_tap that Olaf does not know" in str(refused.value)
    assert "has no port s_axis_sync_tx_tdata" in str(refused.value)


@pytest.fixture
def bed() -> Testbed:
    return testbeds.load_testbed(testbeds.locate_testbed("laptop"), target="corundum")


@pytest.mark.parametrize(
    "board, checkout, output",
    [
        (None, "/nowhere", "no board is named"),
        ("abacus", "/nowhere", "board 'abacus' is not known"),
        ("AU50-100g", "/nowhere", "has 4 front ports, AU50-100g 2"),
        ("AU200-100g", "", "set OLAF_CORUNDUM"),
        ("AU200-100g", "/nowhere", "/nowhere/fpga/app/template/rtl/mqnic_app_block.v: cannot be read"),
    ],
)
def test_a_build_says_what_it_lacks(
    bed: Testbed, board: str | None, checkout: str, output: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CHECKOUT, checkout)
    with pytest.raises(BadInput, match=re.escape(output)):
        build_testbed(replace(bed, board=board), lambda step: None)


def test_a_deployment_is_refused_with_what_it_lacks(bed: Testbed, tmp_path: Path) -> None:
    no_card, no_board = TARGET.problems(bed, tmp_path)
    assert "no card is named" in str(no_card) and "no board is named" in str(no_board)


@pytest.mark.parametrize(
    "checkout, board, output",
    [("", "", f"no checkout of Corundum is named (set {CHECKOUT}"), ("/", "abacus", "'abacus' is not known")],
)
def test_a_simulation_is_refused_with_what_it_lacks(
    bed: Testbed, checkout: str, board: str, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CHECKOUT, checkout)
    monkeypatch.setenv(BOARD, board)
    simulated = replace(bed, target="corundum-sim")
    assert output in str(get_target("corundum-sim").problems(simulated, tmp_path)[-1])
    with pytest.raises(BadInput, match=re.escape(output)):
        build_testbed(simulated, lambda step: None)


def test_another_width_is_another_build(bed: Testbed, monkeypatch: pytest.MonkeyPatch) -> None:
    """A running deployment is kept only where its build has the same key."""
    monkeypatch.setenv(CHECKOUT, "/")
    monkeypatch.setattr(OpennicSim, "build", lambda *_: Build(Path("/"), "plugin", fresh=False))
    keys = []
    for board in ("", "AU200-100g", "AU200-25g", "AU200-10g"):
        monkeypatch.setenv(BOARD, board)
        keys.append(get_target("corundum-sim").build(bed, lambda step: None).key)
    assert keys[0] == keys[1] and len(set(keys)) == 3


@pytest.mark.parametrize("bound", [True, False])
def test_registers_are_those_of_the_driver_or_of_the_bars(bound: bool, tmp_path: Path) -> None:
    function, device = tmp_path / "0000:3b:00.0", tmp_path / "mqnic0"
    (function / "misc").mkdir(parents=True)
    if bound:
        (function / "misc" / "mqnic0").mkdir()
    places = (
        {(device, 0): 0, (device, 1): 1 << 40}
        if bound
        else {(function / f"resource{2 * n}", n): 0 for n in (0, 1)}
    )
    for path, _ in places:
        with path.open("wb") as file:  # sparse
            file.truncate(max(at for (other, _), at in places.items() if other == path) + BYTES)
    with closing(CorundumBar(function, tmp_path)) as bar:
        for region in (0, 1):
            bar.write((region << 40) + 0x1234, 77 + region)
            assert bar.read((region << 40) + 0x1234) == 77 + region
    for (path, region), at in places.items():
        with path.open("rb") as file:
            file.seek(at + 0x1234)
            assert file.read(4) == bytes([77 + region, 0, 0, 0])


def test_a_bar_of_another_size_is_refused(tmp_path: Path) -> None:
    (tmp_path / "resource0").write_bytes(bytes(4096))
    with pytest.raises(
        OlafError, match="has 4096 bytes, not 16777216: it was enumerated with another bitstream"
    ):
        CorundumBar(tmp_path)


def test_vivado_itself_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    vivado = tmp_path / "vivado"
    vivado.write_text(
        "#!/bin/sh\nfor last; do :; done\ngrep -q xcu50 $last && echo 'Olaf: no licence for it'\n"
    )
    vivado.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert [str(each) for each in ask_vivado("xcu50-fsvh2104-2-e", {})] == [
        "xcu50-fsvh2104-2-e: no licence for it (see AMD's UG973)"
    ]
    vivado.write_text("#!/bin/sh\nexit 3\n")
    (problem,) = ask_vivado("xcu50-fsvh2104-2-e", {})
    assert "Vivado ended with 3" in str(problem)
