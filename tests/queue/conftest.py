"""Queues to test: small, and with jumbo slots, built once and kept by content."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from olafctl.queue.verilate import build_queue
from olafctl.wire.geometry import Geometry
from olaftest.queue.model import QueueModel

NewQueue = Callable[[Geometry], QueueModel]


@pytest.fixture
def new_queue() -> Iterator[NewQueue]:
    """Makes a queue after reset; closes all at the end."""
    with ExitStack() as stack:
        yield lambda geometry: stack.enter_context(QueueModel(build_queue(geometry)))


@pytest.fixture
def queue(new_queue: NewQueue) -> QueueModel:
    return new_queue(Geometry())
