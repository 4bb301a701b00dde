"""Reads an operator's question from the options of ``olafctl verify``."""

from olafctl.membership.objective import Objective, whole_time
from olafctl.membership.objective import objective as read_objective
from olafctl.testbed.model import Testbed
from olafctl.verify.question import parse
from olafctl.verify.question.objective import scope
from olafctl.verify.question.system import Slope, SlotFreed, System
from olafctl.wire.geometry import SLOTS
from olafswitch.errors import BadInput, Problem


def read_question(
    testbed: Testbed | None,
    *,
    clusters: tuple[str, ...],
    periods: tuple[str, ...],
    objective: str,
    service: str | None,
    frame_bytes: int | None,
    slots: int | None,
    updates: int,
    transmission: str,
    threshold: str,
    slope: str,
    ack_delay: str,
    slot_freed: str,
    tick: str,
) -> tuple[System, Objective]:
    """The system and the objective of the options, whose times are text with their units and None where left
    out; without a ``testbed`` ``clusters`` say what sends. Raises BadInput, also where the objective names
    none."""
    if bool(testbed) == bool(clusters):
        raise BadInput(Problem("name a testbed or give --clusters", remedy="one of the two"))
    grain = whole_time(tick, "--tick")
    given = None if service is None else whole_time(service, "--service")
    if testbed:
        sending = parse.from_testbed(testbed, periods, grain)
        slots = testbed.root.slots if slots is None else slots
        given = parse.service_of(testbed, frame_bytes) if given is None else given
    else:
        sending = parse.clusters(clusters, grain)
        if given is None:
            raise BadInput(Problem("is missing", "--service", "p/C, as in --service 2ms"))
    treated, patience = parse.transmission(transmission)
    system = System(
        clusters=sending,
        service=given,
        slots=SLOTS.default if slots is None else slots,
        updates=updates,
        transmission=treated,
        threshold=whole_time(threshold, "--threshold"),
        slope=Slope.URGENT if slope == "urgent" else Slope.FAIR,
        ack_delay=whole_time(ack_delay, "--ack-delay"),
        patience=patience,
        slot_freed=SlotFreed(slot_freed),
        tick=grain,
    )
    wanted = read_objective(objective)
    scope(system, wanted)
    return system, wanted
