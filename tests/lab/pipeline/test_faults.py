"""The target software survives what may happen to it; `bench software --faults` does more of it."""

from dataclasses import replace

import pytest

from olafctl.ports import interfaces
from olafctl.ports.transport import Transport
from olafctl.targets import testbeds
from olaflab.pipeline import faults

KINDS = [Transport.UNIX, Transport.VETH]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_wrong_is_merged_and_it_goes_on(
    kind: Transport, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind is Transport.VETH and (reason := interfaces.why_not()):
        pytest.skip(reason)
    monkeypatch.setenv("OLAF_STATE", str(tmp_path_factory.mktemp("s")))
    bed = testbeds.load(testbeds.locate("laptop"))
    bed = replace(bed, ports=tuple(replace(port, transport=kind) for port in bed.ports))
    passed = faults.run(bed, malformed=2000, stopped=0.0, progress=lambda step: None)
    assert len(passed) == (5 if kind is Transport.VETH else 4)
    assert all(0 < each.arrived <= each.sent for each in passed.values())
