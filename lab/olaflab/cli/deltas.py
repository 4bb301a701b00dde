"""``olaflab deltas``: would sparse multicast weights pay for this trainer and its players?"""

from dataclasses import asdict

from olafctl import quantities
from olafctl.cli import numbers
from olaflab.verb import TextTable, VerbReport, option, verb
from olafswitch.errors import BadInput, Problem, importing

_FASTEST = 10**13


@verb("Print JSON; times in s.")
def command(
    parameters: float = option(..., "Parameters of the model: 8e9.", least=1),
    players: int = option(..., "Players that install each version.", least=1),
    rate: str = option(..., "Rate of the trainer's link: 10Gb/s.", metavar="RATE"),
    changed: float = option(
        0.02, "Share of the bf16 elements that a version changes.", least=0, most=1, above=True
    ),
    interval: str = option("30s", "Time between two versions.", metavar="TIME"),
    mtu: int = option(1500, "Bytes of a packet.", least=576, most=65535),
    speed: float = option(
        1.0, "How fast a core is, times that on which the codecs were measured.", least=0, above=True
    ),
) -> VerbReport:
    """Predict what weights as multicast deltas would save.

    Bytes that the trainer sends for a version, and seconds until all players have it, beside full copies,
    XOR with zstd, and indices with values; which way is the fastest, and the rate of the link below which
    deltas are, by players. Codecs are as `olaflab bench weights --codecs` measures them.

    \b
      olaflab deltas --parameters 8e9 --players 16 --rate 10Gb/s
    """
    with importing("the model"):
        from olaflab.weights.saving import Case, compare_ways, find_limits, give_advice
    link = numbers.read_quantity("--rate", rate, quantities.rate(1, _FASTEST))
    if link is None:
        raise BadInput(Problem("a link without a limit needs no deltas", "--rate", "give its rate"))
    seconds = numbers.read_quantity("--interval", interval, quantities.duration(1, numbers.LONGEST)) / 1e9
    case = Case(int(parameters), changed, players, link, seconds, mtu, speed)
    ways = compare_ways(case)
    rows = [
        (name, f"{way.sent / 1e9:.4g}", f"{way.wire:.3g}", f"{way.seconds:.3g}") for name, way in ways.items()
    ]
    heads = ("way", "GB sent", "s on the link", "s until all have it")
    title = f"a version of {parameters:.3g} parameters, {changed:.1%} changed, {players} players"
    text = give_advice(case, ways)
    limits = find_limits(case)
    document = {"ways": {name: asdict(way) for name, way in ways.items()}, "advice": text, "limits": limits}
    below = [(players, f"{limit / 1e9:.3g}" if limit else "never") for players, limit in limits.items()]
    fan_outs = TextTable("deltas are the fastest way", ("players", "below Gb/s"), below)
    return VerbReport(document, [TextTable(title, heads, rows), fan_outs, f"\n{text}"])
