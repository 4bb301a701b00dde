"""The event-level model next to ns-3 on OLAF's table 2; long: ``olaflab bench simulate --ns3 100``."""

from importlib import metadata, util
from pathlib import Path

import pytest

pytest.importorskip("olaf", reason="the SDK is not installed (pip install ./sdk)")

from olaflab.model.agreement.ns3.compare import compare
from olaflab.papers.olaf import table2
from olafswitch.errors import MissingTool

SECOND = 10**9


@pytest.mark.skipif(util.find_spec("ns3") is None, reason="ns-3 is not installed (pip install './lab[ns3]')")
@pytest.mark.parametrize("number", [0, 1])
def test_the_same_updates_have_the_same_age_in_ns3(number: int) -> None:
    name, scenario = table2.scenarios(seed=1)[number]
    found = compare(name, scenario, 8 * SECOND, SECOND, lambda step: None)
    assert found.ours.generated == pytest.approx(found.theirs.generated, abs=2)
    assert found.age_difference is not None and found.age_difference < 0.02
    assert 1 - found.theirs.delivered == pytest.approx(found.ours.loss, abs=0.02)


def test_without_ns3_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> metadata.Distribution:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    with pytest.raises(MissingTool, match=r"ns-3 is not installed.*lab\[ns3\]"):
        compare("x", table2.scenarios(1)[0][1], SECOND, 0, lambda step: None)


def test_an_ns3_without_its_libraries_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "ns3-3.44.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Name: ns3\nVersion: 3.44\n")
    monkeypatch.setattr(metadata, "distribution", lambda name: metadata.Distribution.at(folder))
    with pytest.raises(MissingTool, match="has no libraries"):
        compare("x", table2.scenarios(1)[0][1], SECOND, 0, lambda step: None)
