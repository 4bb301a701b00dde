"""Machines whose links have a rate: namespaces, each with a cable to one switch."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass

from olafctl.network import interfaces, ip
from olafctl.targets.processes import end_in
from olafswitch.errors import MissingTool, OlafError, Problem

RATE = 130e6
"""Bytes a second into ARTOS' head, as its figures 4 and 6 say together."""
_PAYLOAD, _FRAME = 1448, 1514
"""Bytes of TCP in a full frame, and the frame's."""
_BURST, _QUEUE = "256kb", "20ms"
_SWITCH = "switch"


@dataclass(frozen=True)
class LinkMachine:
    """A namespace and its address."""

    namespace: str
    address: str


@contextlib.contextmanager
def make_machines(*names: str, rate: float = RATE) -> Iterator[dict[str, LinkMachine]]:
    """Make machines by name, each with a link of ``rate`` bytes of TCP a second into both directions.

    Everything is removed at the end, also processes that still run there. Raises OlafError without root's
    rights, MissingTool without iproute2.
    """
    _check_programs()
    prefix = f"artos-{os.getpid()}"
    found = {
        name: LinkMachine(f"{prefix}-{name}", f"10.77.0.{number}")
        for number, name in enumerate(names, start=1)
    }
    switch = f"{prefix}-{_SWITCH}"
    made: list[str] = []
    try:
        for namespace in (switch, *(each.namespace for each in found.values())):
            ip.run_ip(["netns", "add", namespace])
            made.append(namespace)
            ip.run_ip(["-n", namespace, "link", "set", "dev", "lo", "up"])
        ip.run_batch(["-n", switch], ["link add bridge type bridge", "link set dev bridge up"])
        for name, machine in found.items():
            _plug_machine(switch, name, machine, rate)
        yield found
    finally:
        for namespace in made:
            end_in(namespace)
            ip.run_ip(["netns", "delete", namespace])


def _plug_machine(switch: str, name: str, machine: LinkMachine, rate: float) -> None:
    ip.run_batch(
        ["-n", switch],
        [
            f"link add {name} type veth peer name eth0 netns {machine.namespace}",
            f"link set dev {name} master bridge up",
        ],
    )
    ip.run_batch(
        ["-n", machine.namespace], [f"addr add {machine.address}/24 dev eth0", "link set dev eth0 up"]
    )
    bits = f"{8 * rate * _FRAME / _PAYLOAD:.0f}bit"
    for namespace, device in ((switch, name), (machine.namespace, "eth0")):
        shape = ["root", "tbf", "rate", bits, "burst", _BURST, "latency", _QUEUE]
        ip.run_ip(["-n", namespace, "qdisc", "add", "dev", device, *shape], program="tc")


def _check_programs() -> None:
    for program in ("ip", "tc"):
        if shutil.which(program) is None:
            raise MissingTool(Problem(f"no {program}, which makes links", remedy="apt-get install iproute2"))
    if why := interfaces.why_not():
        raise OlafError(Problem(why, "links with a rate", "run it with sudo"))
