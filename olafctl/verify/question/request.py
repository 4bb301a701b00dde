"""What an operator asks, as the options of ``olafctl verify`` say it."""

from dataclasses import dataclass

from olafctl.errors import BadInput, Problem
from olafctl.membership.objective import Objective, whole_time
from olafctl.membership.objective import objective as read_objective
from olafctl.testbed.model import Testbed
from olafctl.verify.question import parse
from olafctl.verify.question.objective import scope
from olafctl.verify.question.system import Slope, SlotFreed, System
from olafctl.wire.geometry import SLOTS


@dataclass(frozen=True)
class Request:
    """The options, times as text with their units; None where an option was left out."""

    testbed: Testbed | None
    """Where None, ``clusters`` says what sends."""
    clusters: tuple[str, ...]
    periods: tuple[str, ...]
    objective: str
    service: str | None
    frame_bytes: int | None
    slots: int | None
    updates: int
    transmission: str
    threshold: str
    slope: str
    """``urgent`` or ``fair``."""
    ack_delay: str
    slot_freed: str
    tick: str

    def read(self) -> tuple[System, Objective]:
        """The system and the objective asked for. Raises BadInput, also where the objective names none."""
        if bool(self.testbed) == bool(self.clusters):
            raise BadInput(Problem("name a testbed or give --clusters", remedy="one of the two"))
        system = self._system()
        objective = read_objective(self.objective)
        scope(system, objective)
        return system, objective

    def _system(self) -> System:
        tick = whole_time(self.tick, "--tick")
        given = None if self.service is None else whole_time(self.service, "--service")
        slots = self.slots
        if self.testbed:
            clusters = parse.from_testbed(self.testbed, self.periods, tick)
            slots = self.testbed.root.slots if slots is None else slots
            service = parse.service_of(self.testbed, self.frame_bytes) if given is None else given
        else:
            clusters = parse.clusters(self.clusters, tick)
            if given is None:
                raise BadInput(Problem("is missing", "--service", "p/C, as in --service 2ms"))
            service = given
        transmission, patience = parse.transmission(self.transmission)
        return System(
            clusters=clusters,
            service=service,
            slots=SLOTS.default if slots is None else slots,
            updates=self.updates,
            transmission=transmission,
            threshold=whole_time(self.threshold, "--threshold"),
            slope=Slope.URGENT if self.slope == "urgent" else Slope.FAIR,
            ack_delay=whole_time(self.ack_delay, "--ack-delay"),
            patience=patience,
            slot_freed=SlotFreed(self.slot_freed),
            tick=tick,
        )
