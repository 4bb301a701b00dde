"""Replicas: the weights of all members are the same bits, whatever the network loses and whoever dies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from olaf import wire
from olaf.port import Address
from olaf.replicas.replica import Replica
from olaf.replicas.trained import Descent
from olaf.segments import Vector
from olaf.virtual import VirtualNetwork
from tests.asynchronous import Network, gradient
from tests.network import SERVER, worker_address

RATE = 0.125


class Script:
    """A member's computing: a gradient takes ``pace`` seconds, then it is committed."""

    def __init__(self, job: Job, address: Address, **options: Any) -> None:
        self.job, self.address = job, address
        self.stale: list[int] = []
        self.number = 0
        self.computing = False
        self.alive = True
        self.replica = Replica(
            f"{SERVER[0]}:{SERVER[1]}",
            Descent(options.pop("weights", job.first), options.pop("rate", RATE)),
            port=job.network.port(address),
            peers=[other for other in job.addresses if other != address],
            stepped=self._look,
            **{**job.options, **options},
        )

    def _look(self) -> None:
        self.job.network.at(self.job.network.time, self._compute)

    def _compute(self) -> None:
        if self.computing or not self.alive or not self.replica.ready:
            return
        self.computing = True
        version, weights = self.replica.weights()
        one = self.job.compute(self.address, self.number, version, weights)
        self.number += 1
        pause = self.job.pace * (0.5 + self.job.medium.random.random())
        self.job.network.at(self.job.network.time + pause, lambda: self._commit(one, version))

    def _commit(self, one: Vector, version: int) -> None:
        self.computing = False
        if self.alive:
            lag = self.replica.version - version
            if self.replica.commit(one, version):
                self.stale.append(lag)
            self._compute()

    def kill(self) -> None:
        """It is gone without a word."""
        self.alive = False
        self.replica._port.close()


class Job:
    """Members of one training below engines."""

    def __init__(
        self,
        members: int,
        h: int | None = None,
        staleness: int = 3,
        until: int = 60,
        values: int = 700,
        segments: int = 2,
        racks: int = 1,
        pace: float = 0.004,
        **faults: Any,
    ) -> None:
        self.addresses = [worker_address(number) for number in range(members)]
        each = -(-members // racks)
        self.medium = Network(
            SERVER,
            [self.addresses[rack * each : (rack + 1) * each] for rack in range(racks)],
            h or members,
            segments,
            **faults,
        )
        self.network = VirtualNetwork(self.medium, epoch=1_790_000_000_000_000_000)
        self.first = gradient(99, values)
        self.options = {
            "h": h or members,
            "staleness": staleness,
            "until": until,
            "segments": segments,
            "limit": 120.0,
        }
        self.pace, self.until = pace, until
        self.scripts: dict[Address, Script] = {}

    def compute(self, address: Address, number: int, version: int, weights: Vector) -> Vector:
        return gradient(hash((address[0], number, version)) % (1 << 31), len(weights))

    def begin(self, *numbers: int, **options: Any) -> list[Script]:
        """These members, or all, begin."""
        chosen = [self.addresses[number] for number in numbers] if numbers else self.addresses
        for address in chosen:
            self.scripts[address] = Script(self, address, **options)
        return [self.scripts[address] for address in chosen]

    def run(self, seconds: float = 600.0) -> None:
        """Until all that are alive are done."""
        alive = [script for script in self.scripts.values() if script.alive]
        ended = self.network.run(
            self.network.time + seconds,
            lambda: all(script.replica.done or script.replica.failure for script in alive),
        )
        assert [script.replica.failure for script in alive] == [None] * len(alive)
        assert ended, [(s.replica.version, s.replica._member.group.me.state) for s in alive]
        self.equal()

    def until_version(self, version: int, seconds: float = 300.0) -> None:
        alive = [script for script in self.scripts.values() if script.alive]
        assert self.network.run(
            self.network.time + seconds,
            lambda: all(script.replica.version >= version for script in alive),
        )

    def equal(self) -> None:
        """The weights of all that are alive are the same bits, at the last version."""
        ends = [script.replica.weights() for script in self.scripts.values() if script.alive]
        assert {version for version, _ in ends} == {self.until}
        assert all(np.array_equal(weights, ends[0][1]) for _, weights in ends)
        assert not np.array_equal(ends[0][1], self.first)


def test_members_have_the_same_weights_without_any_loss() -> None:
    job = Job(4)
    scripts = job.begin()
    job.run()
    for script in scripts:
        assert max(script.stale) <= 3
        assert script.replica.gaps.voids == 0
        assert sum(script.replica.commits.histogram) == script.replica.commits.commits == len(script.stale)
    assert job.medium.results[0] >= 60


@pytest.mark.parametrize("seed", range(12))
def test_loss_repetition_and_reordering_change_no_bit(seed: int) -> None:
    job = Job(
        2 + seed % 4, segments=1 + seed % 3, loss=(0.01, 0.1, 0.3)[seed % 3], repeat=0.2,
        spread=(0.0, 0.01, 0.1)[seed // 3 % 3], seed=seed, staleness=seed % 4,
    )  # fmt: skip
    job.begin()
    job.run()
    assert sum(script.replica.gaps.helps for script in job.scripts.values()) > 0


@pytest.mark.parametrize("seed", range(6))
def test_a_member_that_is_killed_and_comes_back_and_one_that_comes_late(seed: int) -> None:
    job = Job(5, h=4, loss=0.05, repeat=0.05, spread=0.002, seed=seed, until=400)
    job.begin(0, 1, 2, 3)
    job.until_version(60)
    killed = job.scripts[job.addresses[seed % 4]]
    killed.kill()
    job.until_version(120)
    (late,) = job.begin(4)
    job.until_version(200)
    (back,) = job.begin(seed % 4)
    job.run()
    assert late.replica.counters.snapshots >= 1
    assert back.replica.counters.snapshots >= 1
    assert back.number > 0
    assert all(script.replica.counters.diverged == 0 for script in job.scripts.values())
