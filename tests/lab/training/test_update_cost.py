"""The SDK's cost is measured next to gRPC's."""

import pytest

pytest.importorskip("olaf", reason="needs the SDK: pip install ./sdk")


def test_both_are_measured_for_both_models() -> None:
    from olaflab.training.update_cost import measure_costs

    measured = [cost for cost in measure_costs(4, 1, lambda step: None) if cost.name in ("olaf", "gRPC")]
    assert [(cost.values, cost.name) for cost in measured] == [
        (2205, "olaf"), (2205, "gRPC"), (137_477, "olaf"), (137_477, "gRPC"),
    ]  # fmt: skip
    for cost in measured:
        assert cost.worker > 0
        assert cost.server is not None and cost.server > 0
