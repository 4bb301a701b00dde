"""A queue of the default geometry, new for every test."""

from collections.abc import Iterator

import pytest

from olafctl.queue.verilate import build_queue
from olafctl.wire.geometry import Geometry
from olaflab.queue.model import QueueModel


@pytest.fixture
def queue() -> Iterator[QueueModel]:
    with QueueModel(build_queue(Geometry())) as model:
        yield model
