"""Look at a deployment, where a daemon keeps it and where none does."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Address
from typing import Any, Protocol

from olafctl.control.deploy import recorded_testbed
from olafctl.control.members import current_members, stored_revision
from olafctl.control.pipeline import REFUSALS, VNP4_1, WORKERS
from olafctl.control.status import is_healthy, read_status
from olafctl.control.store import Store
from olafctl.daemon.api.calls import Owned
from olafctl.membership.interface import HERE
from olafctl.targets.interface import device_name
from olafctl.testbed.graph.tree import Counts
from olafctl.testbed.model import Testbed
from olafswitch.errors import OlafError

_NO_DAEMON = "no daemon keeps it; its membership is on this machine"


@dataclass(frozen=True)
class Look:
    """A deployment at one instant; a figure that could not be read is empty."""

    testbed: Testbed
    """The testbed with the present clusters and members."""
    ready: bool
    problem: str
    keeper: str
    """The keeper of the deployment, in words."""
    revision: int
    at: float = field(default_factory=time.monotonic)
    """The time in seconds at which the counters were read."""
    queues: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """The registers by engine."""
    ports: Counts = field(default_factory=dict)
    refused: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """The refused frames by engine and reason."""
    frames: Mapping[str, int] = field(default_factory=dict)
    """The frames of each member, by its address."""
    ages: Mapping[str, int] = field(default_factory=dict)
    """The ages in ns, by cluster."""
    staleness: Mapping[str, Any] = field(default_factory=dict)
    """The Staleness messages, by cluster."""
    players: Mapping[str, Any] = field(default_factory=dict)
    """The Player messages, by worker."""
    messages: Mapping[str, int] = field(default_factory=dict)
    """The control messages, by outcome."""
    carriers: Mapping[str, bool] = field(default_factory=dict)
    """Whether the cable of a front port is up, by the port's number."""
    drift: Sequence[str] = ()
    """The differences between the devices and the wanted state."""
    repaired: Sequence[tuple[float, str]] = ()
    """The latest repairs, with the time in s since the epoch."""


class Watched(Protocol):
    """A deployment that can be looked at."""

    def look(self) -> Look:
        """Return a look at the deployment. Raises OlafError."""


class OwnedDeployment:
    """A deployment of this process's daemon."""

    def __init__(self, owned: Owned) -> None:
        self._owned = owned

    def look(self) -> Look:
        owned, controller = self._owned, self._owned.controller
        known = controller.status(summary=True)
        clusters = controller.look(lambda membership: tuple(membership.snapshot()))
        read = self._read_counters() if known.term else {}
        role = "leads" if known.term else f"follows {known.leader or 'no one at present'}"
        place = "on this machine" if controller.place == HERE else f"in {controller.place}"
        return Look(
            replace(controller.testbed, clusters=clusters),
            known.ready and bool(read or not known.term),
            known.problem or ("" if read or not known.term else "its devices do not answer"),
            f"this daemon {role}, term {known.term}; its membership is {place}",
            known.revision,
            **read,
            ages=owned.ages.recent_reports(),
            staleness=owned.staleness.recent_reports(),
            players=owned.players.recent_reports(),
            messages=dict(owned.messages),
            repaired=tuple(controller.southbound.repaired),
        )

    def _read_counters(self) -> dict[str, Any]:
        """Return the devices' counts: all, or nothing once a device is gone."""
        southbound = self._owned.controller.southbound
        with suppress(OlafError):
            refused = southbound.frames_refused()
            return {
                "queues": southbound.queue_registers(),
                "ports": southbound.port_counters(),
                "carriers": {str(number): up for number, up in southbound.read_carriers().items()},
                "refused": {
                    engine: {reason.name.lower(): count for reason, count in each.items()}
                    for engine, each in refused.items()
                },
                "frames": {str(IPv4Address(ip)): count for ip, count in southbound.frames_seen().items()},
            }
        return {}


class Unkept:
    """A deployment of this machine that no daemon keeps, as ``olafctl status`` finds it."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def look(self) -> Look:
        testbed, report = (
            current_members(recorded_testbed(self._store), self._store),
            read_status(self._store),
        )
        ended = "; ".join([*report["died"], *report["stopped"]]) or "it does not run"
        problem = "" if report["running"] else ended
        ready, known = is_healthy(report), stored_revision(self._store)
        if not report["running"]:
            return Look(testbed, ready, problem, _NO_DAEMON, known)
        refused, frames = {}, Counter[str]()
        for engine in testbed.engines:
            tables = report["devices"][device_name(testbed, engine.name, VNP4_1)]["tables"]
            refused[engine.name] = _packets_by_key(tables, REFUSALS)
            frames.update(_packets_by_key(tables, WORKERS))
        return Look(
            testbed,
            ready,
            problem,
            _NO_DAEMON,
            known,
            queues={engine: queue["registers"] for engine, queue in report["queues"].items()},
            ports={
                each[number]: each["counters"]
                for number, counted in (("number", report["ports"]), ("port", report["links"]))
                for each in counted
            },
            refused=refused,
            frames=frames,
            carriers={str(port["number"]): port["carrier"] for port in report["ports"]},
            drift=report["drift"],
        )


def _packets_by_key(tables: Mapping[str, Any], table: str) -> dict[str, int]:
    """Return packets by the value of the entry's key, in the form of ``olafctl status``."""
    entries = tables.get(table, {"entries": ()})["entries"]
    return {entry["key"].rpartition(" ")[2]: entry["packets"] or 0 for entry in entries}
