"""The event-level model next to ns-3 on OLAF's table 2; long: ``olafctl bench simulate --ns3 100``."""

from importlib import util

import pytest

if util.find_spec("ns3") is None:
    pytest.skip("ns-3 is not installed (pip install 'olafctl[ns3]')", allow_module_level=True)

from olafctl.bench.ns3.compare import compare
from olafctl.reproduce import table2

SECOND = 10**9


@pytest.mark.parametrize("number", [0, 1])
def test_the_same_updates_have_the_same_age_in_ns3(number: int) -> None:
    name, scenario = table2.scenarios(seed=1)[number]
    found = compare(name, scenario, 8 * SECOND, SECOND, lambda step: None)
    assert found.ours.generated == pytest.approx(found.theirs.generated, abs=2)
    assert found.age_difference is not None and found.age_difference < 0.02
    assert 1 - found.theirs.delivered == pytest.approx(found.ours.loss, abs=0.02)
