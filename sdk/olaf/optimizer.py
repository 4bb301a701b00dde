"""The asynchronous door: any torch optimiser, with its weights exchanged after its steps (OLAF §2.1).

What is sent is where training has moved the weights since they were last sent, divided by γ, so that the
server's w ← w + γ·g moves its weights as far. Between two steps, weights that have arrived are adopted. They
cannot have what is offered at this moment, nor what was held back, so both are kept on top: w ← w_server +
γ·(held + g). What was offered earlier is taken to be in them; where it is still on its way, it is back with a
later ACK. The optimiser's own state (momentum, Adam's moments) stays: it belongs to single coordinates, and
blocks are adopted as they arrive.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import torch

from olaf.policies import RATE
from olaf.segments import Vector
from olaf.worker import Worker


class Link:
    """An optimiser's connection to a parameter server."""

    def __init__(
        self, optimizer: torch.optim.Optimizer, worker: Worker, every: int | None, rate: float, wait: float
    ) -> None:
        """As ``attach``."""
        self.worker = worker
        self._parameters = _parameters(optimizer)
        self._every, self._rate = every, np.float32(rate)
        self._steps = 0
        self._reward = -math.inf
        self._base = self._read()
        """Weights up to which everything was offered."""
        self._begun = False
        worker.begin(self._base)
        if wait and not worker.wait(wait):
            warnings.warn(
                f"no answer from the parameter server in {wait:g} s; training begins alone and joins later",
                stacklevel=3,
            )
        self._begin()
        self._hook = optimizer.register_step_post_hook(self._stepped)

    def reward(self, value: float) -> None:
        """The mean episode reward, once an iteration; a value that is no number changes nothing."""
        if not math.isnan(value):
            self._reward = float(value)

    def exchange(self) -> None:
        """Offer the progress since the last time and adopt what has arrived; does not wait."""
        if not self._begun and not self._begin():
            return
        weights = self._read()
        moved = (weights - self._base) / self._rate
        own = self.worker.held + moved
        self.worker.offer(moved, self._reward)
        blocks = self.worker.poll()
        for block in blocks:
            weights[block.place] = block.values + self._rate * own[block.place]
        if blocks:
            self._write(weights)
        self._base = weights

    def close(self) -> None:
        """Detach from the optimiser and leave the cluster."""
        self._hook.remove()
        self.worker.close()

    def _stepped(self, optimizer: torch.optim.Optimizer, arguments: Any, keywords: Any) -> None:
        self._steps += 1
        if self._every is not None and self._steps % self._every == 0:
            self.exchange()

    def _begin(self) -> bool:
        """Take the server's first weights: they replace ours, and what was trained from others is dropped."""
        if not self.worker.begun:
            return False
        weights = self._read()
        for block in self.worker.poll():
            if not np.array_equal(block.values, self._base[block.place]):
                weights[block.place] = block.values
            self._base[block.place] = block.values
        self._write(weights)
        self._begun = True
        return True

    def _read(self) -> Vector:
        with torch.no_grad():
            flat = torch.cat([p.detach().reshape(-1).to("cpu", torch.float32) for p in self._parameters])
        weights: Vector = flat.numpy()
        return weights

    def _write(self, weights: Vector) -> None:
        place = 0
        with torch.no_grad():
            for parameter in self._parameters:
                values = torch.from_numpy(weights[place : place + parameter.numel()])
                parameter.copy_(values.view_as(parameter))
                place += parameter.numel()


def attach(
    optimizer: torch.optim.Optimizer,
    server: str,
    *,
    every: int | None = 1,
    rate: float = RATE,
    wait: float = 5.0,
    **worker: Any,
) -> Link:
    """Train through a parameter server from now on; the training script goes on as before.

    ``server`` is ``host:port``, or ``olaf://cluster@engine``. Every ``every`` optimiser steps an update is
    offered; with None, when ``exchange`` is called. ``rate`` is the server's γ. Before that, up to ``wait``
    seconds are spent on beginning with the server's weights. Further arguments go to ``olaf.Worker``.

    Raises what ``Worker`` raises; OtherModel when the server trains another model; ValueError for an
    ``every`` below 1 or no parameters.
    """
    values = sum(parameter.numel() for parameter in _parameters(optimizer))
    if (every is not None and every < 1) or values == 0:
        raise ValueError(f"every={every} steps of an optimiser of {values} values: both must be at least 1")
    member = Worker(server, values, **worker)
    try:
        return Link(optimizer, member, every, rate, wait)
    except BaseException:
        member.close()
        raise


def _parameters(optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
    """What the optimiser trains, in its own order; shared parameters once."""
    unique = {id(p): p for group in optimizer.param_groups for p in group["params"] if p.requires_grad}
    return list(unique.values())
