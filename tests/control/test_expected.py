"""What to expect of this machine is measured, once, and says what it leaves out."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from olafctl.control.expected import SHORT, expected
from olafctl.network import interfaces
from olafctl.targets import testbeds
from olafctl.testbed.model import Testbed
from olafswitch.ports.namespace import HOME
from olafswitch.ports.transport import Transport


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A kernel of its own name: what was measured before does not count."""
    monkeypatch.setattr("platform.release", lambda: str(tmp_path))
    yield


def _bed(name: str, transport: Transport) -> Testbed:
    bed = testbeds.load(testbeds.locate(name), target="software")
    return replace(bed, ports=tuple(replace(port, transport=transport) for port in bed.ports))


def test_it_is_measured_once_and_its_parts_add_up() -> None:
    steps: list[str] = []
    first = expected(_bed("laptop", Transport.UNIX), steps.append)
    assert first is not None
    assert [size.bytes for size in first.sizes] == [SHORT, 1536]
    for size in first.sizes:
        parts = size.engine.vnp4_1 + size.engine.queue + size.engine.vnp4_2 + size.engine.rest
        assert min(size.engine.vnp4_1, size.engine.queue, size.engine.vnp4_2) > 0
        assert size.engine.whole == pytest.approx(parts, rel=0.5)
        assert size.ports is None
        assert size.per_second == pytest.approx(1e9 / size.engine.whole)
    assert "what ports of unix cost is not in it" in first.limits
    assert any("measuring" in step for step in steps)
    steps.clear()
    assert expected(_bed("laptop", Transport.UNIX), steps.append) == first
    assert not any("measuring" in step for step in steps)


@pytest.mark.skipif(interfaces.why_not() is not None, reason=str(interfaces.why_not()))
def test_ports_of_interfaces_are_measured_where_nothing_stays(capfd: pytest.CaptureFixture[str]) -> None:
    before = set(HOME.glob("olaf-try-*"))
    found = expected(_bed("laptop", Transport.VETH), lambda _: None)
    assert found is not None
    assert all(size.ports for size in found.sizes)
    assert found.limits[0].startswith("ports and the kernel have")
    assert set(HOME.glob("olaf-try-*")) <= before
    assert capfd.readouterr().err == ""


def test_an_update_through_several_engines_costs_each_of_them() -> None:
    found = expected(_bed("two-racks", Transport.UNIX), lambda _: None)
    assert found is not None
    assert all(size.hops == 2 and size.ns == 2 * size.engine.whole for size in found.sizes)
    assert "3 engines share a thread; an update passes 2" in found.limits
