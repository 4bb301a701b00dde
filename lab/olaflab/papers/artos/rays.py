"""Ray on two machines: blocks that an actor puts on its node, got by ``ray.get`` on the head's."""

import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from olafctl.targets.processes import end_in
from olaflab.papers.artos.link import LinkMachine
from olafswitch.errors import OlafError, Problem
from olafswitch.ports.namespace import run_within

_PORT = 6379
_MEMORY = 1_000_000_000
"""Bytes of a node's store."""
_TRIES = 3
_PLACE = "artos-worker"
_PORTS = ("dashboard-agent-grpc-port", "dashboard-agent-listen-port", "metrics-export-port",
          "runtime-env-agent-port")  # fmt: skip


def start_node(machine: LinkMachine, head: LinkMachine, folder: Path) -> None:
    """Start a node on a machine, the head's or one that joins it. Raises OlafError if it does not start.

    Ray gives its own parts half a minute, which is not enough on a busy machine; so it is tried again.
    """
    here = ["--num-cpus", "1", "--node-ip-address", machine.address, "--object-store-memory", str(_MEMORY)]
    ports = [f"--{name}={7001 + number}" for number, name in enumerate(_PORTS)]
    message = ""
    for attempt in range(_TRIES):
        port = str(_PORT + attempt)
        if machine == head:
            role = ["--head", "--port", port, "--include-dashboard=false", "--temp-dir", str(folder / port)]
        else:
            role = ["--address", _head_address(head, folder), "--resources", f'{{"{_PLACE}": 1}}']
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", *role, *here, *ports]
        run = partial(
            subprocess.run, command, capture_output=True, text=True, env=_ray_environment(), check=False
        )
        done = run_within(machine.namespace, run)
        if done.returncode == 0:
            if machine == head:
                (folder / "port").write_text(port)
            return
        message = (done.stderr or done.stdout).strip().rpartition("\n")[2]
        end_in(machine.namespace)
    raise OlafError(Problem(f"Ray does not start: {message}", machine.address, "try on a machine less busy"))


def _head_address(head: LinkMachine, folder: Path) -> str:
    return f"{head.address}:{(folder / 'port').read_text()}"


def _ray_environment() -> dict[str, str]:
    """Return the environment of Ray's processes, which only the namespaces reach."""
    return {**os.environ, "RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}


class RayBlocks:
    """At the head: blocks that an actor on the other node has, of ``shape`` bytes each."""

    def __init__(self, head: LinkMachine, folder: Path, shape: tuple[int, ...]) -> None:
        import ray

        os.environ.update(_ray_environment())
        ray.init(
            address=_head_address(head, folder), _node_ip_address=head.address, log_to_driver=False,
            logging_level=logging.ERROR,
        )  # fmt: skip
        self._actor = ray.remote(_RayActor).options(resources={_PLACE: 1}).remote(shape)
        ray.get(self._actor.put.remote(1))

    def get_all(self, count: int) -> Iterator[float]:
        """Get all blocks at once; yield when the actor began to put them."""
        import ray

        begin, references = ray.get(self._actor.put.remote(count))
        for _ in ray.get(references):
            yield float(begin)

    def get_each(self, count: int) -> Iterator[float]:
        """Get each block as soon as it is here; yield when the actor began to put them."""
        import ray

        begin, waiting = ray.get(self._actor.put.remote(count))
        while waiting:
            ready, waiting = ray.wait(waiting, num_returns=1, fetch_local=True)
            ray.get(ready)
            yield float(begin)


class _RayActor:
    def __init__(self, shape: tuple[int, ...]) -> None:
        self._block = np.random.default_rng(1).integers(0, 255, shape, np.uint8)

    def put(self, count: int) -> tuple[float, list[Any]]:
        import ray

        begin = time.perf_counter()
        return begin, [ray.put(self._block) for _ in range(count)]
