"""What every store of membership does; each is opened again to see what is durable."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from olafctl.daemon.store.interface import Compacted, Event, Intent, MembershipStore
from olafctl.daemon.store.sqlite import FILE, SqliteStore
from olafctl.errors import OlafError

Open = Callable[[], MembershipStore]


@pytest.fixture(params=["sqlite"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Opens the same store again and again; one after the other."""
    stores: list[MembershipStore] = []

    def again() -> MembershipStore:
        for store in stores:
            store.close()
        stores[:] = [SqliteStore(tmp_path / "state", kept=4)]
        return stores[0]

    yield again
    for store in stores:
        store.close()


def test_rows_and_revision_survive(opened: Open) -> None:
    store = opened()
    assert store.rows() == (0, {})
    assert store.finish({"member/a": {"port": 1}, "member/b": {"port": 2}}) == 1
    assert store.finish({"member/a": None, "member/b": {"port": 3}}) == 2
    assert opened().rows() == (2, {"member/b": {"port": 3}})


def test_an_intent_stays_until_it_is_finished_or_abandoned(opened: Open) -> None:
    intent = Intent({"member/a": {"port": 1}, "member/b": None})
    opened().begin(intent)
    store = opened()
    assert (store.intent(), store.rows()) == (intent, (0, {}))
    store.abandon()
    assert opened().intent() is None
    opened().begin(intent)
    opened().finish(intent.change)
    store = opened()
    assert (store.intent(), store.rows()) == (None, (1, {"member/a": {"port": 1}}))


def test_the_history_goes_on_from_a_revision(opened: Open) -> None:
    store = opened()
    store.finish({"member/a": {"port": 1}})
    store.finish({"member/a": None, "member/b": {"port": 2}})
    assert opened().history(1) == [Event(2, "member/a", None), Event(2, "member/b", {"port": 2})]
    assert opened().history(2) == []


def test_a_revision_is_never_cut_in_two(opened: Open) -> None:
    store = opened()
    store.finish({"member/a": {}, "member/b": {}, "member/c": {}})
    store.finish({"member/d": {}})
    assert [event.revision for event in store.history(0, limit=1)] == [1, 1, 1]
    assert [event.revision for event in store.history(1, limit=1)] == [2]


def test_a_history_that_no_longer_reaches_back_says_so(opened: Open) -> None:
    store = opened()
    for number in range(10):
        store.finish({"member/a": {"port": number}})
    with pytest.raises(Compacted, match="the history has revisions 6 … 10, not 3"):
        store.history(3)
    with pytest.raises(Compacted, match="not 11"):
        store.history(11)
    assert [event.revision for event in store.history(6)] == [7, 8, 9, 10]


def test_a_damaged_database_is_an_error_for_people(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"not a database" * 100)
    with pytest.raises(OlafError, match=r"membership\.db: cannot be used: .* \(.*restore a backup\)"):
        SqliteStore(tmp_path)


def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    SqliteStore(tmp_path / "state").close()
    assert (tmp_path / "state").stat().st_mode & 0o077 == 0
    assert (tmp_path / "state" / FILE).stat().st_mode & 0o077 == 0
