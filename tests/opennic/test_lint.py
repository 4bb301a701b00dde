"""Every Verilog file of the box is clean under every available linter."""

from pathlib import Path

import pytest

from olafctl import paths
from olafctl.queue.verilog import INSTANCE, render_instance
from olafctl.targets.opennic.blocks import write_blocks, write_place
from olafctl.targets.opennic.ips import IPS
from olafctl.targets.opennic.registers import REGISTERS, WINDOWS
from olafctl.wire.geometry import Geometry
from olafswitch.simulation.verilate import lint_module
from olaftest.opennic.random_frames import compile_blocks

HDL = paths.sources() / "hdl"
BOX, CORUNDUM = HDL / "opennic", HDL / "corundum"
MODULES = sorted(path.stem for path in BOX.glob("*.v") if path.stem != "olaf_box_250mhz")


@pytest.mark.parametrize("module", MODULES)
def test_a_module_is_clean(module: str) -> None:
    assert lint_module(module, [BOX, HDL], [BOX / f"{module}.v"]) == ""


@pytest.mark.parametrize(
    "top, parameters",
    [
        *(
            (BOX / "olaf_box_250mhz.v", (f"PORTS={ports}", f"FUNCTIONS={functions}"))
            for ports, functions in ((1, 1), (2, 1), (2, 2))
        ),
        *(
            (CORUNDUM / "olaf_corundum.v", (f"LANES={lanes}", f"WIDTH={width}"))
            for lanes, width in ((1, 512), (2, 128), (4, 64))
        ),
    ],
)
def test_the_whole_box_is_clean(top: Path, parameters: tuple[str, ...], tmp_path: Path) -> None:
    for name, text in {INSTANCE: render_instance(Geometry()), **write_blocks(compile_blocks())}.items():
        (tmp_path / name).write_text(text)
    folders = [BOX, CORUNDUM, HDL, tmp_path]
    assert lint_module(top.stem, folders, [top], [f"-G{parameter}" for parameter in parameters]) == ""


def test_the_places_of_ips_are_clean(tmp_path: Path) -> None:
    """The IPs themselves are absent, as Vivado makes their modules."""
    for ip in IPS:
        path = tmp_path / f"olaf_box_{ip.name}.v"
        path.write_text(write_place(ip, vitis=True))
        text = lint_module(path.stem, [BOX], [path], ["-Wno-UNUSEDSIGNAL", "-Wno-UNDRIVEN"])
        assert f"module: '{ip.name}'" in text  # nothing else is missing
        assert "%Warning" not in text


def test_each_ip_has_the_boxs_window_and_extern() -> None:
    sizes = {window.name: window.size for window in WINDOWS}
    assert [1 << ip.address_bits for ip in IPS] == [sizes["vnp4_1"], sizes["vnp4_2"]]
    assert [ip.extern and (ip.extern.out_bits, ip.extern.in_bits) for ip in IPS] == [(104, 32), None]
    names = [register.name for register in REGISTERS]
    assert len(set(names)) == len(names)
    assert max(register.offset for register in REGISTERS) + 8 <= sizes["box"]


def test_one_module_a_file_and_no_implicit_nets() -> None:
    for path in (*BOX.glob("*.v"), *CORUNDUM.glob("*.v")):
        lines = path.read_text().splitlines()
        assert [line.split()[1] for line in lines if line.startswith("module ")] == [path.stem]
        assert "`default_nettype none" in lines
        assert lines[-1] == "`default_nettype wire"
