import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra [train] is not installed")

import torch

from olafctl.train import network


def test_the_whole_gradient_fits_a_jumbo_frame() -> None:
    assert network.PARAMETERS == 2205
    assert 64 + 4 * network.PARAMETERS <= 9036


def test_numpy_acts_as_torch_learns() -> None:
    random = np.random.default_rng(1)
    parameters = network.initial(random)
    assert parameters.shape == (network.PARAMETERS,)
    assert parameters.dtype == np.float32
    observations = random.standard_normal((5, network.OBSERVATION)).astype(np.float32)
    acting = network.forward(network.layers(parameters), observations, np.tanh)
    learning = network.forward(
        network.layers(torch.from_numpy(parameters)), torch.from_numpy(observations), torch.tanh
    )
    for mine, its in zip(acting, learning, strict=True):
        assert np.allclose(mine, its.numpy(), atol=1e-5)
    assert acting[0].shape == (5, network.ACTIONS)
    assert acting[1].shape == (5,)


def test_layers_are_views_of_the_vector() -> None:
    parameters = np.zeros(network.PARAMETERS, dtype=np.float32)
    for view in network.layers(parameters):
        view += 1
    assert parameters.tolist() == [1.0] * network.PARAMETERS
