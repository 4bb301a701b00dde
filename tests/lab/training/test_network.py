import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra [train] is not installed")

import torch

from olaflab.training import network


def test_the_whole_gradient_fits_a_jumbo_frame() -> None:
    assert network.count_parameters(network.HIDDEN) == 2205
    assert 64 + 4 * network.count_parameters(network.HIDDEN) <= 9036


def test_numpy_acts_as_torch_learns() -> None:
    random = np.random.default_rng(1)
    parameters = network.initial_parameters(random)
    assert parameters.shape == (network.count_parameters(network.HIDDEN),)
    assert parameters.dtype == np.float32
    observations = random.standard_normal((5, network.OBSERVATION)).astype(np.float32)
    acting = network.evaluate_network(network.split_layers(parameters), observations, np.tanh)
    learning = network.evaluate_network(
        network.split_layers(torch.from_numpy(parameters)), torch.from_numpy(observations), torch.tanh
    )
    for mine, its in zip(acting, learning, strict=True):
        assert np.allclose(mine, its.numpy(), atol=1e-5)
    assert acting[0].shape == (5, network.ACTIONS)
    assert acting[1].shape == (5,)


def test_layers_are_views_of_the_vector() -> None:
    parameters = np.zeros(network.count_parameters(network.HIDDEN), dtype=np.float32)
    for view in network.split_layers(parameters):
        view += 1
    assert parameters.tolist() == [1.0] * network.count_parameters(network.HIDDEN)


@pytest.mark.parametrize("hidden", [1, 2, 39, 40, 64, 538])
def test_a_vector_s_length_says_how_wide_its_network_is(hidden: int) -> None:
    parameters = network.initial_parameters(np.random.default_rng(1), hidden)
    assert parameters.shape == (network.count_parameters(hidden),)
    views = network.split_layers(parameters)
    assert [view.shape for view in views] == [
        (8, hidden),
        (hidden,),
        (hidden, hidden),
        (hidden,),
        (hidden, 5),
        (5,),
    ]
    assert sum(view.size for view in views) == len(parameters)
