"""Rendered sources agree with the testbed, and misfits are named before anything is compiled."""

from pathlib import Path

import pytest

from olafctl import paths
from olafctl.queue import verilog
from olafctl.queue.verilate import build_queue
from olafctl.targets import p4_sources as p4
from olafctl.targets import testbeds
from olafctl.testbed.model import Testbed
from olafctl.wire.geometry import Geometry
from olafswitch.errors import OlafError

INNER = """\
`define BEAT 512
module inner #(
    parameter CLUSTERS = 16,
    parameter INDEX_BITS = (CLUSTERS > 1) ? $clog2(CLUSTERS) : 1
) (
    input  wire                  clk,
    input  wire [INDEX_BITS-1:0] cluster,
    input  wire [`BEAT-1:0]      data,
    output reg  [3:0]            found
);
    always @(posedge clk) found <= cluster[3:0] ^ data[3:0];
endmodule
"""
OUTER = """\
module outer (input wire clk, input wire [511:0] data, output wire [3:0] found);
    wire [3:0] cluster = 4'd3;
    inner #(.CLUSTERS(16)) it (.clk(clk), .cluster(cluster), .data(data), .found(found));
endmodule
"""


@pytest.fixture(scope="module")
def laptop() -> Testbed:
    return testbeds.load_testbed(paths.sources() / "testbeds" / "laptop.yaml")


def check(folder: Path, outer: str) -> list[str]:
    """Return the problems of ``outer`` around INNER, without the place."""
    (folder / "inner.v").write_text(INNER)
    (folder / "outer.v").write_text(outer)
    try:
        verilog.check_instances(folder / "outer.v")
    except OlafError as error:
        return [str(problem).removeprefix(f"{folder}/outer.v:") for problem in error.problems]
    return []


def test_the_default_parameters_come_from_the_same_template() -> None:
    assert (paths.sources() / "p4src" / "params.p4").read_text() == p4.render_params()


def test_a_testbed_s_port_and_tos_reach_the_programs(tmp_path: Path, laptop: Testbed) -> None:
    path = tmp_path / "bed.yaml"
    path.write_text(laptop.text + "\nudp_port: 4242\ncontrol_tos: 0x40\n")
    params = p4.render_sources(testbeds.load_testbed(path))["params.p4"]
    assert "#define OLAF_UDP_PORT 16w4242" in params
    assert "#define CONTROL_TOS 8w0x40" in params


def test_what_is_compiled_is_what_was_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLAF_CACHE", str(tmp_path))
    right = verilog.render_instance
    monkeypatch.setattr(verilog, "render_instance", lambda queue: right(queue).replace(".SLOTS(", ".SLOT("))
    with pytest.raises(OlafError, match=r"olaf_instance\.v:\d+: Parameter not found: 'SLOT'"):
        build_queue(Geometry())


def test_what_fits_is_not_complained_about(tmp_path: Path) -> None:
    assert check(tmp_path, OUTER) == []


@pytest.mark.parametrize(
    ("old", "new", "printed"),
    [
        ("[511:0] data", "[255:0] data", "'data' expects 512 bits on the pin connection"),
        ("CLUSTERS(16)", "CLUSTERS(32)", "'cluster' expects 5 bits on the pin connection"),
        ("[3:0] cluster", "[7:0] cluster", "'cluster' expects 4 bits on the pin connection"),
        ("#(.CLUSTERS", "#(.CLUSTER", "Parameter not found: 'CLUSTER'"),
        (".data(data)", ".dta(data)", "Pin not found: 'dta'"),
        (", .found(found)", "", "Instance has missing pin: 'found'"),
        (".data(data)", ".data()", "Instance pin connected by name with empty reference: 'data'"),
        (".data(data)", ".data(data), .data(data)", "Duplicate pin connection: 'data'"),
        (".data(data)", ".data(dat)", "Signal definition not found, creating implicitly: 'dat'"),
        ("inner #", "inmer #", "Cannot find file containing module: 'inmer'"),
    ],
)
def test_each_misfit_is_named(old: str, new: str, printed: str, tmp_path: Path) -> None:
    assert OUTER.count(old) == 1
    found = check(tmp_path, OUTER.replace(old, new))
    assert any(line.startswith("3: ") and printed in line for line in found), found
    assert all(line.endswith(" (correct the template)") for line in found)


def test_a_file_that_is_not_verilog_is_reported(tmp_path: Path) -> None:
    assert "syntax error" in check(tmp_path, OUTER.replace("wire [3:0]", "wire wire [3:0"))[0]
