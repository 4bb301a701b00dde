"""The ``engine`` section, and each entry of ``engines``: the queue's geometry and settings."""

from olafctl import quantities
from olafctl.quantities import choice, duration, power_of_two, rate, threshold, whole
from olafctl.testbed import limits
from olafctl.testbed.machines import Machines
from olafctl.testbed.model import TestbedEngine
from olafctl.testbed.source import Section
from olafctl.wire.geometry import BOUNDS, INDICES
from olafctl.wire.modes import Mode


def read_engine(section: Section, machines: Machines, name: str = "engine") -> TestbedEngine:
    """Return the engine called ``name``, on one of ``machines``; problems go to the section's report. The
    caller closes the section."""
    slots = _read_within(section, "slots")
    return TestbedEngine(
        indices=section.value("indices", power_of_two(INDICES.greatest), INDICES.default),
        slots=slots,
        beats=_read_within(section, "beats"),
        adder_latency=_read_within(section, "adder_latency"),
        mode=section.value("mode", choice(Mode), Mode.OLAF),
        reward_threshold=section.value("reward_threshold", threshold, None),
        output_rate=section.value("output_rate", rate(limits.MIN_RATE, limits.MAX_RATE), None),
        active_window=section.value(
            "active_window", duration(limits.MIN_WINDOW, limits.MAX_WINDOW), 10_000_000
        ),
        accumulate_quota=section.value("accumulate_quota", whole(1, slots), max(slots // 2, 1)),
        staleness_root=section.value("staleness_root", quantities.root, None),
        address=section.value("address", quantities.ipv4, None),
        shards=section.value("shards", whole(1, min(limits.SHARDS, slots)), 1),
        name=name,
        machine=machines.of_engine(section),
    )


def _read_within(section: Section, parameter: str) -> int:
    bounds = BOUNDS[parameter]
    return section.value(parameter, whole(bounds.least, bounds.greatest), bounds.default)
