"""All mutants in one Verilated queue: a number, set before a queue is made, selects one of them.

Building the queue takes far longer than finding that a mutant is wrong, so it is built once for all of
them: each changed expression becomes ``(olaf_mutation::chosen == 7 ? changed : original)``. Mutant 0 is
the queue as it is.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from olafctl.queue import verilog
from olafctl.queue.verilate import Progress, build_variant
from olafctl.wire.geometry import Geometry
from olaflab.queue.mutants.operators import Mutant
from olafswitch import cache

_CHOICE = Path(__file__).with_name("mutant_choice.cpp")
NOT_MUTATED = ("olaf_queue_checks.v", verilog.INSTANCE)
"""What checks the queue, and what only connects it."""
_PACKAGE = """\
package olaf_mutation;
    import "DPI-C" function int olaf_mutant_chosen();
    int chosen = olaf_mutant_chosen();
endpackage
"""


def mutable(sources: Mapping[str, str]) -> dict[str, str]:
    """Of the files of an instance, those that mutants may change."""
    return {name: text for name, text in sources.items() if name.endswith(".v") and name not in NOT_MUTATED}


def with_mutants(sources: Mapping[str, str], mutants: Sequence[Mutant]) -> dict[str, str]:
    """The files of an instance with every mutant in them, the first as number 1."""
    changed = dict(sources)
    numbered = sorted(enumerate(mutants, start=1), key=lambda item: (item[1].at, item[0]), reverse=True)
    spans: dict[tuple[str, int, int], str] = {}
    for number, mutant in numbered:
        span = (mutant.file, mutant.at, mutant.end)
        original = spans.get(span, f"({mutant.before})")
        spans[span] = f"(olaf_mutation::chosen == {number} ? ({mutant.after}) : {original})"
    for (file, at, end), text in spans.items():
        changed[file] = changed[file][:at] + text + changed[file][end:]
    changed[verilog.INSTANCE] = _PACKAGE + changed[verilog.INSTANCE]
    return changed


def build(geometry: Geometry, mutants: Sequence[Mutant], progress: Progress) -> Path:
    """The shared library of a queue that holds all ``mutants``; built once for the same ones."""
    files = with_mutants(verilog.sources(geometry), mutants)

    def write(work: Path) -> None:
        for name, text in files.items():
            (work / name).write_text(text)

    key = cache.digest([part for item in sorted(files.items()) for part in item])
    folder, _ = cache.build_once("mutants", key, write)
    return build_variant(geometry, folder, (str(_CHOICE),), f"{len(mutants)} mutants", progress)
