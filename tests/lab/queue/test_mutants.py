"""Small defects in the Verilog of OlafQueue: random traffic and the checks of `checks.py` find every one.

All defects are in one Verilated queue, which is built once: each changed expression becomes
``(olaf_mutation::chosen == 7 ? changed : original)``, and a number chooses before a model is made. A defect
is found when a difference shows, an assertion in the Verilog fails, or the run does not end.
"""

import ctypes
import multiprocessing
import os
import signal
from collections.abc import Sequence
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import NamedTuple

import pytest

from olafctl.queue import verilog
from olafctl.queue.verilate import build_variant
from olafctl.wire.geometry import Geometry
from olafswitch import cache
from olaftest.queue import conform
from olaftest.queue.model import QueueModel

from .checks import (
    check_keeps_the_rate,
    check_locks_during_stalls,
    check_reset_forgets_the_turn,
    check_takes_turns,
)

GEOMETRY = Geometry(indices=3, slots=3, beats=4, members=3, adder_latency=5)
"""Small, so that every corner is met soon."""
FRAMES, TRIES, SECONDS = 850, 300, 10.0
"""Effort of a seed; SECONDS of processor time end a simulation that hangs (a seed takes about one)."""
PACKAGE = """\
package olaf_mutation;
    import "DPI-C" function int olaf_mutant_chosen();
    int chosen = olaf_mutant_chosen();
endpackage
"""


class Mutant(NamedTuple):
    """A change of a file: the expression ``before`` behind ``ahead``, which is there once, to ``after``."""

    file: str
    ahead: str
    before: str
    after: str


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
"""Edges of a window, and what an index learns, in the hands of commands: found in one seed.

A jump by exactly the window's width that forgets the highest number, a longer one that keeps the window, a
halted index that counts stale updates, a command that acts while a version is learnt, and a version that GET
shows although it is forgotten.
"""


def build_mutants(mutants: Sequence[Mutant]) -> Path:
    """Build the library of a queue that holds all ``mutants``, the first as number 1."""
    files = dict(verilog.render_sources(GEOMETRY))
    for number, (file, ahead, before, after) in enumerate(mutants, start=1):
        assert files[file].count(ahead + before) == 1, f"{file}: {ahead + before!r} is not there once"
        choice = f"{ahead}(olaf_mutation::chosen == {number} ? ({after}) : ({before}))"
        files[file] = files[file].replace(ahead + before, choice)
    files[verilog.INSTANCE] = PACKAGE + files[verilog.INSTANCE]

    def write(work: Path) -> None:
        for name, text in files.items():
            (work / name).write_text(text)

    key = cache.digest([part for item in sorted(files.items()) for part in item])
    folder, _ = cache.build_once("mutants", key, write)
    choice_of = Path(__file__).with_name("mutant_choice.cpp")
    return build_variant(GEOMETRY, folder, (choice_of,), f"{len(mutants)} mutants", lambda step: None)


def judge_mutant(library: Path, number: int, seeds: int) -> None:
    """Run every check on one mutant; raises, or ends this process, where one finds it."""
    with Path(os.devnull).open("w") as nowhere:  # a failed assertion prints a line in every cycle
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    for seed in range(seeds):
        if number:  # the queue itself hangs nowhere, however slow the machine
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
        ctypes.CDLL(str(library)).olaf_mutant_choose(number)
        with QueueModel(library) as model:
            conform.run_seed(model, GEOMETRY, seed, FRAMES)
            model.reset()
            model.disturb(seed)
            check_takes_turns(model, GEOMETRY.slots)
            check_keeps_the_rate(model, GEOMETRY.slots)
            check_reset_forgets_the_turn(model)
            model.reset()
            check_locks_during_stalls(model, GEOMETRY, seed, TRIES)


def find_survivors(mutants: Sequence[Mutant], seeds: int) -> list[Mutant]:
    """Return the mutants that ``seeds`` seeds do not find; the queue without a mutant must pass."""
    library = build_mutants(mutants)

    def found(number: int) -> bool:
        process = multiprocessing.get_context("fork").Process(
            target=judge_mutant, args=(library, number, seeds)
        )
        process.start()
        process.join()
        return process.exitcode != 0

    with ThreadPool(2) as pool:
        correct, *kills = pool.map(found, range(len(mutants) + 1), chunksize=1)
    assert not correct, "the queue without a mutant does not pass"
    return [mutant for mutant, killed in zip(mutants, kills, strict=True) if not killed]


@pytest.mark.slow
@pytest.mark.parametrize(("mutants", "seeds"), [(ONCE_UNSEEN, 40), (AT_EDGES, 1)])
def test_every_defect_is_found(mutants: Sequence[Mutant], seeds: int) -> None:
    assert find_survivors(mutants, seeds) == []
