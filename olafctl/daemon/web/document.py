"""The page's data of one deployment, as JSON: a look, and the changes since the look before it."""

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from olafctl.control.show import describe_unplugged
from olafctl.daemon.operate.metrics import send_probability
from olafctl.daemon.web.look import Look
from olafctl.membership.model import Cluster, Member
from olafctl.membership.objective import ObjectiveKind, parse_objective
from olafctl.queue.registers import is_staging
from olafctl.testbed.graph.svg import draw_svg
from olafctl.testbed.graph.tree import count_rates, make_tree
from olafswitch.errors import BadInput

_DROPS = ("replaced_", "dropped_")


class Heard:
    """The times at which the frames of each member were last seen to grow."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, float | None]] = {}

    def note_look(self, look: Look) -> None:
        """Note which members were heard since the last look."""
        for address, frames in look.frames.items():
            before, since = self._seen.get(address, (frames, None))
            self._seen[address] = frames, since if frames == before else look.at

    def seconds_since_heard(self, address: str, now: float) -> float | None:
        """Return the seconds since an address was heard; None: never while this looked."""
        _, since = self._seen.get(address, (0, None))
        return None if since is None else round(now - since, 1)


def describe_deployment(look: Look, before: Look | None, heard: Heard) -> dict[str, Any]:
    """Describe one deployment. Ages are in s; rates are a second's mean since ``before``."""
    testbed = look.testbed
    seconds = look.at - before.at if before is not None and look.at > before.at else 0.0
    earlier = before if before is not None and seconds else look
    flows = (
        count_rates(earlier.ports, look.ports, seconds)
        if seconds and same_counters(earlier.ports, look.ports)
        else {}
    )
    occupancy = {engine: queue["occupancy"] for engine, queue in look.queues.items() if "occupancy" in queue}
    drawn = make_tree(testbed, flows, occupancy, look.carriers)
    # A worker sends as often as the fullest queue on its path allows.
    probability = min(
        map(send_probability, (each for each in look.queues.values() if "slots" in each)), default=None
    )
    return {
        "name": testbed.name,
        "target": testbed.target,
        "ready": look.ready,
        "problem": look.problem,
        "keeper": look.keeper,
        "revision": look.revision,
        "drawing": draw_svg(f"{testbed.name} on {testbed.target}", drawn, style=False),
        "engines": {
            engine: _describe_engine(registers, earlier.queues.get(engine, registers), seconds)
            for engine, registers in look.queues.items()
        },
        "clusters": [_describe_cluster(each, look, heard, probability) for each in testbed.clusters],
        "refused": [
            {"engine": engine, "reason": reason, "frames": count,
             "rate": _rate_of(count - earlier.refused.get(engine, {}).get(reason, count), seconds)}
            for engine, reasons in look.refused.items() for reason, count in reasons.items() if count
        ],
        "messages": {name: count for name, count in sorted(look.messages.items()) if count},
        "unplugged": [*describe_unplugged(testbed.ports, look.carriers)],
        "drift": [*look.drift],
        "repair": f"olafctl deploy {testbed.name}",
        "repaired": [[time.strftime("%H:%M:%S", time.localtime(at)), line] for at, line in look.repaired],
    }  # fmt: skip


def same_counters(before: Mapping[int, Any], after: Mapping[int, Any]) -> bool:
    """Return whether the same ports were counted, by counters that have not begun again."""
    return before.keys() == after.keys() and all(
        value >= before[port].get(name, 0)
        for port, counted in after.items()
        for name, value in counted.items()
    )


def _describe_engine(
    registers: Mapping[str, int], before: Mapping[str, int], seconds: float
) -> dict[str, Any]:
    def rate(name: str) -> float | None:
        return _rate_of(registers.get(name, 0) - before.get(name, 0), seconds)

    return {
        "registers": {name: value for name, value in registers.items() if not is_staging(name)},
        "send_probability": send_probability(registers) if "slots" in registers else None,
        "rates": {name: rate(name) for name in ("in_updates", "out_updates", "merged")},
        "drops": [
            {"cause": name, "updates": count, "rate": rate(name)}
            for name, count in registers.items()
            if name.startswith(_DROPS) and count
        ],
    }


def _describe_cluster(
    cluster: Cluster, look: Look, heard: Heard, probability: float | None
) -> dict[str, Any]:
    age, staleness = look.ages.get(cluster.name), look.staleness.get(cluster.name)
    bound = _bound_of(cluster.objective)
    return {
        "name": cluster.name,
        "mode": look.testbed.mode_of(cluster).value,
        "threshold": cluster.h if look.testbed.mode_of(cluster).sums else None,
        "halted": cluster.halted,
        "age": None if age is None else age / 1e9,
        "objective": cluster.objective,
        "send_probability": probability,
        "bound": bound,
        "beyond": age is not None and bound is not None and age / 1e9 > bound,
        "lag": _describe_lag(staleness),
        "members": [_describe_member(member, look, heard) for member in cluster.workers],
        "players": [
            {"name": worker, "version": each.version, "lag": each.lag, "slow": each.slow, "dead": each.dead}
            for worker, each in look.players.items()
            if each.cluster == cluster.name
        ],
    }


def _describe_member(member: Member, look: Look, heard: Heard) -> dict[str, Any]:
    address = str(member.ip)
    return {
        "name": member.name,
        "ip": address,
        "port": member.port,
        "frames": look.frames.get(address),
        "heard": heard.seconds_since_heard(address, look.at),
    }


def _bound_of(text: str) -> float | None:
    """Return the age in s that an objective allows its own cluster; None for other objectives."""
    with suppress(BadInput):
        parsed = parse_objective(text)
        if parsed.kind in (ObjectiveKind.AVERAGE, ObjectiveKind.PEAK):
            return float(parsed.bound) / 1e9
    return None


def _describe_lag(staleness: Any) -> dict[str, float] | None:
    """Return the versions between an update's weights and those it meets: the mean and the most."""
    if staleness is None or not staleness.updates:
        return None
    return {"mean": staleness.total / staleness.updates, "most": staleness.largest}


def _rate_of(grown: int, seconds: float) -> float | None:
    """Return the rate of a second; None where it is not known, or the counter began again."""
    return round(grown / seconds, 1) if seconds and grown >= 0 else None
