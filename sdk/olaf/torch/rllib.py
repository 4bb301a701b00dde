"""RLlib (new API stack): learners that train through Olaf. Importing this module needs ray[rllib].

Asynchronous, each experiment a worker of the cluster:

    config.learners(learner_class=PPOLearner, learner_config_dict={"olaf": {"server": "10.0.0.254:20300"}})

Synchronous, ``num_learners`` learners of one experiment summing gradients in the engine:

    config.learners(num_learners=2, learner_class=SynchronousPPOLearner,
                    learner_config_dict={"olaf": {"OLAF_ADDRESS": "olaf://lander@10.0.0.1"}})

For another algorithm derive from the mixin and its learner: ``class Mine(Asynchronous, MyTorchLearner)``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

try:
    from ray.rllib.algorithms.ppo.torch.ppo_torch_learner import PPOTorchLearner
except ImportError as missing:
    raise ImportError(f"olaf.torch.rllib needs RLlib: pip install 'ray[rllib]' ({missing})") from missing

from olaf.torch.link import Link, attach

_SETTINGS = "olaf"


class Asynchronous:
    """Mixin of a TorchLearner: one update an iteration; settings are the arguments of ``olaf.attach``.

    The reward of an update is the mean return of the episodes that ended in its training data.
    """

    config: Any
    _named_optimizers: dict[str, Any]
    link: Link

    def build(self) -> None:
        """Build the learner. Raises ValueError without settings or with several optimisers, and what
        ``attach`` raises."""
        super().build()  # type: ignore[misc]
        settings = self.config.learner_config_dict.get(_SETTINGS)
        if not settings or "server" not in settings:
            raise ValueError(f'give learner_config_dict={{"{_SETTINGS}": {{"server": "host:port"}}}}')
        if len(self._named_optimizers) != 1:
            raise ValueError(f"a learner with one optimiser is needed, not {len(self._named_optimizers)}")
        (optimizer,) = self._named_optimizers.values()
        self._returns: dict[str, float] = {}
        self.link = attach(optimizer, every=None, **settings)

    def update(self, *arguments: Any, training_data: Any = None, **keywords: Any) -> Any:
        """Update as the learner does, then exchange with the server."""
        if training_data is not None:
            training_data.solve_refs()
            self._note_reward(training_data.episodes or ())  # before the learner lengthens them
        result = super().update(*arguments, training_data=training_data, **keywords)  # type: ignore[misc]
        self.link.exchange()
        return result

    def shutdown(self) -> None:
        """Leave the cluster."""
        self.link.close()
        super().shutdown()  # type: ignore[misc]

    def _note_reward(self, episodes: Iterable[Any]) -> None:
        """Sum up the pieces in which episodes come, and report those that ended."""
        ended = []
        for episode in episodes:
            total = self._returns.pop(episode.id_, 0.0) + float(episode.get_return())
            if episode.is_done:
                ended.append(total)
            else:
                self._returns[episode.id_] = total
        if ended:
            self.link.reward(sum(ended) / len(ended))


class Synchronous:
    """Mixin of a TorchLearner: RLlib's own DDP modules, their gradients summed by the engine.

    Settings are the environment variables of ``olaf.distributed``.
    """

    config: Any
    _module: Any

    def _make_modules_ddp_if_necessary(self) -> None:
        super()._make_modules_ddp_if_necessary()  # type: ignore[misc]
        if self.config.num_learners < 2:
            return
        os.environ.update(self.config.learner_config_dict.get(_SETTINGS, {}))
        from olaf import distributed

        self._member = distributed.join()
        modules = self._module.values() if hasattr(self._module, "values") else [self._module]
        for module in modules:
            if hasattr(module, "register_comm_hook"):
                module.register_comm_hook(self._member, distributed.hook)


class PPOLearner(Asynchronous, PPOTorchLearner):
    """PPO through a parameter server."""


class SynchronousPPOLearner(Synchronous, PPOTorchLearner):
    """PPO with gradients summed in the engine."""
