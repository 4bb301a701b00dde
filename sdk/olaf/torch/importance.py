"""Truncated importance weights over the versions that learners compute with now (Stellaris §V-B).

A learner's rows were played by a policy μ. R' = min(min_i π_i(a|s)/μ(a|s), ρ) takes the smallest ratio over
all learners' policies π_i in place of its own alone, so that none moves far from what the others know. Each
π_i is a version of the weights that the server gave out: a worker keeps the last ones from the answers that
it gets anyway (``keep=`` of ``olaf.Worker`` and ``olaf.attach``), and nothing more is sent.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Callable

import torch

from olaf.torch import flat
from olaf.worker import Worker

SMALL = 0.1
"""Below, a row hardly counts any more."""


def truncated(
    own: torch.Tensor,
    behaviour: torch.Tensor,
    others: Iterable[torch.Tensor] = (),
    rho: float = 1.0,
    published: bool = False,
) -> torch.Tensor:
    """Return R' of rows, from logarithms of probabilities (n,): of the policy trained, of μ, of the others'.

    Its gradient is R'·∇log π of the own policy: where another's ratio is the smallest too, and at a tie.
    ``published`` takes the formula of the authors' code, min(own ratio, max(min_i, ρ)), instead of the
    paper's. Raises ValueError for a ρ that is not above 0.
    """
    if not rho > 0:
        raise ValueError(f"a bound ρ of {rho}; give one above 0, or infinity for none")
    with torch.no_grad():
        ratio = (own - behaviour).exp()
        least = ratio
        for other in others:
            least = torch.minimum(least, (other - behaviour).exp())
        least = torch.minimum(ratio, least.clamp(min=rho)) if published else least.clamp(max=rho)
    return least * (own - own.detach()).exp()


def clipped(ratio: torch.Tensor, advantages: torch.Tensor, epsilon: float = 0.2) -> torch.Tensor:
    """Return PPO's loss, -mean min(R·A, clip(R, 1 ± ε)·A), of ratios and advantages (n,)."""
    return -torch.min(ratio * advantages, ratio.clamp(1 - epsilon, 1 + epsilon) * advantages).mean()


class Importance:
    """R' for a worker whose model these parameters are."""

    def __init__(
        self, parameters: Iterable[torch.Tensor], worker: Worker, rho: float = 1.0, published: bool = False
    ) -> None:
        """``parameters`` in the order of the model's values, those that are trained; ``worker`` keeps
        versions. Raises ValueError for a ρ that is not above 0, and for parameters of another length."""
        if not rho > 0:
            raise ValueError(f"a bound ρ of {rho}; give one above 0, or infinity for none")
        self._parameters: Sequence[torch.Tensor] = list(parameters)
        values = sum(flat.real(parameter).numel() for parameter in self._parameters)
        if values != worker.segments.values:
            raise ValueError(f"parameters of {values} values for a model of {worker.segments.values}")
        self._worker, self._rho, self._published = worker, rho, published
        self.small = math.nan
        """Share of the last rows whose weight was below SMALL."""

    def ratios(self, log_prob: Callable[[], torch.Tensor], behaviour: torch.Tensor) -> torch.Tensor:
        """Return R' of rows (n,). ``log_prob`` gives their actions' log π by the parameters as they are then.

        It is called once with gradients, and once without for each version that the worker has kept.
        """
        own = log_prob()
        with torch.no_grad():
            others = []
            for weights in self._worker.versions():
                with flat.holding(self._parameters, weights):
                    others.append(log_prob())
        ratios = truncated(own, behaviour, others, self._rho, self._published)
        self.small = float((ratios.detach() < SMALL).float().mean())
        return ratios
