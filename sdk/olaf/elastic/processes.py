"""Learners as processes of this machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Callable

from olaf.elastic.children import Children, Gone
from olaf.errors import LearnerFailed

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from olaf.elastic.learners import Learners

Function = Callable[[Any, Any], Any]
"""A learner: of (weights, rows) it makes a gradient, or whatever else is to be delivered."""


class Processes:
    """A runner of learners on this machine."""

    def __init__(self, function: Function, preload: Sequence[str] = ()) -> None:
        """``function`` is one of a module; ``preload`` are modules that every learner finds imported."""
        self._children = Children([function.__module__, *preload])
        self._function = function

    def start(self, slot: int) -> None:
        """Runner."""
        self._children.start(slot, _learn, self._function)

    def give(self, slot: int, weights: Any, rows: Any) -> None:
        """Runner."""
        self._children.tell(slot, (weights, rows))

    def stop(self, slot: int) -> None:
        """Runner."""
        self._children.stop(slot)

    def pids(self) -> dict[int, int]:
        """The processes by slot."""
        return self._children.pids()

    def serve(self, learners: Learners, seconds: float) -> bool:
        """Wait up to ``seconds`` for learners, and pass on their messages; whether there were any.

        Raises LearnerFailed where a learner's function raised an exception.
        """
        heard = self._children.heard(seconds)
        for slot, message in heard:
            if isinstance(message, Gone):
                learners.died(slot, message.reason)
                continue
            kind, value = message
            if kind == "failed":
                raise LearnerFailed(f"a learner failed: {value}")
            if kind == "ready":
                learners.ready(slot)
            else:
                learners.finished(slot, value)
        return bool(heard)

    def close(self) -> None:
        """End all, those that compute too."""
        self._children.close()


def _learn(pipe: Connection, function: Function) -> None:
    pipe.send(("ready", None))
    while True:
        weights, rows = pipe.recv()
        try:
            answer = "finished", function(weights, rows)
        except Exception as error:
            answer = "failed", f"{type(error).__name__}: {error}"
        pipe.send(answer)
