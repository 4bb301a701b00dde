"""RLlib's PPO trains through a parameter server, and through the engine."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from olaf import ParameterServer
from olaf.policies import Plain
from olaf.transport.udp import UdpPort
from tests.engines import EnginePort, QueueEngine
from tests.ray_cluster import start_ray
from tests.testnet import weights_of

ray = pytest.importorskip("ray")
pytest.importorskip("ray.rllib.algorithms.ppo")


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Any:
    with start_ray(processors=3):
        yield


def ppo(learner: type, settings: dict[str, str], learners: int) -> Any:
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig

    return (
        PPOConfig()
        .environment("CartPole-v1")
        .env_runners(num_env_runners=0)
        .training(train_batch_size_per_learner=256, minibatch_size=64, num_epochs=2)
        .rl_module(model_config=DefaultModelConfig(fcnet_hiddens=[40, 40], vf_share_layers=True))
        .learners(
            num_learners=learners,
            num_cpus_per_learner=1,
            learner_class=learner,
            learner_config_dict={"olaf": settings},
        )
        .debugging(seed=1)
        .build_algo()
    )


def flat(state: dict[str, Any]) -> Any:
    return np.concatenate([np.asarray(state[name]).ravel() for name in sorted(state)])


def test_one_update_an_iteration_with_the_mean_return() -> None:
    from olaf.torch.rllib import PPOLearner

    server = ParameterServer("127.0.0.1:0", policy=partial(Plain, rate=0.001))
    algorithm = ppo(PPOLearner, {"server": f"127.0.0.1:{server.address[1]}"}, learners=0)
    try:
        link = algorithm.learner_group._learner.link
        for iteration in range(1, 4):
            algorithm.train()
            segments = link.worker.segments.count
            assert link.worker.counters.offered == iteration
            assert link.worker._port.wait(lambda: link.worker.counters.acks >= iteration * segments, 10)  # noqa: B023
        assert server.counters().applied == 3 * segments
        assert 8 <= link._reward <= 500

        def same() -> bool:
            link.exchange()
            ours = np.concatenate([p.detach().numpy().ravel() for p in link._parameters])
            return np.allclose(ours, weights_of(server), rtol=0, atol=1e-5)

        # The weights come after the acknowledgements.
        assert link.worker._port.wait(same, 10)
    finally:
        algorithm.stop()
        server.close()


def test_two_learners_sum_their_gradients_in_the_engine() -> None:
    from olaf.torch.rllib import SynchronousPPOLearner

    port = UdpPort(("127.0.0.1", 0))
    engine = QueueEngine(port.address, members=2)
    EnginePort(engine, port)
    settings = {"OLAF_ADDRESS": f"127.0.0.1:{port.address[1]}", "OLAF_MTU": "9022"}
    algorithm = ppo(SynchronousPPOLearner, settings, learners=2)
    try:
        algorithm.train()
        weights = algorithm.learner_group.foreach_learner(
            lambda learner: learner.get_state(components="rl_module")["rl_module"]["default_policy"]
        )
        first, second = (flat(one.get()) for one in weights)
        assert np.array_equal(first, second)
        assert engine.seen["merged"] > 0
    finally:
        algorithm.stop()
        port.close()
