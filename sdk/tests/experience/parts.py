"""Rings with rows that tell where they belong."""

from __future__ import annotations

import multiprocessing
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Callable

import numpy as np
import numpy.typing as npt

from olaf.experience.layout import layout
from olaf.experience.ring import Ring

WIDE = layout({"obs": 300, "act": ((), "i8"), "reward": ()})
FORK = multiprocessing.get_context("fork")


def rows(actor: int, start: int, count: int) -> dict[str, npt.NDArray[Any]]:
    """Make steps that say in each value whose they are and which."""
    mark = actor * 100_000 + np.arange(start, start + count)
    return {
        "obs": np.repeat(mark[:, None], 300, axis=1).astype(np.float32),
        "act": mark,
        "reward": mark.astype(np.float32),
    }


def whole(batch: Any, actors: npt.NDArray[np.int64], positions: npt.NDArray[np.int64]) -> bool:
    """Return whether gathered rows are what :func:`rows` made for these places."""
    mark = actors * 100_000 + positions
    return bool(
        np.all(batch["obs"] == mark[:, None])
        and np.all(batch["act"] == mark)
        and np.all(batch["reward"] == mark)
    )


@contextmanager
def shared(*arguments: Any, **options: Any) -> Iterator[tuple[Ring, str]]:
    """Provide a ring with a name of its own, and the name."""
    name = f"test-{uuid.uuid4().hex}"
    ring = Ring(*arguments, name=name, **options)
    try:
        yield ring, name
    finally:
        ring.unlink()


def start(target: Callable[..., object], *arguments: object) -> Any:
    """Start a process that runs a function."""
    process = FORK.Process(target=target, args=arguments, daemon=True)
    process.start()
    return process


def kill(process: Any) -> None:
    """Kill a process as an operator's kill -9 does."""
    process.kill()
    process.join()


def in_a_fork(action: Callable[[], object]) -> str:
    """Return the name of the exception that an action raises in a forked process."""
    ours, theirs = FORK.Pipe()

    def run_forked() -> None:
        try:
            theirs.send(repr(action()))
        except Exception as error:
            theirs.send(type(error).__name__)

    process = FORK.Process(target=run_forked)
    process.start()
    process.join()
    return str(ours.recv())
