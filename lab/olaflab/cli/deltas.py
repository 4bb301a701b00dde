"""``olaflab deltas``: would sparse multicast weights pay for this trainer and its players?"""

from dataclasses import asdict

import click

from olafctl import quantities
from olafctl.cli import numbers
from olafswitch.console.output import json_option, print_json, table
from olafswitch.errors import BadInput, Problem, importing

_FASTEST = 10**13


@click.command()
@click.option("--parameters", type=click.FloatRange(1), required=True, help="Of the model: 8e9.")
@click.option("--players", type=click.IntRange(1), required=True, help="That install each version.")
@click.option("--rate", metavar="RATE", required=True, help="Of the trainer's link: 10Gb/s.")
@click.option("--changed", type=click.FloatRange(0, 1, min_open=True), default=0.02, show_default=True,
              help="Share of the bf16 elements that a version changes.")  # fmt: skip
@click.option("--interval", metavar="TIME", default="30s", show_default=True, help="Between two versions.")
@click.option("--mtu", type=click.IntRange(576, 65535), default=1500, show_default=True, help="Bytes.")
@click.option("--encode", type=click.FloatRange(0, min_open=True), default=1.4, show_default=True,
              help="GB of weights a second that the publisher's core encodes.")  # fmt: skip
@click.option("--decode", type=click.FloatRange(0, min_open=True), default=2.6, show_default=True,
              help="The same of a player's core.")  # fmt: skip
@json_option("Print JSON; times in s.")
def command(
    parameters: float,
    players: int,
    rate: str,
    changed: float,
    interval: str,
    mtu: int,
    encode: float,
    decode: float,
    as_json: bool,
) -> None:
    """Predict what weights as multicast deltas would save.

    Bytes that the trainer sends for a version, and seconds until all players have it, beside full copies and
    indices with values; and when to stay with NCCL. Speeds are of `olaflab bench weights --codecs`.

    \b
      olaflab deltas --parameters 8e9 --players 16 --rate 10Gb/s
    """
    with importing("the model"):
        from olaflab.weights.saving import Case, advice, compare
    speed = numbers.read("--rate", rate, quantities.rate(1, _FASTEST))
    if speed is None:
        raise BadInput(Problem("a link without a limit needs no deltas", "--rate", "give its rate"))
    seconds = numbers.read("--interval", interval, quantities.duration(1, numbers.LONGEST)) / 1e9
    case = Case(int(parameters), changed, players, speed, seconds, mtu, encode * 1e9, decode * 1e9)
    ways = compare(case)
    if as_json:
        print_json({"ways": {name: asdict(way) for name, way in ways.items()}, "advice": advice(case, ways)})
        return
    rows = [
        (name, f"{way.sent / 1e9:.4g}", f"{way.wire:.3g}", f"{way.seconds:.3g}") for name, way in ways.items()
    ]
    heads = ("way", "GB sent", "s on the link", "s until all have it")
    table(f"a version of {parameters:.3g} parameters, {changed:.1%} changed, {players} players", heads, rows)
    click.echo(f"\n{advice(case, ways)}")
