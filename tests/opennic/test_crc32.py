"""The worker hash equals v1model's bit for bit, exactly on time, one in each cycle."""

import random
import zlib

import pytest

from tests.opennic.conftest import MakeBench


@pytest.mark.parametrize("latency", [1, 4])
def test_it_is_crc32_exactly_latency_cycles_later(bench: MakeBench, latency: int) -> None:
    pick = random.Random(4)
    this = bench("olaf_box_crc32", LATENCY=latency)
    asked: list[bytes | None] = [pick.randbytes(13) if pick.random() < 0.7 else None for _ in range(300)]
    answers: list[int | None] = []
    for one in [*asked, *[None] * latency]:
        this["in_valid"] = int(one is not None)
        this["in_data"] = int.from_bytes(one or bytes(13), "big")
        this.run_cycles(1)
        answers.append(this["out_crc"] if this["out_valid"] else None)
    # An input before an edge shows at the output after it: this is one cycle of the latency.
    assert answers[latency - 1 : latency - 1 + len(asked)] == [one and zlib.crc32(one) for one in asked]
