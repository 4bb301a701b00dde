"""What a publisher holds beside its model is what docs/weights.md says, however much of a version changed."""

from __future__ import annotations

import os
import tracemalloc

import numpy as np
import pytest

from olaf.transport.virtual import VirtualNetwork
from olaf.weights import Publisher
from tests.weights.fan import PUBLISHER, Engine

VALUES = 4_000_000
BLOCKS = 8e6 * min(4, os.cpu_count() or 1)
"""Bytes that the page allows for the threads' blocks."""


@pytest.mark.parametrize("share", [0.014, 0.5, 1.0])
def test_a_publisher_holds_no_more_than_the_page_says(share: float) -> None:
    network, random = VirtualNetwork(Engine(), epoch=10**18), np.random.default_rng(0)
    model = {"w": (random.normal(0, 0.05, VALUES).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)}
    published, largest, issues = 2 * VALUES, 0, [0]
    tracemalloc.start()
    try:
        with Publisher("10.0.1.1:20300", model, mtu=9000, port=network.port(PUBLISHER)) as publisher:
            for _ in range(5):
                where = np.flatnonzero(random.random(VALUES) < share)
                model["w"][where] += random.integers(1, 30, len(where), np.uint16)
                before = publisher.counters.bytes
                del where
                tracemalloc.reset_peak()
                publisher.publish()
                network.run(network.time + 1.0)
                issues.append(publisher.counters.bytes - before)
                largest = tracemalloc.get_traced_memory()[1]
                older = min(sum(issues[:-1]), published)
                assert largest < 3 * published + VALUES + 2 * issues[-1] + older + BLOCKS
    finally:
        tracemalloc.stop()
    assert largest > 2 * published
