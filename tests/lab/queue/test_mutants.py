"""Small defects in the Verilog: random traffic finds them. ``olafctl bench mutants`` tries many more."""

from olaflab.queue.mutants import operators, score
from olaflab.queue.mutants.equivalent import ARGUMENTS
from olaflab.queue.mutants.operators import Mutant

SOURCE = """
`default_nettype none
module example (input wire clk, input wire [3:0] a, output reg b);
    wire full = a < 4'd9 && !b;
    always @(posedge clk)
        if (full) b <= b || a[0];
        else b <= {(2 - 1){1'b0}};
`ifndef SYNTHESIS
    always @(posedge clk) if (a == 4'd3) $stop;
`endif
endmodule
"""
NAMED = (
    ("olaf_ingress.v", "sticky removal", "torn", "(inner && 1'b0) || incomplete"),
    ("olaf_bypass.v", "boundary", "refuse", "room <= ("),
    ("olaf_enqueue.v", "connective", "f_was_locked", "f_locked && f_locks"),
    ("olaf_enqueue.v", "sticky removal", "d_locked", "1'b0 || d_locks"),
    ("olaf_registers.v", "connective", "write", "s_axil_awvalid || s_axil_wvalid"),
    ("olaf_dequeue.v", "dropped assignment", "updates_turn", "updates_turn"),
    ("olaf_fp32_add.v", "connective", "overflowed", "&& (TOWARDS < 0"),
)
"""Once alive under random traffic.

A hole in a frame that is forgotten, an exact fit that is refused, a lock that is forgotten while an update
stalls on its way to its decision, a write for which the address alone has come, a turn that outlives a reset,
a bound of rewards that is infinite where the exact one is not.
"""


def changes(source: str) -> set[tuple[str, str, str]]:
    return {
        (mutant.operator, mutant.target, mutant.after) for mutant in operators.candidates("example.v", source)
    }


def test_mutants_change_one_thing_each() -> None:
    found = changes(SOURCE)
    assert ("boundary", "full", "a <= 4'd9 && !b") in found
    assert ("connective", "full", "a < 4'd9 || !b") in found
    assert ("constant", "full", "a < 4'd10 && !b") in found
    assert ("polarity", "full", "a < 4'd9 && b") in found
    assert ("sticky removal", "b", "1'b0 || a[0]") in found
    assert ("dropped assignment", "b", "b") in found
    assert ("condition", "if", "!(full)") in found
    assert not [after for _, _, after in found if "2 + 1" in after or "4'd4" in after]


def test_the_choice_is_the_same_for_the_same_seed_and_spread_over_all_files() -> None:
    chosen = score.choose(60, 5)
    assert chosen == score.choose(60, 5) != score.choose(60, 6)
    assert len({mutant.file for mutant in chosen}) >= 20


def test_every_argument_is_about_a_mutant() -> None:
    assert set(ARGUMENTS) <= {mutant.name for mutant in score.choose(100_000, 0)}


def of_names(names: tuple[tuple[str, str, str, str], ...]) -> list[Mutant]:
    everything = score.choose(100_000, 0)
    found = [
        [
            mutant
            for mutant in everything
            if (mutant.file, mutant.operator, mutant.target) == (file, operator, target)
            and part in mutant.after
        ]
        for file, operator, target, part in names
    ]
    assert all(len(mutants) == 1 for mutants in found), found
    return [mutant for mutants in found for mutant in mutants]


def test_the_defects_that_once_went_unseen_are_found() -> None:
    found = score.run(of_names(NAMED), seeds=40, geometries=score.GEOMETRIES[:1])
    assert [verdict.mutant.name for verdict in found.survivors] == []
