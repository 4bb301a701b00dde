"""The ``engine`` section: the queue's geometry and settings."""

from olafctl.testbed import limits
from olafctl.testbed.model import Engine, Mode
from olafctl.testbed.quantities import choice, duration, power_of_two, rate, threshold, whole
from olafctl.testbed.source import Section

_adder_latency = whole(limits.MIN_ADDER_LATENCY, limits.MAX_ADDER_LATENCY)


def read(section: Section) -> Engine:
    """The engine; problems go to the section's report."""
    engine = Engine(
        clusters=section.value("clusters", power_of_two(limits.CLUSTERS), 16),
        slots=section.value("slots", whole(1, limits.SLOTS), 8),
        beats=section.value("beats", whole(limits.MIN_BEATS, limits.MAX_BEATS), 24),
        adder_latency=section.value("adder_latency", _adder_latency, 4),
        mode=section.value("mode", choice(Mode), Mode.OLAF),
        reward_threshold=section.value("reward_threshold", threshold, None),
        output_rate=section.value("output_rate", rate(limits.MIN_RATE, limits.MAX_RATE), None),
        active_window=section.value(
            "active_window", duration(limits.MIN_WINDOW, limits.MAX_WINDOW), 10_000_000
        ),
    )
    section.close()
    return engine
