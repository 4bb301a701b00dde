"""A parameter server, gloo's ring and the engine's sums measured side by side, over the same links.

Four workers and a server are processes with kernel sockets, each in a network namespace of its own, and all
that they send goes through one deployed engine. Server and ring are torch's gloo over TCP, which the engine
forwards like any frame; its own sums are the SDK's rounds over UDP.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from olafctl.targets.testbeds import load_testbed as load_testbed
from olafctl.testbed.model import Testbed
from olaflab.papers.iswitch.hosts import describe_machine
from olaflab.papers.iswitch.published import WORKERS, WORKLOADS
from olafswitch.errors import OlafError, Problem
from olaftest.deployment import using_hosts

NAME = "bench-iswitch"
WAYS = ("PS", "AR", "iSW")
RATE = 20
"""Mb/s that a host sends at most: so little that links take the time, not the processors that all share."""
_VALUES = sum(WORKLOADS[2].vectors) // 4
"""PPO's gradient; the lanes of its rounds serve larger ones too."""
_LIMIT = 600.0
"""Seconds for all sizes."""
_RANK = "olaflab.papers.iswitch.rank"


def make_testbed(target: str) -> Testbed:
    """Make a testbed of four workers in one cluster and a server, on one engine."""
    return load_testbed(
        f"{NAME}.yaml",
        f"""
name: {NAME}
target: {target}
engine: {{indices: 64, slots: 64, beats: 24, address: 10.0.0.250}}
ports:
  - {{numbers: 1-{WORKERS}, name: worker, transport: veth}}
  - {{number: {WORKERS + 1}, name: ps, transport: veth}}
parameter_servers: [{{name: ps, port: ps, ip: 10.0.0.254}}]
clusters:
  - {{count: 1, workers: {WORKERS}, name: four, ports: 1-{WORKERS}, ip: 10.0.1.1, mode: iswitch,
     values: {_VALUES}}}
""",
    )


def measure_wire(
    targets: Sequence[str], rounds: int, repeats: int, progress: Callable[[str], None], rate: int = RATE
) -> dict[str, Any]:
    """Measure ms a round of each way, by target and workload: of PPO and DDPG, ``repeats`` times ``rounds``
    each.

    Raises OlafError where namespaces cannot be made or a host fails.
    """
    each = [(workload.name, sum(workload.vectors) // 4, rounds) for workload in WORKLOADS[2:]]
    found = {}
    for target in targets:
        progress(f"{target}, {rate} Mb/s a host")
        found[target] = {
            name: {way: [1000 * one for one in several] for way, several in ways.items()}
            for name, ways in _run_target(target, rate, each, repeats).items()
        }
    bytes_of = {name: 4 * values for name, values, _ in each}
    return {"machine": describe_machine(), "rate": rate, "rounds": rounds, "bytes": bytes_of, "ms": found}


def _run_target(
    target: str, rate: int, each: Sequence[tuple[str, int, int]], repeats: int
) -> Mapping[str, Mapping[str, list[float]]]:
    with using_hosts(make_testbed(target), lambda step: None) as (bed, _, namespaces):
        for namespace in namespaces.values():
            _limit_rate(str(namespace), rate)
        return _collect_times(
            [_start_rank(bed, name, rank, each, repeats) for rank, name in enumerate(namespaces)]
        )


def _limit_rate(namespace: str, rate: int) -> None:
    """Limit the rate at which a host sends to ``rate`` Mb/s."""
    shape = f"root tbf rate {rate}mbit burst 32kb latency 1s"
    line = ["ip", "netns", "exec", namespace, "tc", "qdisc", "replace", "dev", "eth0", *shape.split()]
    try:
        subprocess.run(line, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        reason = error.stderr.strip() if isinstance(error, subprocess.CalledProcessError) else error.strerror
        raise OlafError(
            Problem(f"the rate cannot be held: {reason}", namespace, "install iproute2")
        ) from error


def _start_rank(
    bed: Testbed, name: str, rank: int, each: Sequence[tuple[str, int, int]], repeats: int
) -> "subprocess.Popen[str]":
    (cluster,) = bed.clusters
    addresses = [f"{worker.ip}:{bed.udp_port}" for worker in cluster.workers]
    given = {
        "rank": rank,
        "master": f"{cluster.workers[0].ip}:29500",
        "engine": f"{bed.root.address}:{bed.udp_port}",
        "local": addresses[rank] if rank < WORKERS else "",
        "peers": [each for number, each in enumerate(addresses) if number != rank],
        "segments": cluster.segments,
        "epoch": cluster.epoch,
        "ways": WAYS,
        "sizes": each,
        "repeats": repeats,
    }
    line = [sys.executable, "-m", "olafctl", "exec", "--deployment", NAME, name, "--"]
    return subprocess.Popen(
        [*line, sys.executable, "-m", _RANK, json.dumps(given)],
        env={**os.environ, "GLOO_SOCKET_IFNAME": "eth0"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _collect_times(ranks: Sequence["subprocess.Popen[str]"]) -> Mapping[str, Mapping[str, list[float]]]:
    """Return the slowest worker's time of each round."""
    reports = []
    try:
        for rank in ranks:
            out, error = rank.communicate(timeout=_LIMIT)
            if rank.returncode:
                last = error.strip().splitlines()[-1:] or ["it exited without output"]
                raise OlafError(Problem(last[0], "a host of the bench"))
            reports.append(json.loads(out))
    except subprocess.TimeoutExpired as error:
        raise OlafError(Problem(f"does not end in {_LIMIT:g} s", "a host of the bench")) from error
    finally:
        for rank in ranks:
            rank.kill()
            rank.communicate()
    return {
        name: {
            way: [max(times) for times in zip(*(one[name][way] for one in reports[:WORKERS]), strict=True)]
            for way in WAYS
        }
        for name in reports[0]
    }
