"""Small defects in the Verilog: random traffic finds them."""

import pytest

from olaflab.queue.mutants.schema import Mutant
from olaflab.queue.mutants.score import survivors

ONCE_UNSEEN = (
    Mutant("olaf_ingress.v", "torn <= (!first && ", "torn", "1'b0"),
    Mutant("olaf_bypass.v", "refuse = in_first ? ", "room < (wanted == 17'd0 ? 17'd1 : wanted)",
           "room <= (wanted == 17'd0 ? 17'd1 : wanted)"),
    Mutant("olaf_lock.v", "f_was_locked <= look ? 1'b0 : ", "f_locked || f_locks", "f_locked && f_locks"),
    Mutant("olaf_lock.v", "fetch ? f_locked || f_locks : ", "d_locked || leaves", "leaves"),
    Mutant("olaf_registers.v", "write = ", "s_axil_awvalid && s_axil_wvalid",
           "s_axil_awvalid || s_axil_wvalid"),
    Mutant("olaf_dequeue.v", "            updates_turn <= ", "1'b0", "updates_turn"),
    Mutant("olaf_fp32_add.v", "overflowed = ", "(TOWARDS > 0 && sign) || (TOWARDS < 0 && !sign)",
           "(TOWARDS > 0 && sign) && (TOWARDS < 0 && !sign)"),
)  # fmt: skip
"""Once alive under random traffic.

A hole in a frame that is forgotten, an exact fit that is refused, a lock that is forgotten while an update
stalls on its way to its decision, a write for which the address alone has come, a turn that outlives a reset,
a bound of rewards that is infinite where the exact one is not.
"""
_KNOWN = "(`OLAF_OLAF_WEIGHTS_VERSION_WIDTH + 1){newest[`OLAF_OLAF_WEIGHTS_VERSION_WIDTH]}"
AT_EDGES = (
    Mutant("olaf_windows.v", "near <= ", "~|after_highest[NUMBER_BITS-1:PLACE_BITS+1]",
           "~|after_highest[NUMBER_BITS-1:PLACE_BITS]"),
    Mutant("olaf_windows.v", ":          ", "{WIDTH{1'b0}}", "earlier"),
    Mutant("olaf_decide.v", "else if (", "halted", "halted && !stale"),
    Mutant("olaf_command.v", "assign applied = acts && !(discards && may_depart) && ", "!learning", "1'b1"),
    Mutant("olaf_command.v", "get_newest <= newest & ", f"{{{_KNOWN}}}", "{17{1'b1}}"),
)  # fmt: skip
"""Of a window's edges and of what an index learns, in the hands of commands: found in one seed.

A jump by exactly the window's width that forgets the highest number, a longer one that keeps the window, a
halted index that counts stale updates, a command that acts while a version is learnt, and a version that GET
shows although it is forgotten.
"""


@pytest.mark.slow
def test_the_defects_that_once_went_unseen_are_found() -> None:
    assert survivors(ONCE_UNSEEN, seeds=40) == []


@pytest.mark.slow
def test_defects_at_the_edges_fall_with_the_first_seed() -> None:
    assert survivors(AT_EDGES, seeds=1) == []
