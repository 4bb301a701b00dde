"""The weight-transfer backend ``olaf`` of vLLM, 0.22 to 0.33.

    llm = LLM(model, weight_transfer_config={"backend": "olaf"})
    client.init_weight_transfer_engine({"where": "olaf://weights@engine", "layout": publisher.layout})
    client.start_weight_update()
    client.update_weights({"version": publisher.publish(), "line": publisher.line})
    client.finish_weight_update()

Tensors that changed go to the model's own loader. A model whose engine rewrites weights when it loads them
(quantised, fused experts) loads every tensor by vLLM's layerwise reload, and so does every model before 0.25,
whose workers always begin one. vLLM's sparse patches are not
used: they are staged as whole tensors, cannot hold NaN, and have no way back when a loader fails.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from vllm.distributed.weight_transfer.base import (
    WeightTransferEngine,
    WeightTransferInitInfo,
    WeightTransferUpdateInfo,
)
from vllm.distributed.weight_transfer.factory import WeightTransferEngineFactory

from olaf.weights.checkpoint import EnginePlayer

_AS_LOADED = frozenset({"UnquantizedLinearMethod", "UnquantizedEmbeddingMethod"})
"""Methods of vLLM that keep weights as the checkpoint has them."""
_WORKER_RELOADS = not hasattr(WeightTransferEngine, "start_weight_update")
"""Whether the worker reloads layerwise for any backend, as before vLLM 0.25."""


@dataclass
class InitInfo(WeightTransferInitInfo):
    """What an engine needs to join as a player."""

    where: str
    layout: str
    """``Publisher.layout``."""
    key: str | None = None
    max_lag: int | None = None
    local: str | None = None


@dataclass
class UpdateInfo(WeightTransferUpdateInfo):
    """The version that the engine must have afterwards, or a newer one."""

    version: int = 1
    seconds: float = 60.0
    line: int | None = None
    """``Publisher.line``, so that a publisher that came back is not taken for the one before."""


class OlafWeightTransferEngine(WeightTransferEngine[InitInfo, UpdateInfo]):
    """A worker's end. All ranks of an engine share one socket."""

    init_info_cls = InitInfo
    update_info_cls = UpdateInfo
    supports_draft_weight_update = False
    _player: EnginePlayer | None = None
    _loader: Callable[[list[tuple[str, Any]]], object] | None = None

    def init_transfer_engine(self, init_info: InitInfo) -> None:
        """Join the players' cluster."""
        whole = _WORKER_RELOADS or self._rewrites()
        self._player = EnginePlayer(asdict(init_info), self._load, _ranks(self.parallel_config), whole)

    def start_weight_update(self) -> None:
        """Prepare a layerwise reload where the model needs one."""
        if self._rewrites():
            from vllm.model_executor.model_loader.reload import initialize_layerwise_reload

            initialize_layerwise_reload(self.model)

    def receive_weights(
        self, update_info: UpdateInfo, load_weights: Callable[[list[tuple[str, Any]]], object] | None = None
    ) -> None:
        """Adopt a version. Raises OlafError where it does not come. vLLM 0.22 gives its ``load_weights``."""
        if self._player is None:
            raise RuntimeError("call init_weight_transfer_engine before update_weights")
        self._loader = load_weights
        self._player.adopt(update_info.version, update_info.seconds, update_info.line)

    @staticmethod
    def trainer_send_weights(iterator: Any, trainer_args: Any) -> None:
        """Refuse: a trainer publishes."""
        raise RuntimeError("the backend olaf has no sending end in vLLM; give the trainer olaf.Publisher")

    def finish_weight_update(self) -> None:
        """End a layerwise reload."""
        if self._rewrites():
            from vllm.model_executor.model_loader.reload import finalize_layerwise_reload

            finalize_layerwise_reload(self.model, self.model_config)

    def shutdown(self) -> None:
        """Leave the cluster."""
        if self._player is not None:
            self._player.close()
            self._player = None

    def _load(self, tensors: list[tuple[str, Any]]) -> None:
        if self._loader is not None:
            self._loader(tensors)
        else:
            self.model.load_weights((name, tensor.to(self.device)) for name, tensor in tensors)

    def _rewrites(self) -> bool:
        """Return whether any layer holds its weights otherwise than the checkpoint."""
        methods = {type(getattr(layer, "quant_method", None)).__name__ for layer in self.model.modules()}
        return not methods <= _AS_LOADED | {"NoneType"}


def register() -> None:
    """Register the engine in each of vLLM's processes (entry point ``vllm.general_plugins``)."""
    if "olaf" not in WeightTransferEngineFactory._registry:
        WeightTransferEngineFactory.register_engine("olaf", OlafWeightTransferEngine)


def _ranks(parallel: Any) -> Any:
    """Return the engine's ranks, for tensors on the host; None for a single one."""
    if parallel.world_size == 1:
        return None
    from vllm.distributed.parallel_state import get_world_group

    return get_world_group().cpu_group
