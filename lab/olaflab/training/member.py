"""A worker: plays, learns, offers, and adopts weights; its port decides in which time and network it is."""

from typing import Any

import gymnasium
import numpy as np
import olaf
from olaf.transport.port import Address, Port

from olafctl.membership.model import Cluster
from olaflab.training import experience, network, ppo
from olaflab.training.head import Head, Turnout
from olaflab.training.plan import Plan


class Member:
    """One worker: its SDK end, its environment and its optimiser."""

    def __init__(
        self,
        port: Port,
        server: Address,
        cluster: Cluster,
        name: str,
        weights: network.Vector,
        plan: Plan,
        random: np.random.Generator,
        head: Head | None = None,
    ) -> None:
        """``weights`` are those to begin with, if the server has none.

        With a ``head``, its actors play; else this worker does.
        """
        self.cluster = cluster
        self.name = name
        self.end = olaf.Worker(
            f"{server[0]}:{server[1]}",
            len(weights),
            segments=cluster.segments,
            epoch=cluster.epoch,
            v=plan.v,
            delta_t=plan.delta_t,
            control=plan.control,
            seed=int(random.integers(1 << 31)),
            port=port,
        )
        self._weights = weights.copy()
        self.head = head
        self.turnout: Turnout | None = None
        """How the last experience of a head came to be."""
        self._environment: Any = gymnasium.make(
            experience.ENVIRONMENT, max_episode_steps=experience.EPISODE_STEPS, disable_env_checker=True
        )
        self._random = np.random.default_rng(random.integers(1 << 63))
        self.learner = ppo.Learner(int(random.integers(1 << 31)), len(weights), plan.local_rate)
        self.end.begin(weights)

    def work(self, episodes: int) -> tuple[network.Vector, experience.Experience]:
        """Play with the weights there are: where these should move, and what was played."""
        if self.head is None:
            played = experience.collect(self._environment, self._weights, episodes, self._random)
            return self.learner.gradient(self._weights, played), played
        played, self.turnout = self.head.play(self._weights, self.end.status, self.end.probability)
        with self.head.learning():
            parts = self.turnout.blocks if self.head.noisy else 0
            self.head.learnt(self.learner.parts(self._weights, played, parts))
            return self.learner.gradient(self._weights, played), played

    def offer(self, gradient: network.Vector, reward: float) -> bool:
        """Move by ``gradient``, offer it, and adopt what has arrived meanwhile; whether it was sent whole.

        Weights that have arrived cannot have this update, nor what was held back: both stay on top.
        """
        own = self.end.held + gradient
        sent = self.end.offer(gradient, reward)
        self._weights += np.float32(ppo.LEARNING_RATE) * gradient
        for block in self.end.poll():
            self._weights[block.place] = block.values + np.float32(ppo.LEARNING_RATE) * own[block.place]
        return sent

    def adopt(self) -> None:
        """Take the server's weights as they are; only what was held back stays on top."""
        held = self.end.held
        for block in self.end.poll():
            self._weights[block.place] = block.values + np.float32(ppo.LEARNING_RATE) * held[block.place]

    def close(self) -> None:
        """Give back the environment and the address, and end the actors."""
        if self.head is not None:
            self.head.close()
        self._environment.close()
        self.end.close()
