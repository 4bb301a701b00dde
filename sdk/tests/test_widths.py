"""Attached doubles lose nothing that binary32 cannot carry, alone or beside narrower parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from olaf.worker import Worker
from tests.testnet import weights_of, worker_address

pytest.importorskip("torch")
import torch

from olaf.torch.link import attach
from tests.test_attach import AT, RATE, lab


@pytest.mark.parametrize("every", [1, 10])
@pytest.mark.parametrize("kind", [torch.float64, torch.complex128])
@pytest.mark.parametrize("beside", [None, torch.float16, torch.bfloat16])
def test_doubles_keep_the_steps_that_binary32_cannot_hold(kind: Any, beside: Any, every: int) -> None:
    network, server = lab()
    parameter = torch.nn.Parameter(torch.full((4,), 1 / 3, dtype=torch.float64).to(kind))
    first = parameter.detach().clone()
    narrow = [] if beside is None else [torch.nn.Parameter(torch.full((3,), 1 / 3, dtype=beside))]
    optimizer = torch.optim.SGD([*narrow, parameter], lr=1e-9)
    attach(optimizer, AT, rate=RATE, port=network.port(worker_address(0)), every=every, wait=30.0)
    for _ in range(1000):
        parameter.grad = torch.ones_like(parameter)
        optimizer.step()
        network.run(network.time + 0.01)
    moved = (first - parameter.detach()).abs()
    assert moved.numpy() == pytest.approx(1e-6, rel=1e-3)
    shared = weights_of(server)[3 * len(narrow) :: 2 if kind.is_complex else 1][:4]
    assert np.abs(shared - np.float32(1 / 3)) == pytest.approx(1e-6, abs=6e-8)  # two units of binary32


@pytest.mark.parametrize("beside", [None, torch.float16, torch.bfloat16])
def test_doubles_share_their_remainders_when_others_move_the_weights(beside: Any) -> None:
    """Binary32 is finer where another worker brings the weights: what was a remainder then is shared."""
    network, server = lab()
    double = torch.nn.Parameter(torch.full((4,), float(np.float32(0.6)), dtype=torch.float64))
    narrow = [] if beside is None else [torch.nn.Parameter(torch.full((3,), 0.5, dtype=beside))]
    optimizer = torch.optim.SGD([*narrow, double], lr=1e-9)
    attach(optimizer, AT, rate=RATE, port=network.port(worker_address(0)), wait=30.0)
    count = 4 + 3 * len(narrow)
    other = Worker(AT, count, port=network.port(worker_address(1)), seed=1, control=False)
    other.begin(np.zeros(count, np.float32))
    swing = np.zeros(count, np.float32)
    swing[-4:] = -0.5 / RATE
    for number in range(30):
        double.grad = -torch.ones_like(double)
        optimizer.step()
        if number == 24:  # a unit of binary32 is 6e-8 so far, and 7e-9 from here on
            assert weights_of(server)[-4:].tolist() == [np.float32(0.6)] * 4
            other.offer(swing, 0.0)
        network.run(network.time + 0.01)
    moved = weights_of(server)[-4:] - (np.float64(np.float32(0.6)) - 0.5)
    assert moved == pytest.approx(30e-9, abs=15e-9)
