"""The box inside the shell's own RTL, and the bench around both, pass lint."""

from pathlib import Path

import pytest

from olafctl.targets.opennic import plugin
from olafctl.wire.geometry import Geometry
from olafswitch.simulation.verilate import lint_module
from olaftest.opennic.random_frames import QUEUE
from tests.opennic.shell_box import MODELS, wrap_shell
from tests.opennic.test_plugin import P4, SHELL, needs_shell


@needs_shell
@pytest.mark.parametrize("ports, functions", [(1, 1), (2, 1), (2, 2)])
def test_the_shells_box_with_the_plugin_is_clean(ports: int, functions: int, tmp_path: Path) -> None:
    plugin.assemble_plugin(Geometry(slots=8, beats=142), P4).write(tmp_path)
    source = Path(SHELL).resolve() / "src"
    # Only our own files must be clean.
    (tmp_path / "shell.vlt").write_text(f'`verilator_config\nlint_off -file "{source}/*"\n')
    text = lint_module(
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
    assert text == ""


@needs_shell
def test_the_bench_around_the_shell_is_clean(tmp_path: Path) -> None:
    made = plugin.assemble_plugin(QUEUE, P4)
    made.write(tmp_path)
    shell = Path(SHELL).resolve()
    rtl = wrap_shell(shell, made, tmp_path)
    # Models have every port of AMD's and serve the ports that the shell uses; the bench leaves outputs open.
    (tmp_path / "bench.vlt").write_text(
        f'`verilator_config\nlint_off -file "{shell}/*"\n'
        f'lint_off -file "{MODELS}/xpm_*.sv"\nlint_off -file "{MODELS}/qdma_*.sv"\n'
        f'lint_off -rule PINCONNECTEMPTY -file "{MODELS}/shell_path.sv"\n'
    )
    text = lint_module(
        "shell_path",
        [tmp_path / "hdl", tmp_path, *{path.parent for path in rtl.included}],
        [tmp_path / "bench.vlt", *rtl.sources],
        # The last two come from the shell's own wiring.
        [
            *("-sv", "-Wno-TIMESCALEMOD", "-Wno-UNOPTFLAT", "-Wno-SYNCASYNCNET"),
            *(f"-D{name}" for name in rtl.defines),
        ],
    )
    assert text == ""


def test_one_module_a_file_and_no_implicit_nets_in_the_bench() -> None:
    for path in MODELS.glob("*.sv"):
        lines = path.read_text().splitlines()
        assert [line.split()[1] for line in lines if line.startswith("module ")] == [path.stem]
        assert "`default_nettype none" in lines
        assert lines[-1] == "`default_nettype wire"
