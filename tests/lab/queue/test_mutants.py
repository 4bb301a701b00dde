"""Small defects in the Verilog: random traffic finds them. ``olaflab bench mutants`` tries many more."""

from olafctl.queue import verilog
from olaflab.queue.mutants import operators, schema, score
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
    ("olaf_ingress.v", "sticky removal", "torn", "(!first && 1'b0) || incomplete"),
    ("olaf_bypass.v", "boundary", "refuse", "room <= ("),
    ("olaf_lock.v", "connective", "f_was_locked", "f_locked && f_locks"),
    ("olaf_lock.v", "sticky removal", "d_locked", "1'b0 || leaves"),
    ("olaf_registers.v", "connective", "write", "s_axil_awvalid || s_axil_wvalid"),
    ("olaf_dequeue.v", "dropped assignment", "updates_turn", "updates_turn"),
    ("olaf_fp32_add.v", "connective", "overflowed", "&& (TOWARDS < 0"),
)
"""Once alive under random traffic.

A hole in a frame that is forgotten, an exact fit that is refused, a lock that is forgotten while an update
stalls on its way to its decision, a write for which the address alone has come, a turn that outlives a reset,
a bound of rewards that is infinite where the exact one is not.
"""
EDGES = (
    (
        "olaf_windows.v",
        "near <= ",
        "~|after_highest[NUMBER_BITS-1:PLACE_BITS+1]",
        "~|after_highest[NUMBER_BITS-1:PLACE_BITS]",
    ),
    ("olaf_windows.v", ":          ", "{WIDTH{1'b0}}", "earlier"),
    ("olaf_decide.v", "else if (", "halted", "halted && !stale"),
    ("olaf_command.v", "assign applied = acts && !(discards && may_depart) && ", "!learning", "1'b1"),
    (
        *("olaf_command.v", "get_newest <= newest & "),
        *("{(`OLAF_OLAF_WEIGHTS_VERSION_WIDTH + 1){newest[`OLAF_OLAF_WEIGHTS_VERSION_WIDTH]}}", "{17{1'b1}}"),
    ),
)
"""Of a window's edges and of what an index learns, in the hands of commands: found in one seed.

A jump by exactly the window's width that forgets the highest number, a longer one that keeps the window, a
halted index that counts stale updates, a command that acts while a version is learnt, and a version that GET
shows although it is forgotten.
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


def test_the_choice_repeats_by_seed_over_all_files() -> None:
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


def test_defects_at_the_edges_fall_with_the_first_seed() -> None:
    sources = schema.mutable(verilog.sources(score.GEOMETRIES[0]))
    mutants = []
    for file, ahead, before, after in EDGES:
        assert sources[file].count(ahead + before) == 1
        at = sources[file].index(ahead + before) + len(ahead)
        line = sources[file].count("\n", 0, at) + 1
        mutants.append(Mutant(file, line, "edge", ahead, at, at + len(before), before, after))
    found = score.run(mutants, seeds=1, geometries=score.GEOMETRIES[:1])
    assert [verdict.mutant.name for verdict in found.survivors] == []
