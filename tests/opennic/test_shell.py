"""The box inside the shell's own RTL."""

from pathlib import Path

import pytest

from olafctl.targets.opennic import plugin
from olafctl.targets.opennic.ips import IPS, stub
from olafctl.targets.opennic.sim.verilate import lint
from olafctl.wire.geometry import Geometry
from tests.opennic.test_plugin import SHELL, needs_shell, p4


@needs_shell
@pytest.mark.parametrize("ports, functions", [(1, 1), (2, 1), (2, 2)])
def test_the_shells_box_with_the_plugin_is_clean(ports: int, functions: int, tmp_path: Path) -> None:
    plugin.make(Geometry(slots=8, beats=142), p4()).write(tmp_path)
    for ip in IPS:
        (tmp_path / f"{ip.name}.v").write_text(stub(ip))
    source = Path(SHELL).resolve() / "src"
    # Only what is ours must be clean; the stubs have no contents.
    (tmp_path / "shell.vlt").write_text(
        f'`verilator_config\nlint_off -file "{source}/*"\nlint_off -file "{tmp_path}/vnp4_*.v"\n'
    )
    said = lint(
        "box_250mhz",
        [tmp_path / "box_250mhz", tmp_path / "hdl", tmp_path, source],
        [
            tmp_path / "shell.vlt",
            source / "utility" / "generic_reset.sv",
            source / "box_250mhz" / "box_250mhz.sv",
        ],
        [
            *("-sv", "-D__synthesis__", "-D__au55c__", "-Wno-TIMESCALEMOD"),
            *(f"-GNUM_CMAC_PORT={ports}", f"-GNUM_PHYS_FUNC={functions}", "-GMAX_PKT_LEN=9600"),
        ],
    )
    assert said == ""
