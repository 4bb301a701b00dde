"""A callback for TRL, and every trainer of transformers, that publishes after each step.

    trainer = GRPOTrainer(…, callbacks=[olaf.weights.trl.Publish("olaf://weights@engine", dtype="bfloat16")])

Every rank has one. Of a sharded model (``fully_shard``) the ranks publish together; of a replicated one (DDP)
rank 0 alone does.
"""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from olaf.weights.publisher import Publisher


class Publish(TrainerCallback):
    """Publishes the model when training begins and after every step of the optimiser."""

    def __init__(self, where: str, **options: Any) -> None:
        """Take ``options`` as ``olaf.Publisher`` does."""
        self._where, self._options = where, options
        self.publisher: Publisher | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        """Join, and publish what training begins with."""
        sharded = any(hasattr(each, "full_tensor") for each in model.parameters())
        if not sharded and not state.is_world_process_zero:
            return
        if self.publisher is None:
            self.publisher = Publisher(self._where, model, **self._options)
        self.publisher.publish()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Publish the model after a step."""
        if self.publisher is not None:
            self.publisher.publish()

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Leave at the end of the training."""
        if self.publisher is not None:
            self.publisher.close()
            self.publisher = None
