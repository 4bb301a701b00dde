"""Weights into SGLang, 0.5.6 to 0.5.23, by a custom loader that adopts::

    python -m sglang.launch_server … --custom-weight-loader olaf.weights.sglang.load
    info = {"where": "olaf://weights@engine", "layout": publisher.layout}
    olaf.weights.sglang.update(engine, publisher.publish(), line=publisher.line, **info)

``load`` runs in SGLang's own process, where it joins as a player; the request carries a few bytes and no
weights. Every tensor goes through the model's loader.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import Any

import numpy as np
import torch

from olaf.weights.checkpoint import EnginePlayer

LOADER = "olaf.weights.sglang.load"
_players: dict[str, tuple[EnginePlayer, Any]] = {}
"""This process's, by what they joined, with the model that each loads into."""


def update(
    engine: Any,
    version: int,
    *,
    mode: str = "retract",
    seconds: float = 60.0,
    line: int | None = None,
    **info: Any,
) -> None:
    """Have ``engine`` (``sglang.Engine`` or an object with its methods) play ``version`` or a newer one.

    ``line``: ``Publisher.line``. ``info``: ``where`` and ``layout``, and what else
    :class:`~olaf.weights.checkpoint.EnginePlayer` takes. An engine with ``pause_generation`` pauses by
    ``mode`` and continues even where the update fails; ``sglang.Engine`` has none, and lets its running
    requests end first. Raises RuntimeError with SGLang's reason.
    """
    wish = json.dumps({"version": version, "seconds": seconds, "line": line, "info": info}).encode()
    carried = torch.from_numpy(np.frombuffer(wish, np.uint8).copy())
    sessions = hasattr(engine, "begin_weight_update")  # from 0.5.2x on it takes tensors only in a session
    with ExitStack() as stack:
        if hasattr(engine, "pause_generation"):
            engine.pause_generation(mode)
            stack.callback(engine.continue_generation)
        if sessions:
            _require_done(engine.begin_weight_update(), version)
        try:
            answer = engine.update_weights_from_tensor(
                [("olaf", carried)], load_format=LOADER, flush_cache=True
            )
        finally:
            ended = engine.end_weight_update() if sessions else (True, "")
        _require_done(answer, version)
        _require_done(ended, version)


def _require_done(answer: Any, version: int) -> None:
    """Raise RuntimeError where SGLang refused."""
    done, reason = answer[:2] if isinstance(answer, tuple) else (answer.success, answer.message)
    if not done:
        raise RuntimeError(f"SGLang did not take version {version}: {reason}")


def load(model: Any, named_tensors: list[tuple[str, torch.Tensor]]) -> None:
    """Load as SGLang's custom loader does: adopt the version that the request names."""
    ((_, carried),) = named_tensors
    wish = json.loads(carried.cpu().numpy().tobytes())
    joined = json.dumps(wish["info"], sort_keys=True)
    if joined not in _players or _players[joined][1] is not model:
        group = _ranks()
        player = EnginePlayer(wish["info"], lambda tensors: model.load_weights(tensors), group, whole=True)
        _players[joined] = player, model
    _players[joined][0].adopt(wish["version"], wish["seconds"], wish["line"])


def _ranks() -> Any:
    """Return the engine's tensor-parallel ranks; None outside of SGLang or for a single one."""
    try:
        from sglang.srt.distributed import get_tp_group
    except ImportError:
        return None
    group = get_tp_group()
    return group.cpu_group if group.world_size > 1 else None
