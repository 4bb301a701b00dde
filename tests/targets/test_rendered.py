"""Rendered sources say what the testbed says, and misfits are named before anything is compiled."""

from pathlib import Path

import pytest

from olafctl import paths
from olafctl.errors import OlafError
from olafctl.queue import ports_fit, verilog
from olafctl.queue.verilate import build_queue
from olafctl.targets import p4_sources as p4
from olafctl.targets import rendered, testbeds
from olafctl.testbed.model import Testbed
from olafctl.wire.geometry import Geometry

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
    return testbeds.load(paths.sources() / "testbeds" / "laptop.yaml")


def check(folder: Path, outer: str) -> list[str]:
    """What is said of ``outer`` around INNER, without the place."""
    (folder / "inner.v").write_text(INNER)
    (folder / "outer.v").write_text(outer)
    try:
        ports_fit.check([folder / "outer.v"], [folder / "inner.v"])
    except OlafError as error:
        return [str(problem).removeprefix(f"{folder}/outer.v: ") for problem in error.problems]
    return []


def test_the_default_parameters_are_rendered_from_the_same_template() -> None:
    assert (paths.sources() / "p4src" / "params.p4").read_text() == p4.params()


def test_a_testbed_s_port_and_tos_reach_the_programs(tmp_path: Path, laptop: Testbed) -> None:
    path = tmp_path / "bed.yaml"
    path.write_text(laptop.text + "\nudp_port: 4242\ncontrol_tos: 0x40\n")
    params = p4.sources(testbeds.load(path))["params.p4"]
    assert "#define OLAF_UDP_PORT 16w4242" in params
    assert "#define CONTROL_TOS 8w0x40" in params


@pytest.mark.parametrize("name", ["laptop", "nine-clusters", "hundred-clusters"])
def test_the_shipped_testbeds_fit_the_modules(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLAF_CACHE", str(tmp_path))
    bed = testbeds.load(paths.sources() / "testbeds" / f"{name}.yaml")
    rendered.check(bed)
    instance = (verilog.folder(bed.root.geometry) / verilog.INSTANCE).read_text()
    assert f".INDICES({bed.root.indices})" in instance
    assert f".BEATS({bed.root.beats})" in instance
    assert (p4.folder(bed) / "vnp4_1.p4").is_file()


def test_what_is_compiled_is_what_was_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLAF_CACHE", str(tmp_path))
    right = verilog.instance
    monkeypatch.setattr(verilog, "instance", lambda queue: right(queue).replace(".SLOTS(", ".SLOT("))
    with pytest.raises(OlafError, match=r"olaf_instance.queue: olaf_queue has no parameter SLOT "):
        build_queue(Geometry())


def test_what_fits_is_not_complained_about(tmp_path: Path) -> None:
    assert check(tmp_path, OUTER) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[511:0] data", "[255:0] data", "port data is 512 bits wide, 256 are wired to it (correct one)"),
        ("CLUSTERS(16)", "CLUSTERS(32)", "port cluster is 5 bits wide, 4 are wired to it (correct one)"),
        ("[3:0] cluster", "[7:0] cluster", "port cluster is 4 bits wide, 8 are wired to it (correct one)"),
        ("#(.CLUSTERS", "#(.CLUSTER", "inner has no parameter CLUSTER (correct the template)"),
        (".data(data)", ".dta(data)", "inner has no port dta (correct the template)"),
        (", .found(found)", "", "port found of inner is not connected (connect it)"),
        (".data(data)", ".data()", "input data is left open (connect it)"),
        (".data(data)", ".data(data), .data(data)", "port data is connected twice (correct the template)"),
        (".data(data)", ".data(dat)", "port data: dat is not declared (declare it with a width)"),
        ("inner #", "inmer #", "there is no module inmer (add it to hdl/, or correct the template)"),
    ],
)  # fmt: skip
def test_each_misfit_is_named(old: str, new: str, said: str, tmp_path: Path) -> None:
    assert OUTER.count(old) == 1
    assert f"outer.it: {said}" in check(tmp_path, OUTER.replace(old, new))


@pytest.mark.parametrize("wired", ["{2'd0, cluster[1:0]}", "{4{clk}}", "data[3:0]", "4'b1010"])
def test_slices_concatenations_and_literals_have_widths(wired: str, tmp_path: Path) -> None:
    assert check(tmp_path, OUTER.replace(".cluster(cluster)", f".cluster({wired})")) == []
    assert check(tmp_path, OUTER.replace(".cluster(cluster)", f".cluster({{1'b0, {wired}}})")) != []


def test_what_is_no_verilog_is_said_so(tmp_path: Path) -> None:
    assert "pyverilog cannot read it" in check(tmp_path, OUTER.replace("wire [3:0]", "wire wire [3:0"))[0]
