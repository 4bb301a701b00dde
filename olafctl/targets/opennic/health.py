"""A watch over the card's answers and its links, on a thread; every change is logged once."""

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from olafctl.targets.opennic.bar import ALL_ONES, Bar, MappedBar
from olafctl.targets.opennic.registers import BOX_BASE, IDENTITY
from olafctl.targets.opennic.shell import CardLink, Shell
from olafswitch.errors import Problem
from olafswitch.p4runtime.dataplane import DeviceRefused

_log = logging.getLogger(__name__)
PERIOD = 0.25
"""The seconds between two looks at the card."""
CMACS = (0x8000, 0xC000)
"""The place of each CMAC's registers in BAR2."""
RX_STATUS = 0x0204
RX_OK, RX_ALIGNED = 1, 2
RS_FEC = 0x107C
_LINK_REMEDY = (
    "check cable and module; the other end must have 100G {} too, for there is no autonegotiation; "
    "with a cable that loops back to the same port RX aligns only once TX is enabled"
)


@dataclass(frozen=True)
class CmacLink:
    """The receive side of one CMAC."""

    port: int
    up: bool
    aligned: bool
    rs_fec: bool

    def problem(self) -> Problem | None:
        """Return why the link is down, and the remedy; None when it is up."""
        if self.up and self.aligned:
            return None
        fec = "with RS-FEC" if self.rs_fec else "without RS-FEC"
        cause = "receives a fault" if self.aligned else "RX is not aligned"
        return Problem(f"no link: {cause} ({fec})", f"CMAC {self.port}", _LINK_REMEDY.format(fec))


class Health:
    """A watch over the card behind ``bar`` until closed."""

    def __init__(self, shell: Shell, bar: Bar, ports: int, period: float = PERIOD) -> None:
        self._box, self._bar, self._period = shell.box, bar, period
        self._look_at_links = shell.watch_links(bar, ports)
        self._reported: dict[str, Problem | None] = {}
        self._lost: Problem | None = None
        self._links: Sequence[CardLink] = ()
        self._stop = threading.Event()
        self._look()
        self._thread = threading.Thread(target=self._watch, name="card health", daemon=True)
        self._thread.start()

    @property
    def problems(self) -> Sequence[Problem]:
        """The present problems."""
        if self._lost is not None:
            return [self._lost]
        return [problem for link in self._links if (problem := link.problem())]

    @property
    def links(self) -> Sequence[CardLink]:
        """The links as last seen."""
        return self._links

    @property
    def answering(self) -> bool:
        """Whether the card answers now, and always has since it was opened."""
        if self._lost is None and self._bar.read(self._box) != IDENTITY:
            self._lose()
        return self._lost is None

    def answers(self) -> None:
        """Look now. Raises DeviceRefused when the card does not answer, or has not always since its opening.

        A card that came back has lost its tables: the agent has to be started again.
        """
        if not self.answering:
            raise DeviceRefused("UNAVAILABLE", str(self._lost))

    def close(self) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(self._period):
            self._look()

    def _look(self) -> None:
        if self._lost is not None:
            return
        if self._bar.read(self._box) != IDENTITY:
            self._lose()
            return
        self._links = self._look_at_links()
        for link in self._links:
            self._report(f"MAC {link.port}", link.problem())

    def _lose(self) -> None:
        seen = self._bar.read(self._box)
        if seen == ALL_ONES:
            self._lost = self._bar.why_silent()
        else:
            remedy = "the card was programmed with something else: start the agent again"
            self._lost = Problem(f"the box's id reads {seen:#010x}, not {IDENTITY:#010x}", "the card", remedy)
        self._report("card", self._lost)

    def _report(self, what: str, problem: Problem | None) -> None:
        if self._reported.get(what) == problem:
            return
        if problem is None:
            _log.warning("%s: link is up", what)
        else:
            _log.error("%s", problem)
        self._reported[what] = problem


def _watch_cmacs(bar: Bar, ports: int) -> Callable[[], Sequence[CmacLink]]:
    def look(port: int) -> CmacLink:
        base = CMACS[port]
        bar.read(base + RX_STATUS)  # events since the last read are latched
        status = bar.read(base + RX_STATUS)
        fec = bool(bar.read(base + RS_FEC) & 3)
        return CmacLink(port, bool(status & RX_OK), bool(status & RX_ALIGNED), fec)

    return lambda: [look(port) for port in range(min(ports, len(CMACS)))]


OPENNIC = Shell("opennic", BOX_BASE, MappedBar, _watch_cmacs)
