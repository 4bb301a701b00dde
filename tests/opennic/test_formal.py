"""Proofs of properties of the box's and the blocks' modules for all inputs."""

import shutil
from pathlib import Path

import pytest

from olafctl import paths
from olafswitch.errors import MissingTool
from olafswitch.p4.verilog.compile import list_library
from olafswitch.simulation.mapping import find_yosys, run_yosys
from olaftest.queue import abc

FORMAL = Path(__file__).parent / "formal"
HDL = paths.sources() / "hdl"
SOURCES = {path.stem: path for path in [*HDL.glob("opennic/*.v"), *HDL.glob("corundum/*.v"), *list_library()]}
FOR_EVER = "pdr -T 600"
DEPTH = {"replicator": 24, "lengths": 10}
"""The cycles to search in modules for which ABC finds no invariant."""
MODULES = {
    "arbiter": ("olaf_box_arbiter", "olaf_box_slice"),
    "config": ("p4_config",),
    "decoder": ("olaf_box_decoder",),
    "intake": ("p4_intake", "p4_credits"),
    "join": ("p4_join",),
    "lengths": ("p4_join",),
    "results": ("p4_credits", "p4_fifo"),
    "replicator": (
        *("olaf_box_replicator", "olaf_box_intake", "olaf_box_count"),
        *("olaf_box_copies", "olaf_box_rewrite", "olaf_box_slice"),
    ),
    "tags": (
        *("olaf_corundum_streams", "olaf_corundum_in", "olaf_corundum_out"),
        *("olaf_box_arbiter", "olaf_box_slice", "olaf_box_cut", "p4_fifo"),
    ),
}
_PUSH = "s_axis_sync_tx_tready[i] && s_axis_sync_tx_tlast[i]"
_CLOCKS = "                .clk(clk), .rst(rst)"
_LEFT = " || m_axis_sync_{0}_tvalid[i] && m_axis_sync_{0}_tready[i] && m_axis_sync_{0}_tlast[i]"
_TX_USER = "m_axis_sync_tx_tuser = {(TX_USER*LANES){1'b0}}"
TAGS = {
    "lost": [
        ("level < MOST", "1'b1"),
        ("(1 << OUT_BITS) - 1", "(1 << OUT_BITS) + 1"),
        (_PUSH, f"{_PUSH} && !s_axis_sync_tx_tuser[TX_USER*i]"),
        (_PUSH, f"{_PUSH} && first_tready"),
        (_PUSH, f"{_PUSH} && !(i == 0 && control)"),
        (_PUSH, f"{_PUSH} && !m_axis_sync_tx_cpl_valid[i]"),
        (_PUSH, f"{_PUSH} && !(i == 1 && s_axis_sync_tx_tvalid[0] && s_axis_sync_tx_tlast[0])"),
        ("!m_valid || m_ready", "1'b1"),
    ],
    "doubled": [
        (_PUSH, _PUSH.split(" &&")[0]),
        ("= ready && room", "= ready"),
        ("tx_tvalid[i] && room", "tx_tvalid[i]"),
        ("{{(BITS-1){1'b0}}, move}", "{{(BITS-1){1'b0}}, move && !s_valid}"),
        ("(m_valid && !m_ready)", "(m_valid && (!m_ready || s_valid))"),
    ],
    "foreign": [
        ("TX_USER*i+1", "TX_USER*i"),
        (".WIDTH(TAG_BITS)", ".WIDTH(TAG_BITS-1)"),
        (f"tags (\n{_CLOCKS}", "tags (.clk(clk), .rst(1'b0)"),
        ("store[tail]", "store[head - 1'b1]"),
    ],
    "of another lane": [
        ("TX_USER*i+1", "TX_USER*(LANES-1-i)+1"),
        ("cpl_tag[TAG_BITS*i", "cpl_tag[TAG_BITS*(LANES-1-i)"),
        ("cpl_valid[i]", "cpl_valid[LANES-1-i]"),
        ("cpl_ready[i])", "cpl_ready[LANES-1-i])"),
        (".s_valid(s_axis_sync_tx_tvalid[i]", ".s_valid(s_axis_sync_tx_tvalid[LANES-1-i]"),
        (_PUSH, "s_axis_sync_tx_tready[i] && s_axis_sync_tx_tlast[LANES-1-i]"),
    ],
    "of a frame that the box does not get, or twice": [
        ("first_tvalid && !control", "first_tvalid"),
        ("mid_frame ? was_control : is_control", "is_control"),
        ("control ? to_box_tready[HOST]", "!control ? to_box_tready[HOST]"),
        ("to_box_tready[LANES+i]}", "to_box_tready[HOST]}"),
        ("!rst && !owed &&", "!rst &&"),
        ("tx_tuser[TX_USER*i])", "tx_tuser[TX_USER*(LANES-1-i)])"),
    ],
    "for a frame of the box": [
        (_PUSH, _PUSH + _LEFT.format("tx")),
        (_PUSH, _PUSH + _LEFT.format("rx")),
        (_PUSH, f"{_PUSH} || rest[LANES+i]"),
        (_TX_USER, "m_axis_sync_tx_tuser = s_axis_sync_tx_tuser"),
        ("tx_cpl_ready = {LANES{1'b1}}", "tx_cpl_ready = m_axis_sync_tx_cpl_ready"),
    ],
    "early": [(_PUSH, "s_axis_sync_tx_tlast[i]"), (_PUSH, "s_axis_sync_tx_tready[i] && !mid_frame")],
    "late": [
        ("level != 0", "level > 1"),
        ("level != 0", "!s_valid && level != 0"),
        ("(!m_valid || m_ready)", "(!m_valid && m_ready)"),
    ],
}
"""What may become of a tag, and changes of a module that make it so."""
SCRIPT = """
read_verilog -formal -sv {name}.v
read_verilog -DSYNTHESIS {modules}
prep -flatten -nordff -top {name}_formal
async2sync
chformal -early
memory_map
opt -full
techmap
opt -full
dffunmap
simplemap
setundef -undriven -anyseq
aigmap
write_aiger -zinit circuit.aig
"""


def _missing_tools() -> str:
    try:
        find_yosys()
        abc.find_abc()
    except MissingTool as missing:
        return str(missing)
    return ""


def _find_module(text: str) -> str:
    places = ("olaf_corundum_streams", "p4_fifo", "olaf_corundum_in")
    return next(module for module in places if text in SOURCES[module].read_text())


pytestmark = pytest.mark.skipif(bool(_missing_tools()), reason=f"not installed: {_missing_tools()}")


def prove_module(name: str, work: Path, change: tuple[str, str, str] | None = None) -> tuple[str, int]:
    """Return ABC's verdict and the last cycle that it searched; ``change`` is (module, text, new text)."""
    shutil.copy(FORMAL / f"{name}.v", work)
    shutil.copy(HDL / "opennic" / "olaf_box_map.vh", work)
    for module in MODULES[name]:
        text = SOURCES[module].read_text()
        if change and change[0] == module:
            assert change[1] in text
            text = text.replace(*change[1:])
        (work / f"{module}.v").write_text(text)
    modules = " ".join(f"{module}.v" for module in MODULES[name])
    run_yosys(find_yosys(), SCRIPT.format(name=name, modules=modules), work, "circuit.aig", name)
    return abc.prove_circuit(work, f"bmc3 -F {DEPTH[name]}" if name in DEPTH else FOR_EVER)


@pytest.mark.parametrize("name", MODULES)
def test_it_holds(name: str, tmp_path: Path) -> None:
    verdict, cycle = prove_module(name, tmp_path)
    assert (verdict, cycle) == ("UNK", DEPTH[name] - 1) if name in DEPTH else verdict == "UNSAT"


@pytest.mark.parametrize(
    "name, module, text, instead",
    [
        ("arbiter", "olaf_box_arbiter", "(!valid && !mid_frame)", "!valid"),
        ("decoder", "olaf_box_decoder", "if (answered || late)", "if (answered)"),
        ("config", "p4_config", "if (acted) owed", "if (|command) owed"),
        ("config", "p4_config", "last <= acted ||", "last <="),
        ("config", "p4_config", "if (sweeping && (!cell_ask || cell_taken)) begin", "begin"),
        ("intake", "p4_intake", "< (1 << STORE_BITS) - 6", "<= (1 << STORE_BITS) - 6"),
        ("intake", "p4_intake", "< (1 << STORE_BITS) - 6", "< (1 << STORE_BITS) - 7"),
        ("intake", "p4_intake", "at < BEATS", "at <= BEATS"),
        ("intake", "p4_intake", "at == BEATS - 1", "at == BEATS"),
        ("intake", "p4_intake", "had <= at == BEATS ? at", "had <= at == BEATS - 1 ? at"),
        ("intake", "p4_intake", "b == 64 || ", ""),
        ("intake", "p4_intake", "at == i[3:0]", "at >= i[3:0]"),
        ("join", "p4_join", "if (free) m_tvalid <=", "m_tvalid <="),
        ("join", "p4_join", "if (next) over <= 1'b0;", ""),
        ("lengths", "p4_join", "total > 64", "total >= 64"),
        ("lengths", "p4_join", "ahead <= 0", "ahead < 0"),
        ("lengths", "p4_join", "total == 0", "total < 0"),
        ("config", "p4_config", "if (address == 20'h018) begin", "if (address[11:0] == 12'h018) begin"),
        ("results", "p4_credits", "(1 << BITS) - 1", "(1 << BITS) + 2"),
        ("replicator", "olaf_box_replicator", "sending <= !read_last", "sending <= !last"),
        ("replicator", "olaf_box_slice", "second ? waiting : s_beat", "s_beat"),
        *(
            pytest.param("tags", _find_module(text), text, instead, id=f"tags-{kind}-{number}")
            for kind, changes in TAGS.items()
            for number, (text, instead) in enumerate(changes)
        ),
    ],
)
def test_a_fault_would_be_found(name: str, module: str, text: str, instead: str, tmp_path: Path) -> None:
    assert prove_module(name, tmp_path, (module, text, instead))[0] == "SAT"
