"""SGLang's door: pause, a custom loader that adopts, continue::

    python -m sglang.launch_server … --custom-weight-loader olaf.weights.sglang.load
    info = {"where": "olaf://weights@engine", "layout": publisher.layout}
    olaf.weights.sglang.update(engine, publisher.publish(), **info)

``load`` runs in SGLang's own process, where it joins as a player; the request carries a few bytes and no
weights. Every tensor goes through the model's loader.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import torch

from olaf.weights.checkpoint import EnginePlayer

LOADER = "olaf.weights.sglang.load"
_players: dict[str, tuple[EnginePlayer, Any]] = {}
"""This process's, by what they joined, with the model that each loads into."""


def update(engine: Any, version: int, *, mode: str = "retract", seconds: float = 60.0, **info: Any) -> None:
    """Have ``engine`` (``sglang.Engine`` or an object with its methods) play ``version`` or a newer one.

    ``info``: ``where`` and ``layout``, and what else :class:`~olaf.weights.checkpoint.EnginePlayer` takes.
    Generation pauses by ``mode`` and continues even where the update fails. Raises RuntimeError with SGLang's
    reason.
    """
    wish = json.dumps({"version": version, "seconds": seconds, "info": info}).encode()
    carried = torch.from_numpy(np.frombuffer(wish, np.uint8).copy())
    engine.pause_generation(mode)
    try:
        answer = engine.update_weights_from_tensor([("olaf", carried)], load_format=LOADER, flush_cache=True)
    finally:
        engine.continue_generation()
    done, reason = answer[:2] if isinstance(answer, tuple) else (answer.success, answer.message)
    if not done:
        raise RuntimeError(f"SGLang did not take version {version}: {reason}")


def load(model: Any, named_tensors: list[tuple[str, torch.Tensor]]) -> None:
    """SGLang's custom loader: adopt the version that the request names."""
    ((_, carried),) = named_tensors
    wish = json.loads(carried.cpu().numpy().tobytes())
    joined = json.dumps(wish["info"], sort_keys=True)
    if joined not in _players or _players[joined][1] is not model:
        group = _ranks()
        player = EnginePlayer(wish["info"], lambda tensors: model.load_weights(tensors), group, whole=True)
        _players[joined] = player, model
    _players[joined][0].adopt(wish["version"], wish["seconds"])


def _ranks() -> Any:
    """The engine's tensor-parallel ranks; None outside of SGLang or for a single one."""
    try:
        from sglang.srt.distributed import get_tp_group
    except ImportError:
        return None
    group = get_tp_group()
    return group.cpu_group if group.world_size > 1 else None
