"""Samplers: rows come in as often as q(i) says, weights undo it, and a batch says what it is worth."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Callable

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from olaf.experience.layout import CLOSING, CUT, GOES_ON, TERMINATED, layout
from olaf.experience.prioritised import Prioritised, PrioritisedRuns
from olaf.experience.ring import Batch, Ring
from olaf.experience.samplers import Draw, Runs, Sampler, Uniform, effective_rows, sample
from olaf.experience.writer import Writer
from olaf.guards import usable

ROWS = 120
DRAWS = 1_000_000
BATCH = 1024

Make = Callable[[Ring, np.random.Generator], Sampler]


def prioritised(kind: type[Prioritised]) -> Make:
    """Make samplers of priorities that differ by a factor of about ten, given through the public door."""

    def make(ring: Ring, random: np.random.Generator) -> Sampler:
        sampler = kind(ring, random)
        for _ in range(60):
            draw = sampler.draw(64)
            sampler.update(draw, 0.05 + (draw.positions * 7919 + draw.actors * 31) % 101 / 101)
        return sampler

    return make


SAMPLERS: dict[str, Make] = {
    "uniform": Uniform,
    "runs of 4": lambda ring, random: Runs(ring, 4, random),
    "runs of 16": lambda ring, random: Runs(ring, 16, random),
    "prioritised": prioritised(Prioritised),
    "prioritised runs": prioritised(PrioritisedRuns),
}


def played(written: tuple[int, ...], following: bool) -> Ring:
    """Make a ring of actors that wrote so many steps each, in episodes of 25 or less."""
    ring = Ring(layout({"x": ()}, following="x" if following else None), ROWS, len(written))
    random = np.random.default_rng(5)
    for actor, steps in enumerate(written):
        writer, x = Writer(ring, actor), 0.0
        while steps > 0:
            length = min(steps, int(random.integers(1, 26)))
            for step in range(length):
                x = 0.95 * x + random.normal()  # neighbours resemble each other
                last = step == length - 1
                writer.write({"x": [x]}, end=(TERMINATED if length % 2 else CUT) if last else GOES_ON)
            if following:
                writer.finish(x=99.0)
            steps -= length
    return ring


RINGS = {"half full": (70,), "full": (120,), "wrapped": (307,), "three actors": (200, 40, 17)}


def places(ring: Ring) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Find every row that may be drawn, one by one."""
    following = ring.layout.following is not None
    found = [
        (actor, position)
        for actor in range(ring.actors)
        for position in range(int(ring.first()[actor]), int(ring.count()[actor]) - following)
        if not (following and ring.closing(np.array([actor]), np.array([position]))[0])
    ]
    actors, positions = np.array(found).T
    return actors, positions


def counted(sampler: Sampler, ring: Ring) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], int]:
    """Count how often each row was drawn; return the counts, q(i) of each, and the longest run."""
    slots = ring.slots(*places(ring))
    counts, chance = np.zeros(ring.actors * ROWS, np.int64), np.zeros(ring.actors * ROWS)
    longest = 1
    for _ in range(-(-DRAWS // BATCH)):
        draw = sampler.draw(BATCH)
        assert len(draw) == len(draw.actors) == len(draw.probability) == BATCH
        assert draw.population == len(slots)
        drawn = ring.slots(draw.actors, draw.positions)
        np.add.at(counts, drawn, 1)
        chance[drawn] = draw.probability
        longest = max(longest, int(np.bincount(draw.runs).max()))
    assert counts.sum() == counts[slots].sum(), "a row came in that may not"
    return counts[slots], chance[slots], longest


@pytest.mark.parametrize("following", [False, True], ids=["", "next not stored"])
@pytest.mark.parametrize("written", RINGS.values(), ids=RINGS)
@pytest.mark.parametrize("make", SAMPLERS.values(), ids=SAMPLERS)
def test_a_million_draws_fit_q(make: Make, written: tuple[int, ...], following: bool) -> None:
    """χ² bounds the difference; its spread grows with the length of runs: their rows come in together."""
    ring = played(written, following)
    counts, chance, longest = counted(make(ring, np.random.default_rng(17)), ring)
    drawable = chance > 0
    assert chance.sum() == pytest.approx(1, abs=1e-6)
    expected = chance[drawable] / chance.sum() * counts.sum()
    freedom = drawable.sum() - 1
    chi2 = ((counts[drawable] - expected) ** 2 / expected).sum()
    assert chi2 < freedom + 5 * np.sqrt(2 * freedom * longest), (chi2, freedom)


@pytest.mark.parametrize("make", SAMPLERS.values(), ids=SAMPLERS)
def test_at_beta_1_the_weighted_mean_is_the_rings(make: Make) -> None:
    ring = played((307,), True)
    true = ring.gather(*places(ring))["x"].astype(float).mean()
    sampler = make(ring, np.random.default_rng(23))
    means = []
    for _ in range(400):
        batch, draw = sample(ring, sampler, 256)
        means.append(float(np.mean(draw.weights(1.0) * batch["x"])))
    error = np.std(means) / np.sqrt(len(means))
    assert abs(np.mean(means) - true) < 3 * error


def test_neighbours_with_the_weight_of_their_reference_miss() -> None:
    """Rows of high priority are those of high x; MARL's rows inherit 1/P of the row that brought them."""
    ring = played((307,), False)
    sampler = PrioritisedRuns(ring, np.random.default_rng(2))
    actors, positions = places(ring)
    x = ring.gather(actors, positions)["x"].astype(float)
    every = Draw(actors, positions, np.ones(len(x)), np.arange(len(x)), len(x))
    sampler.update(every, np.exp(x))
    single = Prioritised(ring, np.random.default_rng(2))
    single.update(every, np.exp(x))
    chance = np.zeros(ROWS)
    for _ in range(200):
        one = single.draw(256)
        chance[one.positions % ROWS] = one.probability
    right, inherited = [], []
    for _ in range(600):
        batch, draw = sample(ring, sampler, 256)
        values = batch["x"].astype(float)
        references = draw.positions[np.searchsorted(draw.runs, draw.runs)]
        weights = 1 / chance[references % ROWS]
        right.append(np.sum(draw.weights(1.0) * values) / len(values))
        inherited.append(np.sum(weights / weights.sum() * values))
    error = np.std(right) / np.sqrt(len(right))
    assert abs(np.mean(right) - x.mean()) < 3 * error
    assert abs(np.mean(inherited) - x.mean()) > 6 * np.std(inherited) / np.sqrt(len(inherited))


@pytest.mark.parametrize("make", SAMPLERS.values(), ids=SAMPLERS)
def test_joint_rows_and_arrays_give_the_same_batches_as_lists(make: Make) -> None:
    """The same indices, bit for bit; lists of tuples are the reference implementation's layout."""
    batches = []
    random = np.random.default_rng(3)
    steps = random.normal(size=(90, 7)).astype(np.float32)
    for joint in (True, False):
        ring = Ring(layout({"obs": 4, "act": 2, "reward": ()}, following="obs", joint=joint), 100)
        writer = Writer(ring, 0)
        lists = []
        for number, step in enumerate(steps):
            last = number % 30 == 29
            keys = {"obs": step[None, :4], "act": step[None, 4:6], "reward": step[6:]}
            writer.write(keys, end=CUT if last else GOES_ON)
            after = np.zeros(4, np.float32) if last else steps[number + 1, :4]
            lists.append((step[:4], step[4:6], step[6], after))
            if last:
                writer.finish(obs=after)
        batch, draw = sample(ring, make(ring, np.random.default_rng(8)), 64)
        ordinals = draw.positions - draw.positions // 31  # without the closing rows
        columns = [np.array(column) for column in zip(*(lists[index] for index in ordinals))]
        for key, column in zip(("obs", "act", "reward", "next"), columns):
            assert batch[key].tobytes() == column.tobytes()
        batches.append((batch, draw))
    (one, drawn), (other, drawn_other) = batches
    assert np.array_equal(drawn.positions, drawn_other.positions)
    assert all(np.array_equal(one[key], other[key]) for key in one.columns)


def test_correlated_rows_are_worth_fewer() -> None:
    ring = Ring(layout({"x": ()}), 20_000)
    random = np.random.default_rng(4)
    x = np.zeros(20_000)
    for step in range(1, len(x)):
        x[step] = 0.95 * x[step - 1] + random.normal()
    Writer(ring, 0).write({"x": x})

    def worth(sampler: Sampler) -> float:
        drawn = [sample(ring, sampler, 1024) for _ in range(40)]
        return float(np.mean([effective_rows(batch["x"], draw.runs) for batch, draw in drawn]))

    def spread(n: int) -> float:
        sampler = Runs(ring, n, random)
        return float(np.std([sample(ring, sampler, 1024)[0]["x"].mean() for _ in range(400)]))

    assert worth(Uniform(ring, random)) == pytest.approx(1024, rel=0.1)
    measured = worth(Runs(ring, 16, random))
    assert measured == pytest.approx(1024 * (spread(1) / spread(16)) ** 2, rel=0.3)
    assert measured < 130


def test_rows_overwritten_while_gathered_are_drawn_again() -> None:
    ring = played((307,), False)

    class Racing(Uniform):
        """Its first draw has a row that is gone by the time it is gathered."""

        late = True

        def draw(self, rows: int) -> Draw:
            draw = super().draw(rows)
            if self.late:
                self.late = False
                draw.positions[3] = ring.first()[0]
                Writer(ring, 0).write({"x": [7.0]})
            return draw

    batch, draw = sample(ring, Racing(ring, np.random.default_rng(1)), 32)
    assert isinstance(batch, Batch) and batch.intact.all()
    assert (draw.positions >= ring.first()[0]).all() and len(batch) == 32


def test_what_cannot_be_drawn_is_reported() -> None:
    ring = Ring(layout({"x": ()}), 8)
    random = np.random.default_rng(1)
    for sampler in (Uniform(ring, random), Prioritised(ring, random)):
        with pytest.raises(IndexError, match="to draw"):
            sampler.draw(4)
    Writer(ring, 0).write({"x": np.zeros(3)})
    with pytest.raises(IndexError, match="no 4 rows"):
        Runs(ring, 4, random).draw(8)
    with pytest.raises(ValueError, match="8 rows are not a multiple of runs of 3"):
        Runs(ring, 3, random).draw(8)


@pytest.mark.parametrize("following", [False, True])
@pytest.mark.parametrize("kind", [Prioritised, PrioritisedRuns])
@given(values=st.lists(st.floats(width=64), min_size=16, max_size=16))
def test_priorities_that_are_not_finite_change_nothing(
    kind: type[Prioritised], following: bool, values: list[float]
) -> None:
    ring = Ring(layout({"x": ()}, following="x" if following else None), 64)
    Writer(ring, 0).write({"x": np.arange(40.0)})
    sampler, other = (kind(ring, np.random.default_rng(1)) for _ in range(2))
    draw, _ = sampler.draw(16), other.draw(16)
    good = usable((np.abs(values) + 1e-6) ** 0.6)
    sampler.update(draw, values)
    kept = replace(draw, actors=draw.actors[good], positions=draw.positions[good])
    other.update(kept, np.array(values)[good])
    assert sampler.broken == 16 - good.sum()
    one, same = sampler.draw(64), other.draw(64)
    assert np.array_equal(one.positions, same.positions) and np.isfinite(one.probability).all()
    sampler.update(one, np.ones(64))
    assert np.isfinite(sampler.draw(64).probability).all()


def test_probabilities_are_right_while_an_actor_writes() -> None:
    """A row that a writer reaches within a draw is never taken for a closing one."""
    ring = Ring(layout({"x": ()}, following="x"), 48)
    stop = threading.Event()

    def play() -> None:
        writer, random = Writer(ring, 0), np.random.default_rng(1)
        while not stop.is_set():
            writer.write({"x": np.zeros(random.integers(1, 6))})
            writer.write({"x": [0.0]}, end=CUT)
            writer.finish(x=0.0)

    thread = threading.Thread(target=play)
    thread.start()
    try:
        while ring.count()[0] < 96:
            pass
        for seed in range(300):
            for kind in (Uniform, Prioritised, PrioritisedRuns):
                batch, draw = sample(ring, kind(ring, np.random.default_rng(seed)), 64)
                assert batch.intact.all() and not (batch["end"] == CLOSING).any()
                assert 0 < draw.population < 48
    finally:
        stop.set()
        thread.join()
