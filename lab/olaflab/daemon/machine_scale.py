"""What a deployment over many machines costs: verbs over machines that are namespaces of this one, and calls
of more agents than that, simulated by one that answers at many addresses."""

import os
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import psutil

from olafctl.agent.server import Server
from olafctl.machines import everywhere
from olafctl.machines.certificates import issue_pair
from olafctl.targets import testbeds
from olafctl.targets.processes import last_words
from olafctl.testbed.model import TestbedMachine
from olafswitch.errors import OlafError, Problem
from olafswitch.p4runtime.address import Tls
from olaftest.daemon.machines import MachineLab, lab, star_testbed, why_not

_STEPS: Mapping[str, tuple[str, ...]] = {
    "build": ("build", "{bed}"),
    "plan": ("deploy", "--dry-run", "{bed}"),
    "deploy": ("deploy", "{bed}"),
    "deploy again": ("deploy", "{bed}"),
    "status": ("status",),
    "a change of one cluster": ("cluster", "halt", "all"),
    "destroy": ("destroy",),
}
"""In this order; all is built before the plan."""
_MANY = (1, 10, 100, 1000)


def time_verbs(machines: int, progress: Callable[[str], None]) -> dict[str, float]:
    """Time each verb over so many machines, in seconds: the root on the first, a rack on each other. Raises
    OlafError."""
    if reason := why_not():
        raise OlafError(Problem(reason, remedy="run as root"))
    names = [f"m{number}" for number in range(1, machines + 1)]
    progress(f"making {machines} machines")
    with lab(*names) as made:
        for number, name in enumerate(names[1:], 2):
            made.join_cable("m1", name, f"cable{number}")
        bed = made.folder / "many.yaml"
        bed.write_text(star_testbed(made, names))
        return {name: _time_verb(made, bed, name, line, progress) for name, line in _STEPS.items()}


def time_calls(progress: Callable[[str], None]) -> dict[int, tuple[float, float]]:
    """Return, by the number of agents, one of whose calls is made of each at once: seconds, and MB that
    the caller has grown by."""
    found: dict[int, tuple[float, float]] = {}
    with TemporaryDirectory(prefix="olaf-") as place:
        folder = Path(place)
        hosts = [f"127.1.{number // 250}.{number % 250 + 1}" for number in range(_MANY[-1])]
        issue_pair(folder, "server", tuple(hosts), 1)
        issue_pair(folder, "client", (), 1)
        tls = Tls(folder / "server.pem", folder / "server.key", folder / "ca.pem")
        given = {"OLAF_CERTS": place, "OLAF_STATE": place}
        with mock.patch.dict(os.environ, given), closing(Server("0.0.0.0:0", tls)) as server:
            port = server.address.rpartition(":")[2]
            one = testbeds.load_testbed("many.yaml", _ONE)
            for many in _MANY:
                machines = tuple(TestbedMachine(host, f"{host}:{port}") for host in hosts[:many])
                engines = tuple(replace(one.root, name=host, machine=host) for host in hosts[:many])
                progress(f"calling {many} agents")
                before, began = psutil.Process().memory_info().rss, time.perf_counter()
                away = everywhere.find_unreachable(replace(one, machines=machines, engines=engines))
                seconds = time.perf_counter() - began
                if away:
                    raise OlafError(Problem(f"{len(away)} of {many} agents did not answer"))
                found[many] = seconds, (psutil.Process().memory_info().rss - before) / 1e6
    return found


_ONE = """
name: many
engine: {indices: 4, slots: 2, beats: 4}
ports: [{number: 1, name: ps, transport: unix}]
parameter_servers: [{name: ps, port: ps, ip: 10.0.0.254}]
clusters: []
"""


def _time_verb(
    made: MachineLab, bed: Path, name: str, line: tuple[str, ...], progress: Callable[[str], None]
) -> float:
    progress(name)
    began = time.perf_counter()
    done = made.try_olafctl(*(word.format(bed=bed) for word in line))
    if done.returncode:
        words = [Problem(last_words(log), log.parent.name) for log in made.folder.glob("*/agent.log")]
        raise OlafError(Problem(f"{name} ended with {done.returncode}: {done.stderr[-3000:]}"), *words)
    return time.perf_counter() - began
