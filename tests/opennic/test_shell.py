"""The box inside the shell's own RTL."""

from pathlib import Path

import pytest

from olafctl.targets.opennic import plugin
from olafctl.targets.opennic.ips import IPS, stub
from olafctl.targets.opennic.sim.bench import Bench, Signals
from olafctl.targets.opennic.sim.verilate import build, lint
from olafctl.wire.geometry import Geometry
from tests.opennic.conftest import reset
from tests.opennic.test_plugin import SHELL, needs_shell, p4

UTILITIES = (
    "axi_stream_packet_buffer",
    "axi_stream_register_slice",
    "axi_stream_size_counter",
    "level_trigger_cdc",
)


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


@needs_shell
def test_the_shells_wrong_sizes_do_no_harm() -> None:
    """After a receive error the shell gives frames the size of the one before; the box measures its own."""
    source = Path(SHELL).resolve() / "src"
    more = [
        Path(__file__).parent / "shell_rx.sv",
        source / "packet_adapter" / "packet_adapter_rx.sv",
        *(source / "utility" / f"{name}.sv" for name in UTILITIES),
    ]
    bench = Bench(build("shell_rx", more=more), {"clk": 4000})
    try:
        reset(bench)
        signals = Signals("s_tdata", "s_tkeep", "s_tlast", "s_tvalid", "", (("s_tuser", 1),))
        sender, sink = bench.source(signals), bench.sink(Signals.axis("m", [("m_tuser", 16), ("m_size", 16)]))
        bench.run(50)
        sizes = [100, 150, 90, 70, 1500, 64]
        for number, size in enumerate(sizes):
            sender.send(bytes([number]) * size, [int(number == 1)])
        bench.run(500)
        left = sink.frames()
    finally:
        bench.close()
    good = [size for number, size in enumerate(sizes) if number != 1]
    assert [len(frame.data) for frame in left] == good
    assert [frame.user[1] for frame in left] == good
    told = [frame.user[0] for frame in left]
    assert told != good, "the shell's fault is gone: the docs and the plug-in may be simpler"
