"""``olafctl bench iswitch``: iSwitch's rounds over lossy links, and what its evaluation needs of machines."""

import json
from dataclasses import asdict
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from olafctl.cli.output import json_option, log_progress, print_json, table
from olafctl.errors import MissingTool, OlafError, Problem, importing

if TYPE_CHECKING:
    from olaflab.model.agreement.iterations import Compared
    from olaflab.queue.loss import Overhead

WORKERS = 4
LOSSES = (0.0, 0.001, 0.01, 0.05)
SIZES = (40_980, 161_308)
"""Bytes of PPO's gradient, and of DDPG's."""
_ROUNDS, _REPEATS = 10, 5
"""Of --wire."""
RACKS = ((4,), (3, 1), (3, 3), (3, 3, 3, 3))


@click.command()
@click.option("--rounds", default=10_000, show_default=True, help="Rounds at each loss; 0 leaves them out.")
@click.option("--segments", default=2, show_default=True, help="Segments of each of those rounds.")
@click.option("--seed", default=1, show_default=True, help="Which frames are lost.")
@click.option(
    "--hosts",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Measure what this machine's workers cost instead, and keep it for `olafctl reproduce iswitch`.",
)
@click.option(
    "--trainings",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Train synchronously and asynchronously instead, an hour of one core, and keep it likewise.",
)
@click.option("--seeds", type=click.IntRange(2), default=4, show_default=True,
              help="Of --trainings on MuJoCo; three times as many of the others.")  # fmt: skip
@click.option(
    "--wire",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Measure a parameter server, gloo's ring and iSwitch's rounds instead, side by side, of hosts in "
    "namespaces through an engine, as root, and keep it likewise.",
)
@click.option("--target", "targets", type=click.Choice(("twin", "software")), multiple=True,
              default=("twin", "software"), show_default=True, help="Engines of --wire.")  # fmt: skip
@json_option("Print the measurements as JSON; times in ns.")
def command(
    rounds: int,
    segments: int,
    seed: int,
    hosts: Path | None,
    trainings: Path | None,
    seeds: int,
    wire: Path | None,
    targets: tuple[str, ...],
    as_json: bool,
) -> None:
    """Run iSwitch's rounds against their model and over lossy links.

    The queue is the real Verilog, Verilated; links of 10 Gb/s and 500 ns are models in virtual time. One
    round of a gradient is compared with the event-level model, in which `olafctl reproduce iswitch` measures.
    Exit code 1 when the two differ, a result is not the exact sum of one contribution of each worker, or a
    round does not end. An interrupted --trainings goes on where it was. It and --wire need
    pip install ./sdk './lab[train]'.

    \b
      olafctl bench iswitch
      olafctl bench iswitch --hosts docs/reproduction/iswitch-hosts.json
    """
    measured = (
        (hosts, _measured_hosts),
        (trainings, partial(_trained, seeds)),
        (wire, partial(_wired, targets)),
    )
    if any(path is not None for path, _ in measured):
        for path, measure in measured:
            if path is not None:
                _keep(path, measure(), as_json)
        return
    from olafctl.queue.verilate import build_queue
    from olaflab.model.agreement.iterations import compare
    from olaflab.queue import aggregation, loss

    library = build_queue(aggregation.GEOMETRY, log_progress)
    compared = []
    for racks in RACKS:
        log_progress(f"{sum(racks)} workers in {len(racks)} racks")
        compared += [compare(library, size, racks) for size in SIZES]
    lossy = {}
    if rounds:
        small = build_queue(loss.GEOMETRY, log_progress)
        for chance in LOSSES:
            log_progress(f"{rounds} rounds, {chance:.1%} of all frames lost")
            lossy[chance] = loss.run(small, WORKERS, segments, rounds, chance, seed)
    if as_json:
        print_json(
            {
                "agreement": [asdict(one) for one in compared],
                "loss": [{"chance": chance, **asdict(one)} for chance, one in lossy.items()],
            }
        )
    else:
        _print(compared, lossy)
    if any(one.modelled != one.verilated for one in compared):
        raise OlafError(Problem("the event-level model and the Verilated queue differ"))


def _measured_hosts() -> dict[str, Any]:
    with importing("the measurement of hosts"):
        from olaflab.paper.iswitch import hosts
    return hosts.measure(2000, 5, log_progress)


def _trained(seeds: int) -> dict[str, Any]:
    from olaflab.paper.iswitch import learning
    from olaflab.paper.iswitch.synchronous import fit

    if missing := [name for name in ("gymnasium", "mujoco") if find_spec(name) is None]:
        what = f"the trainings need {missing[0]}"
        raise MissingTool(Problem(what, remedy="pip install './lab[train]'"))
    log_progress("costs of software, fitted to the paper's baselines")
    return learning.measure(fit()[0], seeds, log_progress)


def _wired(targets: tuple[str, ...]) -> dict[str, Any]:
    if missing := [name for name in ("olaf", "torch") if find_spec(name) is None]:
        raise MissingTool(Problem(f"--wire needs {missing[0]}", remedy="pip install ./sdk './lab[train]'"))
    from olaflab.paper.iswitch import wire

    return wire.measure(targets, _ROUNDS, _REPEATS, log_progress)


def _keep(path: Path, found: dict[str, Any], as_json: bool) -> None:
    try:
        path.write_text(json.dumps(found, indent=1) + "\n")
    except OSError as error:
        raise OlafError(Problem(f"cannot be written: {error.strerror}", str(path))) from error
    if as_json:
        print_json(found)
    else:
        click.echo(f"{path} written")


def _print(compared: "list[Compared]", lossy: "dict[float, Overhead]") -> None:
    table(
        "one gradient until the last worker has the sum, µs: the Verilated queue, and the event-level model",
        ("workers", "racks", "bytes", "Verilated", "model", "differ by, ns"),
        [
            (
                one.workers,
                one.racks,
                one.size,
                f"{one.verilated / 1e3:.3f}",
                f"{one.modelled / 1e3:.3f}",
                f"{one.modelled - one.verilated:.1f}",
            )
            for one in compared
        ],
    )
    if lossy:
        table(
            f"{WORKERS} workers over links that lose frames, both ways: every result exact, no round hangs",
            (
                "loss, %",
                "rounds",
                "lost",
                "contributions",
                "of them repeated, %",
                "help",
                "passed on",
                "results re-sent",
                "resets",
                "µs a round",
                "duplicate",
                "late",
            ),
            [_loss_row(chance, one) for chance, one in lossy.items()],
        )


def _loss_row(chance: float, one: "Overhead") -> tuple[Any, ...]:
    return (
        100 * chance,
        one.rounds,
        one.lost,
        one.contributions,
        f"{100 * one.repeated / (one.contributions - one.repeated):.2f}",
        one.helps,
        one.forwarded,
        one.resent,
        one.resets,
        f"{1000 * one.milliseconds / one.rounds:.2f}",
        one.counters.get("dropped_duplicate", 0),
        one.counters.get("dropped_late", 0),
    )
