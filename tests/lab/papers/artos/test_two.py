"""Two trainings on the same cores, and actors that become more (ARTOS figures 13 and 16)."""

from dataclasses import asdict
from typing import Any

import pytest

pytest.importorskip("olaf", reason="needs the SDK: pip install ./sdk")

from olaf.elastic import Actors
from olaf.elastic.children import Children

from olafctl import plotting
from olaflab.papers.artos import figure16, two
from olaflab.papers.artos.tables import T6


def test_two_trainings_take_the_cores_in_turn() -> None:
    on_cores, beside = two.model_two(T6, seeds=5)
    assert beside.longer.mean < two.PAPER < on_cores.longer.mean < 10
    assert on_cores.one < 0.6 and 0.95 < on_cores.two <= 1
    (alone, no_noise) = two.model_two(T6, noise=0.0, seeds=2)
    assert alone.alone == pytest.approx(T6.artos_iteration(16), rel=0.01)
    assert no_noise.longer.mean == pytest.approx(0.0, abs=0.5)  # both fit, if nothing is late


def test_actors_of_two_trainings_never_play_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(two, "_REAL_UPDATES", 2)
    monkeypatch.setattr(two, "_TURN", 0.02)
    found = two.measure_two(2)
    assert found.alone > 2 * 0.02  # the turns of two actors
    assert 0 < found.one < found.two <= 1


@pytest.mark.slow
def test_actors_that_were_there_start_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    happened: list[object] = []
    start, update = Children.start, figure16._update

    def started(self: Children, number: int, *arguments: Any) -> None:
        happened.append(number)
        start(self, number, *arguments)

    def updated(team: Actors, actors: int) -> float:
        happened.append("update")
        return update(team, actors)

    monkeypatch.setattr(Children, "start", started)
    monkeypatch.setattr(figure16, "_update", updated)
    figure16.measure_step_up(2, turn=0.01)
    new = ["update", 0, 1, "update", 2, 3, "update"]
    asleep = [0, 1, 2, 3, "update", "update", "update"]
    assert happened == 2 * (new + asleep)


def test_only_ray_waits_for_new_actors() -> None:
    updates = figure16.model_updates(T6)
    assert sum(each.ray.whole for each in updates) == pytest.approx(245.63, rel=0.05)  # table 6
    assert sum(each.artos.whole for each in updates) == pytest.approx(208.25, rel=0.05)
    assert [number for number, each in enumerate(updates) if each.ray.start] == list(range(5, 40, 5))
    assert max(each.artos.start for each in updates) == pytest.approx(T6.restore)
    drawing = plotting.new_figure(8, 4)
    figure16.draw_updates({"rows": [asdict(each) for each in updates]}, drawing)
    assert len(drawing.axes) == 2
