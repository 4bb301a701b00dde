"""iSwitch's evaluation as experiments of ``olafctl reproduce``."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from olaflab.model import iterations
from olaflab.paper.experiment import Data, Experiment, Progress, Section
from olaflab.paper.iswitch import asynchronous, curves, hosts, learning, scale, synchronous, wire

_CODE = (*sorted(Path(__file__).parent.glob("*.py")), Path(iterations.__file__))


def experiments(kept: Path) -> Sequence[Experiment]:
    """All of them; ``kept`` is where measured hosts and trainings are."""
    measured, learnt, wired = kept / hosts.FILE, kept / learning.FILE, kept / wire.FILE

    def one(
        name: str,
        title: str,
        measure: Callable[[Path, int, Progress], Data],
        section: Callable[[Data], Section],
        draw: Callable[[Data, Path], None] | None,
        *reads: Path,
    ) -> Experiment:
        files = [each for each in reads or (measured,) if each.is_file()]
        return Experiment(f"iswitch-{name}", title, (*_CODE, *files), partial(measure, kept), section, draw)

    return (
        one(
            "synchronous",
            "iSwitch tables 3 and 4, figures 4 and 12: synchronous training",
            synchronous.measure,
            synchronous.section,
            synchronous.draw,
            measured,
            wired,
        ),
        one(
            "asynchronous",
            "iSwitch tables 3 and 5: asynchronous training",
            asynchronous.measure,
            asynchronous.section,
            None,
        ),
        one("scale", "iSwitch figure 15: more workers", scale.measure, scale.section, scale.draw),
        one(
            "learning",
            "iSwitch figures 13 and 14: rewards over time",
            curves.measure,
            curves.section,
            curves.draw,
            learnt,
        ),
    )
