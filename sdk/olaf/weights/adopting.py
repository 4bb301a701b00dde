"""Players in two lines, whatever the library calls its model.

sub = olaf.weights.adopt_into(model, "olaf://weights@engine")
sub.adopt()  # at a safe point: between two rollouts
"""

from __future__ import annotations

from typing import Any

from olaf.weights.subscriber import Subscriber
from olaf.weights.tensors import OtherLayout


def adopt_into(model: Any, where: str, **options: Any) -> Subscriber:
    """A player of the torch module that ``model`` is or holds; ``options`` as of ``olaf.Subscriber``.

    A module (CleanRL's agent), an algorithm of Stable-Baselines3 (its ``policy``), or an algorithm, learner
    or runner of RLlib (its ``get_module()``, or its ``module``). Raises OtherLayout where it holds none.
    """
    return Subscriber(where, module_of(model), **options)


def module_of(model: Any) -> Any:
    """The torch module of ``model``; see :func:`adopt_into`."""
    if hasattr(model, "named_parameters"):
        return model
    get = getattr(model, "get_module", None)
    for found in (
        getattr(model, "policy", None),
        get() if callable(get) else None,
        getattr(model, "module", None),
    ):
        if hasattr(found, "named_parameters"):
            return found
    raise OtherLayout(f"{type(model).__name__} holds no torch module; give the module")
