"""An optimiser in the server, for learners that keep no state."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olaf import ParameterServer
from olaf.errors import BadCheckpoint
from olaf.policies import Asynchronous, SoftSync, Stellaris
from olaf.transport import wire
from olaf.transport.segments import Segments, payload
from olaf.transport.virtual import VirtualNetwork
from tests.test_staleness import ZERO, check_one_by_one, gradient_at, trained, update
from tests.testnet import SERVER, of, vector, weights_of, worker_address

pytest.importorskip("torch")
import torch


def test_one_learner_trains_as_adam_does_without_a_server() -> None:
    server = trained(1, 50, partial(Asynchronous, rate=0.01, optimizer="adam"))
    weights = torch.zeros(2)
    adam = torch.optim.Adam([weights], lr=0.01)
    for _ in range(50):
        weights.grad = -torch.from_numpy(gradient_at(weights.numpy()))
        adam.step()
    assert weights_of(server).tolist() == weights.tolist()


def test_the_step_is_scaled_and_not_the_gradient() -> None:
    moved = {}
    for lag in (0, 8):
        policy = Stellaris(ZERO, rate=0.1, optimizer="adam")
        policy.take(update(5.0, lag=lag), 0)
        moved[lag] = policy.weights[0]
    assert moved[0] == pytest.approx(0.1)
    assert moved[8] == pytest.approx(0.05)


@pytest.mark.parametrize(
    "make",
    [
        partial(Asynchronous, optimizer="adam"),
        partial(SoftSync, updates=2, optimizer="sgd"),
        partial(Stellaris, round=4, decay=0.7, optimizer="rmsprop"),
    ],
)
def test_segments_together_do_what_they_would_one_by_one(make: Any) -> None:
    check_one_by_one(make)


def test_an_unknown_optimiser_is_refused() -> None:
    with pytest.raises(ValueError, match="optimiser 'adamm' does not exist: take one of adam, sgd, rmsprop"):
        Asynchronous(ZERO, optimizer="adamm")


@pytest.mark.parametrize(
    "optimizer", [None, "adam", "sgd", "rmsprop", partial(torch.optim.SGD, momentum=0.9)]
)
def test_a_policy_continues_where_its_checkpoint_ends(tmp_path: Path, optimizer: Any) -> None:
    make = partial(Stellaris, rate=0.01, round=6, decay=0.5, optimizer=optimizer)
    place, network = tmp_path / "model.npz", VirtualNetwork()
    segments = Segments(5, 3)
    initial = {"default": (segments, np.zeros(5, np.float32))}
    server = ParameterServer(policy=make, port=network.port(SERVER), initial=initial, checkpoint=place)
    versions = sent(network, server, range(10), lag=lambda number: 3 if number == 4 else 0)
    assert versions[0] == 10
    server.save()
    server._port.close()  # killed
    again = ParameterServer(policy=make, port=network.port(SERVER), checkpoint=place)
    unbroken = ParameterServer(policy=make, port=network.port(("10.0.0.253", 1)), initial=initial)
    sent(network, unbroken, range(10), lag=lambda number: 3 if number == 4 else 0)
    for one in (again, unbroken):
        sent(network, one, range(10, 16), lag=lambda number: 2 if number == 14 else 0)
    assert weights_of(again).tolist() == weights_of(unbroken).tolist()
    assert again.counters().collected == 2
    model = again._clusters["default"].model
    assert model is not None
    assert isinstance(model.policy, Stellaris)
    assert [model.policy.threshold(segment) for segment in range(3)] == [0.75, math.inf, math.inf]
    again._port.close()


def sent(network: VirtualNetwork, server: ParameterServer, numbers: range, lag: Any) -> list[int]:
    """Send updates of the first segment, each stale as ``lag`` of its number says; return the versions
    afterwards."""
    for number in numbers:
        base = (server.versions()[0] - lag(number)) % (1 << 16)
        kind, time = wire.FrameType.UPDATE, 0
        header = wire.Olaf(wire.VERSION, kind, 0, 0, 1, number, 0.0, time, 0, base)
        server.receive(of(header.pack() + bytes(payload(vector(2, number)))), worker_address(0))
    return server.versions()


def test_a_checkpoint_of_another_optimiser_is_refused(tmp_path: Path) -> None:
    place, network = tmp_path / "model.npz", VirtualNetwork()
    initial = {"default": (Segments(2, 1), ZERO)}
    make = partial(Asynchronous, optimizer="adam")
    ParameterServer(policy=make, port=network.port(SERVER), initial=initial, checkpoint=place).close()
    for other, message in (("sgd", "with the optimiser SGD"), (None, "with an optimiser in the server")):
        with pytest.raises(BadCheckpoint, match=message):
            ParameterServer(
                policy=partial(Asynchronous, optimizer=other), port=network.port(SERVER), checkpoint=place
            )
