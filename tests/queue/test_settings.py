"""Per-index settings as ranges."""

import json
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as some

from olafctl.queue.registers import IndexSettings
from olafctl.queue.settings import Change, IndexRange, find_changes, join_ranges, with_default
from olafctl.wire.modes import Mode

ISWITCH = IndexSettings(Mode.ISWITCH, threshold=4)
HALTED = IndexSettings(Mode.FIFO, halted=True)
ANY = some.sampled_from((IndexSettings(), ISWITCH, HALTED))


def each(indices: int, found: tuple[IndexRange, ...]) -> list[IndexSettings]:
    by_index = {n: part.settings for part in found for n in range(part.first, part.last + 1)}
    return [by_index[index] for index in range(indices)]


@given(some.lists(ANY, min_size=1))
def test_ranges_say_the_same_as_the_list_and_neighbours_differ(settings: list[IndexSettings]) -> None:
    found = join_ranges(settings)
    assert each(len(settings), found) == settings
    assert all(a.settings != b.settings for a, b in pairwise(found))


@given(some.data(), some.integers(1, 40))
def test_changes_take_one_to_the_other(data: some.DataObject, indices: int) -> None:
    before, after = (
        join_ranges(data.draw(some.lists(ANY, min_size=indices, max_size=indices))) for _ in range(2)
    )
    settings = each(indices, before)
    for change in find_changes(before, after):
        assert set(settings[change.first : change.last + 1]) == {change.before}
        settings[change.first : change.last + 1] = [change.after] * (change.last - change.first + 1)
    assert settings == each(indices, after)
    assert list(find_changes(after, after)) == []


def test_what_is_not_known_is_set() -> None:
    assert list(find_changes((), join_ranges([ISWITCH] * 3))) == [Change(0, 2, None, ISWITCH)]


def test_indices_of_no_cluster_keep_their_settings_after_a_reset() -> None:
    found = with_default(8, [IndexRange(2, 4, ISWITCH), IndexRange(5, 5, ISWITCH)])
    assert found == (
        IndexRange(0, 1, IndexSettings()),
        IndexRange(2, 5, ISWITCH),
        IndexRange(6, 7, IndexSettings()),
    )


def test_a_range_travels_as_json() -> None:
    part = IndexRange(2, 4, HALTED)
    assert IndexRange.from_json(json.loads(json.dumps(part.as_json()))) == part
