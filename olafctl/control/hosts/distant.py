"""Hosts of a deployment over machines: each is on its engine's machine, made by the agent there."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict

from olafctl.control.hosts.network import all_hosts, plan_network
from olafctl.machines import everywhere
from olafctl.machines.client import MachineAgent, call_each
from olafctl.targets.interface import Progress
from olafctl.testbed.model import Testbed
from olafswitch.errors import BadInput, Problem


def check_hosts(testbed: Testbed) -> None:
    """Raise BadInput where machines can have no hosts."""
    found = call_each(everywhere.agents_of(testbed), lambda agent: agent.call("Describe")["no_hosts"])
    if problems := [
        Problem(reason, f"{name}: hosts", "run its agent as root, or deploy with --no-hosts")
        for name, reason in found.items()
        if reason
    ]:
        raise BadInput(*problems)


def bring_hosts(testbed: Testbed, wanted: bool, progress: Progress, *, dry: bool = False) -> tuple[str, ...]:
    """Make the hosts, or remove them; return what changed, or (``dry``) would change, as lines of a diff.
    Raises OlafError."""
    given = asdict(plan_network(testbed)) if wanted else None
    found = call_each(
        everywhere.agents_of(testbed), lambda agent: agent.call("Hosts", network=given, dry=dry)
    )
    made = {name for part in found.values() for name in part["names"]}
    if wanted and (left_out := [host.name for host in all_hosts(testbed) if host.name not in made]):
        progress(f"no namespace for {', '.join(left_out)}: behind no veth or TAP of ours")
    return tuple(line for part in found.values() for line in part["lines"])


@contextmanager
def pause_during(testbed: Testbed) -> Iterator[None]:
    """Disconnect the hosts of every machine as :func:`olafctl.control.hosts.deployed.pause_during` does."""
    agents = everywhere.agents_of(testbed)
    try:
        call_each(agents, lambda agent: agent.call("Pause", paused=True))
        yield
    finally:
        call_each(agents, lambda agent: agent.call("Pause", paused=False))


def machine_of(testbed: Testbed, host: str) -> MachineAgent:
    """Return the agent of the machine of ``host``. Raises BadInput when there is no such host."""
    agents = everywhere.agents_of(testbed)
    found = call_each(agents, lambda agent: agent.call("Find") or {})
    known = {one["name"]: name for name, part in found.items() for one in part.get("hosts", ())}
    if host not in known:
        shown = f"one of {', '.join(sorted(known)[:10])}" if known else "olafctl deploy --hosts TESTBED"
        raise BadInput(Problem(f"host {host!r} has no namespace of its own", testbed.name, shown))
    return agents[known[host]]
