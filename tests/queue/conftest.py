"""Queues under test: small, and with jumbo slots, built once and cached by content."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from olafctl.queue.verilate import build_queue
from olafctl.wire.geometry import Geometry
from olaftest.queue.model import QueueModel

NewQueue = Callable[[Geometry], QueueModel]


@pytest.fixture
def new_queue() -> Iterator[NewQueue]:
    """Provide a function that makes a queue after reset; all are closed at the end."""
    with ExitStack() as stack:
        yield lambda geometry: stack.enter_context(QueueModel(build_queue(geometry)))


@pytest.fixture
def queue(new_queue: NewQueue) -> QueueModel:
    return new_queue(Geometry())
