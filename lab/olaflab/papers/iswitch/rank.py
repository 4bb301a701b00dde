"""One host of :mod:`olaflab.papers.iswitch.wire`, in its own network namespace: four workers, and a server.

Its argument is a JSON object, what it prints another one: seconds of each repetition, by way and size.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from olaf.rounds import Rounds
from olaf.transport.address import host_port
from olaf.transport.udp import UdpPort

WORKERS = 4
SERVER = WORKERS
"""Its rank."""
SUM = float(sum(range(1, WORKERS + 1)))
"""Worker n contributes n + 1 in each value."""
_ALIVE: list[object] = []
"""Process groups: torch joins a group's threads under the interpreter's lock, for which one may wait."""


class Host:
    """A process of the gloo world, and a worker also a member of the engine's cluster."""

    def __init__(self, given: dict[str, Any]) -> None:
        self._rank: int = given["rank"]
        meeting = f"tcp://{given['master']}"
        dist.init_process_group("gloo", init_method=meeting, rank=self._rank, world_size=WORKERS + 1)
        self._workers = dist.new_group(list(range(WORKERS)))
        _ALIVE.extend((dist.group.WORLD, self._workers))
        self._rounds: Rounds | None = None
        if self._rank != SERVER:
            self._rounds = Rounds(
                UdpPort(host_port(given["local"])),
                host_port(given["engine"]),
                WORKERS,
                segments=given["segments"],
                epoch=given["epoch"],
                peers=[host_port(each) for each in given["peers"]],
            )

    def time_rounds(self, way: str, values: int, rounds: int) -> float:
        """Time rounds one after the other, in seconds. Raises ValueError for a sum that is not exact."""
        ways: dict[str, Callable[[Any], None]] = {
            "PS": self._reduce_by_server,
            "AR": self._reduce_by_ring,
            "iSW": self._reduce_by_engine,
        }
        gradient = torch.empty(values)
        dist.barrier()
        began = time.perf_counter()
        for _ in range(rounds):
            gradient.fill_(self._rank + 1.0)
            ways[way](gradient)
        took = time.perf_counter() - began
        if self._rank != SERVER and not bool((gradient == SUM).all()):
            raise ValueError(f"{way}: the sum is not exact")
        return took

    def close(self) -> None:
        """Leave the rounds and the process group."""
        dist.barrier()
        if self._rounds is not None:
            self._rounds.leave()
            self._rounds.close()
        dist.destroy_process_group()

    def _reduce_by_server(self, gradient: Any) -> None:
        """Send to the server, which sends the sum to each worker when it has all gradients."""
        if self._rank != SERVER:
            dist.send(gradient, SERVER)
            dist.recv(gradient, SERVER)
            return
        known = [torch.empty_like(gradient) for _ in range(WORKERS)]
        for work in [dist.irecv(each, rank) for rank, each in enumerate(known)]:
            work.wait()
        total = torch.stack(known).sum(0)
        for work in [dist.isend(total, rank) for rank in range(WORKERS)]:
            work.wait()

    def _reduce_by_ring(self, gradient: Any) -> None:
        if self._rank != SERVER:
            dist.all_reduce(gradient, group=self._workers)

    def _reduce_by_engine(self, gradient: Any) -> None:
        if self._rounds is not None:
            vector: np.ndarray[Any, np.dtype[np.float32]] = gradient.numpy()
            self._rounds.reduce(vector)


def main() -> None:
    """Run the whole plan, warm-up first."""
    given = json.loads(sys.argv[1])
    torch.set_num_threads(1)
    host = Host(given)
    found: dict[str, dict[str, list[float]]] = {}
    for name, values, rounds in given["sizes"]:
        ways = found[name] = {way: [] for way in given["ways"]}
        for way in ways:
            host.time_rounds(way, values, 1)
        for _ in range(given["repeats"]):
            for way, several in ways.items():
                several.append(host.time_rounds(way, values, rounds) / rounds)
    host.close()
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
