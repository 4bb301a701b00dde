"""Synchronous training through torch.distributed, in processes of their own, over real sockets."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from olaf.transport.udp import UdpPort
from tests.engines import EnginePort, QueueEngine
from tests.testnet import free_tcp_ports

pytest.importorskip("torch")


def train(
    ways: list[tuple[str, str]], address: str, loss: float = 0
) -> tuple[list[dict[str, str]], QueueEngine]:
    """Train two ranks; return the digests of each way's weights, and the engine they trained through."""
    port = UdpPort(("127.0.0.1", 0))
    engine = QueueEngine(port.address, members=2, segments=2)
    EnginePort(engine, port, loss, seed=5)
    try:
        return job(["tests.ddp_member", json.dumps(ways)], address.format(port=port.address[1])), engine
    finally:
        port.close()


def job(module: list[str], address: str, jobs: int = 5, segments: int = 2) -> list[Any]:
    """Run two ranks and return what they print."""
    environment = {
        **os.environ,
        "OLAF_ADDRESS": address,
        "OLAF_MTU": "9022",
        "OLAF_SEGMENTS": str(segments),
        "MASTER_ADDR": "127.0.0.1",
        "PORTS": ",".join(map(str, free_tcp_ports(jobs))),
        "MASTER_PORT": str(free_tcp_ports(1)[0]),
        "WORLD_SIZE": "2",
    }
    ranks = [
        subprocess.Popen(
            [sys.executable, "-m", *module],
            env={**environment, "RANK": str(rank)},
            cwd=Path(__file__).parents[1],
            stdout=subprocess.PIPE,
        )
        for rank in range(2)
    ]
    try:
        printed = [rank.communicate(timeout=300)[0] for rank in ranks]
        assert [rank.returncode for rank in ranks] == [0, 0]
        return [json.loads(text) if text else None for text in printed]
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()


@pytest.mark.parametrize("dying", [0, 1])
def test_a_job_follows_one_whose_member_died(dying: int) -> None:
    port = UdpPort(("127.0.0.1", 0))
    engine = QueueEngine(port.address, members=2, segments=2)
    EnginePort(engine, port)
    address = f"127.0.0.1:{port.address[1]}"
    try:
        ranks = job(["tests.ddp_failing", f"{dying} dies"], address)
        assert ranks[dying] is None
        assert "has not answered" in ranks[1 - dying]["error"]
        assert ranks[1 - dying]["seconds"] < 60
        after = job(["tests.ddp_failing", "works"], address)
    finally:
        port.close()
    assert [rank["scattered"] for rank in after] == [[0.0, 2.0], [4.0, 6.0]]
    assert all(rank["sum"] == [2.0] * 4 and rank["completed"] for rank in after)


@pytest.mark.parametrize(
    ("members", "segments", "reason"),
    [(1, 2, "threshold to 2"), (3, 2, "threshold of 2"), (2, 1, "SEGMENTS")],
)
def test_a_job_beyond_the_engine_is_refused_in_seconds(members: int, segments: int, reason: str) -> None:
    port = UdpPort(("127.0.0.1", 0))
    EnginePort(QueueEngine(port.address, members=members, segments=segments), port)
    try:
        ranks = job(["tests.ddp_failing", "refused"], f"127.0.0.1:{port.address[1]}")
    finally:
        port.close()
    for rank in ranks:
        assert reason in rank["error"]
        assert rank["seconds"] < 30


def test_weights_are_bit_equal_to_gloo_at_a_fixed_address() -> None:
    ways = [("gloo", "ddp"), ("olaf", "ddp")]
    ranks, engine = train(ways, "127.0.0.1:{port}")
    assert ranks[0] == ranks[1]
    assert ranks[0]["olaf ddp"] == ranks[0]["gloo ddp"]
    assert engine.seen["merged"] >= 30


def test_weights_equal_gloo_when_results_reach_no_member() -> None:
    ranks, engine = train([("gloo", "ddp"), ("olaf", "ddp")], "127.0.0.1:{port}", loss=0.3)
    assert ranks[0] == ranks[1]
    assert ranks[0]["olaf ddp"] == ranks[0]["gloo ddp"]
    assert engine.seen["late"] > 0


def test_weights_equal_gloo_with_1_percent_loss_in_each_job() -> None:
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

    work = Sum(torch.ones(2))
    assert not work.is_completed()
    work.end(NoAnswer("no result of round 0"))
    assert work.is_completed() and not work.is_success()
    with pytest.raises(NoAnswer, match="round 0"):
        work.wait()
    with pytest.raises(RuntimeError, match="round 0"):
        work.get_future().wait()
