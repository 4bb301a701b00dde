"""Pong and Breakout on one processor: what an actor takes for a block, and a learner for learning from it."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from olaflab.papers.artos.model import ModelCosts

GAMES = ("pong", "breakout")
STEPS, _EPOCHS, _PARTS = 512, 4, 4
"""Steps of a block; how often, and in how many parts, a learner goes through it (CleanRL's PPO)."""


@dataclass(frozen=True)
class Atari:
    """CPU seconds of one block of 512 steps; the fastest of some repeats."""

    game: str
    emulated: float
    """With actions at random."""
    played: float
    """With actions that the network chooses."""
    learnt: float
    paper: float = ModelCosts.play


def measure_game(game: str, repeats: int) -> Atari:
    """Measure the network and the preprocessing that the paper has from CleanRL. Raises ImportError."""
    import torch
    from ale_py.vector_env import AtariVectorEnv

    torch.set_num_threads(1)
    torch.manual_seed(1)
    environment: Any = AtariVectorEnv(game, num_envs=1, num_threads=1)
    actions = int(environment.single_action_space.n)
    network = _make_network(torch, actions + 1)
    optimizer = torch.optim.Adam(network.parameters(), 2.5e-4)
    random = np.random.default_rng(1)
    rows = np.zeros((STEPS, 4, 84, 84), np.uint8)

    def play(by_network: bool) -> None:
        seen, _ = environment.reset(seed=1)
        for step in range(STEPS):
            rows[step] = seen[0]
            action = random.integers(actions, size=1)
            if by_network:
                with torch.no_grad():
                    logits = network(torch.from_numpy(seen).float() / 255)[:, :-1]
                    action = torch.distributions.Categorical(logits=logits).sample().numpy()
            seen = environment.step(action)[0]

    def learn() -> None:
        for part in np.split(np.tile(np.arange(STEPS), _EPOCHS), _EPOCHS * _PARTS):
            outputs = network(torch.from_numpy(rows[part]).float() / 255)
            loss = -torch.log_softmax(outputs[:, :-1], 1)[:, 0].mean() + outputs[:, -1].square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    try:
        ways = (lambda: play(False), lambda: play(True), learn)
        return Atari(game, *(min(_cpu_seconds(way) for _ in range(repeats)) for way in ways))
    finally:
        environment.close()


def _make_network(torch: Any, outputs: int) -> Any:
    """Make a network of three convolutions and 512 units, with 1.7 million values."""
    nn = torch.nn
    layers: list[Any] = []
    for inputs, channels, size, stride in ((4, 32, 8, 4), (32, 64, 4, 2), (64, 64, 3, 1)):
        layers += [nn.Conv2d(inputs, channels, size, stride), nn.ReLU()]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(3136, 512), nn.ReLU(), nn.Linear(512, outputs))


def _cpu_seconds(way: Any) -> float:
    began = time.process_time()
    way()
    return time.process_time() - began
