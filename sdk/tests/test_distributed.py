"""Synchronous training through torch.distributed, in processes of their own, over real sockets."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from olaf.udp import UdpPort
from tests.engine import Engine, EnginePort
from tests.network import free_tcp_ports

pytest.importorskip("torch")


def train(ways: list[tuple[str, str]], address: str, loss: float = 0) -> tuple[list[dict[str, str]], Engine]:
    """Two ranks' digests of each way's weights, and the engine they trained through."""
    port = UdpPort(("127.0.0.1", 0))
    engine = Engine(port.address, members=2, segments=2)
    EnginePort(engine, port, loss, seed=5)
    environment = {
        **os.environ,
        "OLAF_ADDRESS": address.format(port=port.address[1]),
        "OLAF_MTU": "9022",
        "OLAF_SEGMENTS": "2",
        "MASTER_ADDR": "127.0.0.1",
        "PORTS": ",".join(map(str, free_tcp_ports(len(ways)))),
        "WORLD_SIZE": "2",
    }
    ranks = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.ddp_member", json.dumps(ways)],
            env={**environment, "RANK": str(rank)},
            cwd=Path(__file__).parents[1],
            stdout=subprocess.PIPE,
        )
        for rank in range(2)
    ]
    try:
        return [json.loads(rank.communicate(timeout=120)[0]) for rank in ranks], engine
    finally:
        port.close()
        for rank in ranks:
            rank.kill()
            rank.wait()


def test_weights_are_bit_equal_to_gloo_at_a_fixed_address() -> None:
    ways = [("gloo", "ddp"), ("olaf", "ddp")]
    ranks, engine = train(ways, "127.0.0.1:{port}")
    assert ranks[0] == ranks[1]
    assert ranks[0]["olaf ddp"] == ranks[0]["gloo ddp"]
    assert engine.seen["merged"] >= 30


def test_weights_are_bit_equal_to_gloo_with_a_hundredth_of_frames_lost_job_after_job() -> None:
    ways = [("gloo", "ddp"), ("olaf", "ddp"), ("gloo", "flat"), ("olaf", "flat"), ("gloo", "hook")]
    ranks, engine = train(ways, "olaf://lander@127.0.0.1:{port}", loss=0.01)
    assert ranks[0] == ranks[1]
    assert ranks[0]["olaf ddp"] == ranks[0]["gloo ddp"] == ranks[0]["gloo hook"]
    assert ranks[0]["olaf flat"] == ranks[0]["gloo flat"]
    assert engine.epoch == 3
    assert engine.seen["merged"] >= 90
    assert engine.seen["duplicate"] + engine.seen["late"] > 0


def test_waiting_for_a_sum_that_failed_says_why() -> None:
    import torch

    from olaf.distributed import Sum
    from olaf.errors import NoAnswer

    future: torch.futures.Future[list[torch.Tensor]] = torch.futures.Future()
    future.set_exception(NoAnswer("no result of round 0"))
    with pytest.raises(NoAnswer, match="round 0"):
        Sum(future).wait()
