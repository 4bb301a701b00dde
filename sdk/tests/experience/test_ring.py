"""The ring: rows are read complete, whichever process dies."""

from __future__ import annotations

import os
import pickle
import tempfile
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from olaf.errors import Taken
from olaf.experience.layout import CUT, GOES_ON, TERMINATED, agents, layout
from olaf.experience.passers import Bell
from olaf.experience.ring import REFUSE, Ring, RingError
from olaf.experience.samplers import Uniform
from olaf.experience.triggers import DataKey
from olaf.experience.writer import Writer
from tests.experience.parts import WIDE, in_a_fork, kill, rows, shared, start, whole

BOTH = pytest.mark.parametrize("joint", [True, False])


def test_rows_are_gathered_as_written_after_a_wrap() -> None:
    ring = Ring(WIDE, 10, 2)
    writer = Writer(ring, 1)
    for start_at, count in ((0, 7), (7, 6), (13, 10)):
        assert writer.write(rows(1, start_at, count), version=start_at)
    assert ring.count().tolist() == [0, 23] and ring.first().tolist() == [0, 13]
    positions = np.array([22, 13, 17])
    batch = ring.gather(np.full(3, 1), positions)
    assert whole(batch, np.full(3, 1), positions) and batch.intact.all()
    assert batch["actor"].tolist() == [1] * 3 and batch["version"].tolist() == [13] * 3


def test_a_view_of_a_key_is_the_memory_itself() -> None:
    ring = Ring(WIDE, 4)
    Writer(ring, 0).write(rows(0, 0, 4))
    ring.column("reward")[2] = 7
    assert ring.gather(np.zeros(1, int), np.array([2]))["reward"] == [7]


@BOTH
def test_rows_are_read_where_they_lie_also_where_they_wrap(joint: bool) -> None:
    ring = Ring(layout({"obs": 3, "reward": ()}, joint=joint), 8, 2, full=REFUSE)
    writer, learn = Writer(ring, 1), DataKey(ring, "learn", 1, 6)
    for begin in (0, 6):
        values = np.arange(begin, begin + 6, dtype=np.float32)
        assert writer.write({"obs": np.stack([values] * 3, axis=1), "reward": values}, version=begin)
        assert learn.check()
        firing = learn.take()
        assert firing is not None
        parts = ring.views(1, begin, begin + 6)
        assert [len(part["reward"]) for part in parts] == ([6] if begin == 0 else [2, 4])
        assert np.concatenate([part["obs"][:, 2] for part in parts]).tolist() == values.tolist()
        assert all((part["version"] == begin).all() for part in parts)
        assert np.shares_memory(parts[0]["obs"], ring.column("obs"))
        assert not writer.write({"obs": np.zeros((3, 3)), "reward": np.zeros(3)})  # they stay as they are
        learn.done(firing)
    for begin, stop in ((3, 8), (11, 13), (8, 7)):
        with pytest.raises(ValueError, match="of actor 1, which has 4 to 12"):
            ring.views(1, begin, stop)


def test_each_key_has_a_counter() -> None:
    ring = Ring(WIDE, 8)
    writer, data = Writer(ring, 0), rows(0, 0, 5)
    assert writer.write(
        {"reward": data["reward"], "act": data["act"]}, version=3, end=[0, 0, 0, 0, TERMINATED]
    )
    assert (ring.count("reward", "act")[0], ring.count("obs")[0], ring.count()[0]) == (5, 0, 0)
    assert writer.write({"obs": data["obs"][:2]}) and writer.write({"obs": data["obs"][2:]})
    assert ring.count()[0] == 5
    batch = ring.gather(np.zeros(5, int), np.arange(5))
    assert whole(batch, np.zeros(5, int), np.arange(5))
    assert batch["version"].tolist() == [3] * 5 and batch["end"].tolist() == [0, 0, 0, 0, TERMINATED]


def test_episodes_are_numbered() -> None:
    ring = Ring(layout({"x": ()}), 16)
    writer = Writer(ring, 0)
    writer.write({"x": np.zeros(4)}, end=[GOES_ON, CUT, TERMINATED, GOES_ON])
    writer.write({"x": np.zeros(2)}, end=TERMINATED)
    assert ring.column("episode")[:6].tolist() == [0, 0, 1, 2, 2, 3]


@BOTH
def test_a_successor_is_stored_once_and_found_across_a_wrap(joint: bool) -> None:
    ring = Ring(layout({"obs": 2, "reward": ()}, following="obs", joint=joint), 6, 2)
    writer = Writer(ring, 0)
    for episode in range(3):
        seen = episode * 10 + np.arange(3.0)
        ends = [GOES_ON, TERMINATED]
        for step, end in enumerate(ends):
            assert writer.write({"obs": np.full((1, 2), seen[step]), "reward": [seen[step]]}, end=end)
        assert writer.finish(obs=np.full(2, seen[2]))
    positions = np.array([3, 4, 6, 7])
    batch = ring.gather(np.zeros(4, int), positions)
    assert batch["obs"][:, 0].tolist() == [10, 11, 20, 21]
    assert batch["next"].tolist() == [[11, 11], [12, 12], [21, 21], [22, 22]]
    assert ring.closing(np.zeros(6, int), np.arange(3, 9)).tolist() == [False, False, True] * 2


def test_an_episode_must_be_closed_if_the_next_row_follows() -> None:
    writer = Writer(Ring(layout({"obs": 1}, following="obs"), 6), 0)
    with pytest.raises(ValueError, match="ends within"):
        writer.write({"obs": np.zeros((2, 1))}, end=TERMINATED)
    with pytest.raises(ValueError, match="cannot finish an episode"):
        writer.finish(obs=[0.0])
    writer.write({"obs": np.zeros((1, 1))}, end=CUT)
    with pytest.raises(ValueError, match="finish it"):
        writer.write({"obs": np.zeros((1, 1))})


def test_the_successor_of_a_dead_writer_sees_an_open_episode() -> None:
    ring = Ring(layout({"obs": 1}, following="obs"), 6)
    dead = Writer(ring, 0)
    dead.write({"obs": np.zeros((1, 1))}, end=TERMINATED)
    dead.close()
    writer = Writer(ring, 0)
    assert writer.unfinished
    assert writer.finish(obs=[0.0])
    assert not writer.unfinished
    assert writer.write({"obs": np.zeros((1, 1))})


@pytest.mark.parametrize(
    ("written", "options", "why"),
    [
        ({"act": [1.7]}, {}, "act: int64 cannot hold"),
        ({"act": [1 + 2j]}, {}, "act: int64 cannot hold"),
        ({"flag": [300]}, {}, "flag: uint8 cannot hold"),
        ({"flag": [-1]}, {}, "flag: uint8 cannot hold"),
        ({"reward": [1e300]}, {}, "reward: float32 cannot hold"),
        ({"reward": [1j]}, {}, "reward: float32 cannot hold"),
        ({"act": np.array(["a"])}, {}, "act: int64 cannot hold"),
        ({"place": ["longer"]}, {}, "place: <U4 cannot hold"),
        ({"when": np.array(["2026-11-27T10:15:30.5"], "M8[ms]")}, {}, r"when: datetime64\[s\] cannot hold"),
        ({"wave": [1e300j]}, {}, "wave: complex64 cannot hold"),
        ({"reward": [1.0]}, {"end": 9}, "GOES_ON, TERMINATED or CUT"),
        ({"reward": [1.0]}, {"version": -1}, "a version from 0 on"),
    ],
)
def test_a_writer_refuses_what_a_row_cannot_hold(
    written: dict[str, Any], options: dict[str, int], why: str
) -> None:
    keys = {"act": "i8", "flag": "u1", "reward": "f4", "place": "U4", "when": "M8[s]", "wave": "c8"}
    ring = Ring(layout({key: ((), kind) for key, kind in keys.items()}), 8)
    writer = Writer(ring, 0)
    with pytest.raises(ValueError, match=why):
        writer.write(written, **options)
    good: dict[str, Any] = {"act": 2**40, "flag": True, "reward": 7, "place": "left", "wave": 1 + 2j}
    good["when"] = np.datetime64("2026-11-27T10:15:30", "ms")
    assert writer.write({key: [value] for key, value in good.items()})
    assert all(ring.column(key)[0] == value for key, value in good.items())
    with pytest.raises(ValueError, match="type 'O'"):
        layout({"any": ((), "O")})


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ({0: 2}, "0 is no name of a key"),
        ({"": 2}, "'' is no name of a key"),
        ({"obs": {"image": (2, 2), "vec": 3}}, "key 'obs' has the shape .* a nested space"),
        ({"obs": (2, -1)}, r"key 'obs' has the shape \(2, -1\)"),
        ({"obs": 2.5}, "key 'obs' has the shape 2.5"),
        ({"obs": None}, "key 'obs' has the shape None"),
        ({"obs": ((2,), "f3")}, "key 'obs' is of type 'f3'"),
        ({"obs": ((), "i4,f4")}, "a key of type 'i4,f4'"),
        ({"stamp": 2}, "reserved"),
        ({}, "a row needs a key"),
    ],
)
@pytest.mark.parametrize("joint", [False, True])
def test_a_layout_names_the_key_that_no_row_can_have(keys: Any, why: str, joint: bool) -> None:
    with pytest.raises(ValueError, match=why):
        layout(keys, joint=joint)


@pytest.mark.parametrize("name", [None, "test-huge"])
def test_rows_that_no_memory_holds_are_refused(name: str | None) -> None:
    with pytest.raises(RingError, match=r"no memory|Cannot allocate memory"):
        Ring(layout({"obs": ((84, 84, 4), "u1")}), 10**12, name=name)
    assert name is None or not list(Path("/dev/shm").glob(f"olaf-{name}*"))


NAMES = st.text("ab.*?[]~-", max_size=6).map("r".__add__)


@given(st.lists(NAMES, min_size=2, max_size=5, unique=True))
def test_unlinking_a_ring_takes_nothing_but_its_own(names: list[str]) -> None:
    rings = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            try:
                ring = rings[name] = Ring(layout({"x": ()}), 8, name=f"{folder}/{name}")
            except RingError as error:
                assert "~" in name and "cannot name" in str(error)
                continue
            Bell(ring, "1").close()
            Writer(ring, 0).close()
        for name in list(rings):
            rings.pop(name).unlink()
            left = {each.name.partition("~")[0] for each in Path(folder).iterdir()}
            assert left == set(rings)
            assert all(Ring.open(f"{folder}/{other}").rows == 8 for other in rings)


def test_a_ring_without_a_name_is_of_one_process() -> None:
    ring = Ring(layout({"x": ()}), 8, objects={"weights": 4})
    Writer(ring, 0).write({"x": [1.0]})
    trigger = DataKey(ring, "learn", 1, 1)
    place = np.zeros(1, int)
    uses: list[Callable[[], object]] = [
        lambda: Writer(ring, 0),
        lambda: ring.count(),
        lambda: ring.gather(place, place),
        lambda: Uniform(ring, np.random.default_rng(1)).draw(1),
        lambda: ring.objects.read("weights"),
        lambda: setattr(ring, "version", 3),
        trigger.check,
        trigger.take,
    ]
    assert [in_a_fork(use) for use in uses] == ["Taken"] * len(uses)
    with pytest.raises(RingError, match="make it with a name="):
        pickle.dumps(ring)
    with shared(WIDE, 8) as (named, _):
        assert in_a_fork(lambda: Writer(named, 0).write(rows(0, 0, 1))) == "True"
        assert pickle.loads(pickle.dumps(named)).count().tolist() == [1]


def test_a_writer_is_of_one_side_of_a_fork() -> None:
    with shared(WIDE, 8) as (ring, _):
        writer = Writer(ring, 0)
        child = os.fork()
        if child == 0:
            try:
                writer.write({"act": np.zeros(1)})
            except Taken:
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        assert writer.write({"act": np.zeros(1)})


def test_a_joint_row_is_the_critics_input_without_a_copy() -> None:
    ring = Ring(agents([4, 3], [2, 2]), 8)
    writer = Writer(ring, 0)
    values = np.arange(2 * 13, dtype=np.float32).reshape(2, 13)
    writer.write(
        {"obs": values[:, :7], "act": values[:, 7:11], "reward": values[:, 11:], "done": np.zeros((2, 2))}
    )
    batch = ring.gather(np.zeros(2, int), np.array([0, 0]))
    together = batch.together("obs", "act")
    assert np.array_equal(together, values[[0, 0], :11])
    assert np.shares_memory(together, batch["obs"])
    assert ring.layout.parts["obs"] == (slice(0, 4), slice(4, 7))


def test_a_million_rows_of_24_and_8_agents_take_less_than_14_gb(tmp_path: Path) -> None:
    """All memory that a ring has, closing rows included; of its 400 blocks one is set aside."""
    landmarks, prey = 8, 8
    predators = [4 + 2 * landmarks + 2 * 31 + 2 * prey] * 24
    preys = [4 + 2 * landmarks + 2 * 31 + 2 * (prey - 1)] * 8
    assert (predators[0], preys[0]) == (98, 96)
    rows_of, stored_twice = (agents(predators + preys, [5] * 32, following=each) for each in (True, False))
    episodes = 1_000_000 // 25 // 400
    ring = Ring(rows_of, 26 * episodes, 1, most=400, name=str(tmp_path / "ring"))
    try:
        assert 1_040_000 * rows_of.row_bytes < (tmp_path / "ring").stat().st_size <= 14e9
    finally:
        ring.unlink()
    assert 1_000_000 * stored_twice.row_bytes > 25e9


def test_rows_that_no_trigger_has_used_are_refused_or_counted() -> None:
    for full, accepted, lost in ((REFUSE, False, 3), ("overwrite", True, 1)):
        ring = Ring(WIDE, 8, full=full)
        trigger, writer = DataKey(ring, "learn", 1, 4), Writer(ring, 0)
        assert writer.write(rows(0, 0, 6)) and writer.room() == 2
        assert writer.write(rows(0, 6, 3)) is accepted
        assert ring.control["refused" if full == REFUSE else "overwritten"].tolist() == [lost]
        assert trigger.check()
        firing = trigger.take()
        assert firing is not None
        if full == REFUSE:
            assert not writer.write(rows(0, 6, 3))
            trigger.done(firing)
            assert writer.write(rows(0, 6, 3))
        else:
            assert firing.ranges == ((0, 1, 5),)
            assert trigger.cursor.count("missed") == 1


def test_a_block_has_one_writer_at_a_time() -> None:
    with shared(WIDE, 8, 2) as (ring, name):
        writer = Writer(ring, 0)
        with pytest.raises(Taken, match="actor 0"):
            Writer(Ring.open(name), 0)
        writer.close()
        Writer(ring, 0).close()
    with pytest.raises(ValueError, match="no actor 2, only 2"):
        Writer(ring, 2)


def test_what_is_wrong_with_a_ring_is_reported(tmp_path: Any) -> None:
    with pytest.raises(RingError, match="1 rows"):
        Ring(WIDE, 1)
    with pytest.raises(RingError, match="no ring"):
        Ring.open("never-made")
    (tmp_path / "other").write_bytes(bytes(5000))
    with pytest.raises(RingError, match="is not a ring"):
        Ring.open(str(tmp_path / "other"))
    Ring(WIDE, 8, name=str(tmp_path / "cut"))
    for size in (5000, 20):
        os.truncate(tmp_path / "cut", size)
        with pytest.raises(RingError, match="unlink it and make it again"):
            Ring.open(str(tmp_path / "cut"))
    with shared(WIDE, 8) as (ring, name):
        with pytest.raises(RingError, match="is there already"):
            Ring(WIDE, 8, name=name)
        with pytest.raises(RingError, match="with most=2"):
            ring.grow(2)
    writer = Writer(Ring(WIDE, 8), 0)
    with pytest.raises(ValueError, match="no key speed"):
        writer.write({"speed": [1.0]})
    with pytest.raises(ValueError, match=r"obs: a step has shape \(2,\)"):
        writer.write({"obs": np.zeros((1, 2))})
    with pytest.raises(ValueError, match="1 … 8 rows"):
        writer.write({"act": np.zeros(9)})


def _write_on(name: str, actor: int, total: int, chunk: int) -> None:
    ring = Ring.open(name)
    writer = Writer(ring, actor)
    while (at := writer.position("obs")) < total:
        writer.write(rows(actor, at, min(chunk, total - at)), version=at)


def test_a_ring_grows_while_others_write() -> None:
    with shared(WIDE, 4096, 1, most=4) as (ring, name):
        first = start(_write_on, name, 0, 3000, 3)
        others = []
        for actor in range(1, 4):
            ring.grow(actor + 1)
            others.append(start(_write_on, name, actor, 500, 7))
        for process in (first, *others):
            process.join()
        assert ring.count().tolist() == [3000, 500, 500, 500]
        for actor, count in enumerate(ring.count()):
            places = np.full(count, actor), np.arange(count)
            assert whole(ring.gather(*places), *places)


def test_a_killed_writer_leaves_no_torn_row() -> None:
    random = np.random.default_rng(1)
    with shared(WIDE, 64) as (ring, name):
        for _ in range(25):
            before = int(ring.count()[0])
            process = start(_write_on, name, 0, 10**9, 40)
            while ring.count()[0] < before + int(random.integers(1, 2000)):
                positions = np.arange(ring.first()[0], ring.count()[0])
                batch = ring.gather(np.zeros(len(positions), int), positions)
                kept = batch.intact
                assert whole(batch.only(kept), np.zeros(kept.sum(), int), positions[kept])
            kill(process)
            positions = np.arange(ring.first()[0], ring.count()[0])
            batch = ring.gather(np.zeros(len(positions), int), positions)
            assert batch.intact.all() and whole(batch, np.zeros(len(positions), int), positions)


def _read_on(name: str) -> None:
    ring = Ring.open(name)
    while True:
        with ring.locks.hold():
            ring.gather(np.zeros(8, int), np.arange(ring.count()[0] - 8, ring.count()[0]))


def test_a_killed_reader_blocks_no_other() -> None:
    with shared(WIDE, 64) as (ring, name):
        writer = Writer(ring, 0)
        writer.write(rows(0, 0, 20))
        for turn in range(5):
            process = start(_read_on, name)
            writer.write(rows(0, 20 + turn, 1))
            kill(process)
            with ring.locks.hold():
                assert writer.position() == 21 + turn


def test_objects_are_read_whole_with_their_version() -> None:
    with shared(WIDE, 8, objects={"weights": 100_000}) as (ring, name):
        assert ring.objects.read("weights") is None
        process = start(_publish, name, 300)
        versions: list[int] = []
        while not versions or versions[-1] < 300:
            found = ring.objects.read("weights")
            if found is not None:
                values, version = found
                assert values.min() == values.max() == version
                versions.append(version)
        process.join()
        assert versions == sorted(versions)


def _publish(name: str, times: int) -> None:
    ring = Ring.open(name)
    for version in range(1, times + 1):
        ring.objects.publish("weights", np.full(100_000, version), version)


def test_rows_are_gathered_into_whole_lines_of_the_cache() -> None:
    ring = Ring(agents([40] * 8, [5] * 8, following=False), 50)
    for _ in range(20):
        (memory,) = ring.buffers(7)
        assert memory.__array_interface__["data"][0] % 64 == 0 and memory.shape == (7,)
