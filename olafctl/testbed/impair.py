"""``impair`` of a port: the delay, jitter and loss of the link behind it."""

from olafctl.network.netem import Impairment
from olafctl.quantities import duration, percentage
from olafctl.testbed import limits
from olafctl.testbed.source import Section

_REMEDY = "such as impair: {delay: 10 ms, jitter: 2 ms, loss: 1 %}"


def read_impairment(entry: Section) -> Impairment | None:
    """Return a port's impairment; None without one. Problems go to the section's report."""
    if not entry.has("impair"):
        return None
    section = entry.section("impair")
    span = duration(0, limits.MAX_DELAY)
    found = Impairment(
        delay=section.value("delay", span, 0),
        jitter=section.value("jitter", span, 0),
        loss=section.value("loss", percentage, 0.0),
    )
    section.close()
    if not any(section.has(field) for field in ("delay", "jitter", "loss")):
        section.report.add(entry.place("impair"), "says neither delay nor jitter nor loss", _REMEDY)
    if found.jitter > found.delay:
        what = "is more than the delay, which it makes longer or shorter"
        section.report.add(section.place("jitter"), what, "give a delay of at least as much")
    return found
