"""``olafctl bench train``: the paper's figures about learning."""

from pathlib import Path

import click

from olafctl.cli.output import json_option, log_progress, print_json
from olafctl.errors import importing

_SEEDS = {
    "2": 5,
    "2-equal": 5,
    "2-rates": 5,
    "3": 5,
    "7": 5,
    "7-control": 1,
    "8": 10,
    "8-control": 5,
    "8-settings": 3,
    "script": 5,
}
_UPDATES = {"8": 150, "8-control": 150, "8-settings": 150, "script": 72}


@click.command()
@click.option(
    "--figure",
    type=click.Choice(list(_SEEDS)),
    required=True,
    help="Of the paper OLAF; 2, 7 and 8 with other settings; or a script alone and attached.",
)
@click.option(
    "--seeds", type=click.IntRange(1), help="Of each curve.  [default: 5; 8: 10; 7-control: 1; 8-settings: 3]"
)
@click.option(
    "--updates",
    type=click.IntRange(1),
    help="Of each worker; of a script, iterations.  [default: 200; 8: 150; script: 72]",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("figures"),
    show_default=True,
    help="Folder for NAME.csv, NAME.json, NAME.png and, in runs/, every run.",
)
@json_option("Print the summary as JSON.")
def command(figure: str, seeds: int | None, updates: int | None, out: Path, as_json: bool) -> None:
    """Train LunarLander-v3 as a figure of the paper does.

    Through the twin, in virtual time: each run repeats exactly with its seed. A run that the folder already
    holds with the same settings is taken from there, so an interrupted figure continues. The statements at
    the end say whether what the paper shows holds here. Needs the SDK (pip install ./sdk) and the extra
    [train].
    """
    with importing("training", "pip install ./sdk './lab[train]'"):
        from olaflab.training.figures import congestion, learning, rates, report, script, speedup
    makers = {
        "2": learning.figure2,
        "2-equal": rates.equal,
        "2-rates": rates.grid,
        "3": learning.figure3,
        "7": speedup.figure7,
        "7-control": speedup.control,
        "8": congestion.figure8,
        "8-control": congestion.control,
        "8-settings": congestion.settings,
        "script": script.figure,
    }
    found = makers[figure](updates or _UPDATES.get(figure, 200), seeds or _SEEDS[figure], out, log_progress)
    files = report.write(found, out)
    if as_json:
        print_json(report.as_json(found))
        return
    report.show(found)
    click.echo(f"\n{', '.join(str(file) for file in files)}")
