"""Learners as tasks of a Ray cluster: beyond one machine (needs ``ray``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import ray
from ray.exceptions import RayActorError, RayTaskError

from olaf.errors import LearnerFailed

if TYPE_CHECKING:
    from olaf.elastic.learners import Learners

Function = Callable[[Any, Any], Any]
"""A learner: of (weights, rows) it makes a gradient, or whatever else is to be delivered."""


class Tasks:
    """A runner of learners, each a Ray actor: its process keeps its libraries while it is kept alive."""

    def __init__(self, function: Function, **demands: Any) -> None:
        """``function`` is one of a module that the cluster's nodes have; ``demands`` are Ray's of a learner,
        such as ``num_gpus=0.25``. Ray must have been initialised."""
        self._function = function
        self._learner: Any = ray.remote(**{"num_cpus": 1, **demands})(_Learner)
        self._actors: dict[int, Any] = {}
        self._awaited: dict[Any, tuple[int, bool]] = {}
        """Slot of each task, and whether it computes or starts."""

    def start(self, slot: int) -> None:
        self._actors[slot] = self._learner.remote(self._function)
        self._awaited[self._actors[slot].ready.remote()] = slot, False

    def give(self, slot: int, weights: Any, rows: Any) -> None:
        self._awaited[self._actors[slot].learn.remote(weights, rows)] = slot, True

    def stop(self, slot: int) -> None:
        self._forget_tasks(slot)
        ray.kill(self._actors.pop(slot))

    @property
    def slots(self) -> list[int]:
        """Slots of the learners that are alive."""
        return list(self._actors)

    def serve(self, learners: Learners, seconds: float) -> bool:
        """Wait up to ``seconds`` for learners, and pass on their messages; whether there were any.

        Raises LearnerFailed where a learner's function raised an exception.
        """
        if not self._awaited:
            return False
        done, _ = ray.wait(list(self._awaited), num_returns=1, timeout=seconds)
        for task in done:
            slot, computes = self._awaited.pop(task)
            try:
                value = ray.get(task)
            except RayTaskError as error:
                raise LearnerFailed(
                    f"a learner failed: {type(error.cause).__name__}: {error.cause}"
                ) from None
            except RayActorError as error:
                self._actors.pop(slot)
                self._forget_tasks(slot)
                learners.died(slot, str(error).splitlines()[0])
                continue
            if computes:
                learners.finished(slot, value)
            else:
                learners.ready(slot)
        return bool(done)

    def close(self) -> None:
        """End all, those that compute too."""
        for slot in list(self._actors):
            self.stop(slot)

    def _forget_tasks(self, slot: int) -> None:
        self._awaited = {task: what for task, what in self._awaited.items() if what[0] != slot}


class _Learner:
    def __init__(self, function: Function) -> None:
        self._function = function

    def ready(self) -> None:
        """Return once the libraries are loaded."""

    def learn(self, weights: Any, rows: Any) -> Any:
        return self._function(weights, rows)
