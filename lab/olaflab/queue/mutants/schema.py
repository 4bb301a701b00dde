"""All mutants in one Verilated queue: a number, set before a queue is made, selects one of them.

Building the queue takes far longer than finding that a mutant is wrong, so it is built once for all of
them: each changed expression becomes ``(olaf_mutation::chosen == 7 ? changed : original)``. Mutant 0 is
the queue as it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from olafctl.queue import verilog
from olafctl.queue.verilate import build_variant
from olafctl.wire.geometry import Geometry
from olafswitch import cache

_CHOICE = Path(__file__).with_name("mutant_choice.cpp")
_PACKAGE = """\
package olaf_mutation;
    import "DPI-C" function int olaf_mutant_chosen();
    int chosen = olaf_mutant_chosen();
endpackage
"""


@dataclass(frozen=True)
class Mutant:
    """One change of a file: the expression ``before`` behind ``ahead``, which is there once, to ``after``."""

    file: str
    ahead: str
    before: str
    after: str


def with_mutants(sources: Mapping[str, str], mutants: Sequence[Mutant]) -> dict[str, str]:
    """The files of an instance with every mutant in them, the first as number 1.

    Raises ValueError where what a mutant changes is not there once.
    """
    changed = dict(sources)
    for number, mutant in enumerate(mutants, start=1):
        text, place = changed[mutant.file], mutant.ahead + mutant.before
        if text.count(place) != 1:
            raise ValueError(f"{mutant.file}: {place!r} is there {text.count(place)} times")
        choice = f"(olaf_mutation::chosen == {number} ? ({mutant.after}) : ({mutant.before}))"
        changed[mutant.file] = text.replace(place, mutant.ahead + choice)
    changed[verilog.INSTANCE] = _PACKAGE + changed[verilog.INSTANCE]
    return changed


def build(geometry: Geometry, mutants: Sequence[Mutant]) -> Path:
    """The shared library of a queue that holds all ``mutants``; built once for the same ones."""
    files = with_mutants(verilog.sources(geometry), mutants)

    def write(work: Path) -> None:
        for name, text in files.items():
            (work / name).write_text(text)

    key = cache.digest([part for item in sorted(files.items()) for part in item])
    folder, _ = cache.build_once("mutants", key, write)
    return build_variant(geometry, folder, (_CHOICE,), f"{len(mutants)} mutants", lambda step: None)
