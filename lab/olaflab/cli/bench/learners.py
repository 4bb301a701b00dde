"""``olafctl bench learners``: learners behind a slow output, in number fixed or following the network."""

from pathlib import Path

import click

from olafctl.cli.numbers import finite
from olafctl.cli.output import json_option, log_progress, print_json
from olafctl.errors import BadInput, Problem, importing

_MOST = 63


@click.command()
@click.option("--learners", default="4,8,16", show_default=True, help="Side by side, with commas between.")
@click.option("--followed", type=click.IntRange(1, _MOST), default=8, show_default=True,
              help="So many follow the network, and are compared with as many that do not.")  # fmt: skip
@click.option("--seconds", type=click.FloatRange(0.1), callback=finite, default=6.0, show_default=True,
              help="Of each training, in virtual time.")  # fmt: skip
@click.option("--seeds", type=click.IntRange(1), default=5, show_default=True, help="Of each setting.")
@click.option("--more", type=click.IntRange(1), default=10, show_default=True,
              help="Seeds of the comparison of fixed and following.")  # fmt: skip
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("figures"),
              show_default=True, help="Folder for learners.csv, .json, .png, .svg and, in runs/, every run.",
              )  # fmt: skip
@json_option("Print the summary as JSON.")
def command(
    learners: str, followed: int, seconds: float, seeds: int, more: int, out: Path, as_json: bool
) -> None:
    """Let learners share an output that carries less than they send.

    100, 50 or 25 % of it, through the twin and in virtual time, behind FIFO and Olaf's queue, with Stellaris'
    rule at the server, in the engine, or none; and with as many learners as the network carries. A run that
    the folder already holds with the same settings is taken from there, so what was interrupted goes on.
    Needs the SDK: pip install ./sdk.
    """
    try:
        numbers = [int(number) for number in learners.split(",")]
    except ValueError:
        numbers = [0]
    if not all(1 <= number <= _MOST for number in numbers):
        raise BadInput(Problem(f"{learners} are no numbers of learners", "--learners", f"give 1 to {_MOST}"))
    with importing("the bench", "pip install ./sdk './lab[train]'"):
        from olaflab.training.figures import report
        from olaflab.training.staleness import outputs
    found = outputs.figure(numbers, followed, seconds, seeds, more, out, log_progress)
    files = report.write(found, out)
    if as_json:
        print_json(report.as_json(found))
        return
    report.show(found)
    click.echo(f"\n{', '.join(str(file) for file in files)}")
