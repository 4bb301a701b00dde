"""The behaviour of every store of membership; each store is opened again to see what is durable."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from olafctl.daemon.etcd import messages
from olafctl.daemon.etcd.client import Etcd
from olafctl.daemon.etcd.store import EtcdStore, leader_key
from olafctl.daemon.leadership import Alone, NotLeader
from olafctl.machines.certificates import issue_pair
from olafctl.membership.interface import Compacted, Event, MembershipStore, Rows
from olafctl.membership.model import Row
from olafctl.membership.sqlite import FILE, SqliteStore
from olafswitch.errors import BadInput, OlafError
from olaftest.daemon import etcd_server
from tests.daemon.conftest import needs_etcd
from tests.daemon.deployment import DEADLINE

Open = Callable[[], MembershipStore]


class StandingStore(Alone):
    """A leadership of a given term; term 0 is that of a key which no one made."""

    def __init__(self, term: int) -> None:
        self.term = term


@pytest.fixture(scope="module")
def etcd() -> Iterator[Etcd]:
    """Provide a connection to this module's own etcd."""
    needs_etcd()
    with etcd_server.running_etcd() as endpoint:
        connection = Etcd([endpoint], timeout=DEADLINE)
        yield connection
        connection.close()


@pytest.fixture(params=["sqlite", "etcd"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Provide a function that opens the same store again and again, one after the other."""
    stores: list[MembershipStore] = []

    def open_sqlite() -> MembershipStore:
        return SqliteStore(tmp_path / "state", kept=4)

    def open_etcd() -> MembershipStore:
        return EtcdStore(request.getfixturevalue("etcd"), request.node.name, StandingStore(0), kept=4)

    def again() -> MembershipStore:
        for store in stores:
            store.close()
        stores[:] = [{"sqlite": open_sqlite, "etcd": open_etcd}[request.param]()]
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
    intent: Rows = {"member/a": {"port": 1}, "member/b": None}
    opened().begin(intent)
    store = opened()
    assert (store.intent(), store.rows()) == (intent, (0, {}))
    store.abandon()
    assert opened().intent() is None
    opened().begin(intent)
    opened().finish(intent)
    store = opened()
    assert (store.intent(), store.rows()) == (None, (1, {"member/a": {"port": 1}}))


def test_the_history_goes_on_from_a_revision(opened: Open) -> None:
    store = opened()
    store.finish({"member/a": {"port": 1}})
    store.finish({"member/a": None, "member/b": {"port": 2}})
    assert opened().history(1) == [Event(2, "member/a", None), Event(2, "member/b", {"port": 2})]
    assert opened().history(2) == []


def test_a_change_of_any_size_is_one_revision(opened: Open) -> None:
    rows: dict[str, Row | None] = {f"member/{n}": {"port": n} for n in range(1000)}
    assert opened().finish(rows) == 1
    assert opened().rows() == (1, rows)
    assert opened().finish({key: None for key in rows} | {"member/last": {}}) == 2
    assert opened().rows() == (2, {"member/last": {}})


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
    with pytest.raises(OlafError, match=r"membership\.db: is damaged: .* \(.*olafctl restore"):
        SqliteStore(tmp_path)


def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    SqliteStore(tmp_path / "state").close()
    assert (tmp_path / "state").stat().st_mode & 0o077 == 0
    assert (tmp_path / "state" / FILE).stat().st_mode & 0o077 == 0


# etcd


def test_rows_of_a_dead_leader_are_added_from_the_log(etcd: Etcd, monkeypatch: pytest.MonkeyPatch) -> None:
    rows: dict[str, Row | None] = {f"member/{n}": {"port": n} for n in range(300)}
    first = EtcdStore(etcd, "behind", StandingStore(0))

    def lost() -> None:
        raise OlafError("the connection is lost")

    with monkeypatch.context() as patch:
        patch.setattr(first, "_apply_log", lost)
        assert first.finish(rows) == 1
    second = EtcdStore(etcd, "behind", StandingStore(0))
    assert second.rows() == (1, rows)
    assert second.finish({"member/0": None}) == 2
    assert len(EtcdStore(etcd, "behind", StandingStore(0)).rows()[1]) == 299


@pytest.mark.parametrize("name", ["row/member/a", "intent", "head", "applied", f"log/{2:016}", "missing"])
def test_keys_that_another_program_damaged_are_reported(etcd: Etcd, name: str) -> None:
    store = EtcdStore(etcd, f"damaged {name}", StandingStore(0))
    for port in range(4):
        store.finish({"member/a": {"port": port}})
    store.check()
    folder = f"/olaf/damaged {name}/".encode()
    if name == "missing":
        etcd.transact([], [messages.delete_keys(folder + f"log/{2:016}".encode())])
    else:
        etcd.transact([], [messages.put_key(folder + name.encode(), b"\xff{")])
    with pytest.raises(OlafError, match=r"is damaged: /olaf/damaged .*/(log/|" + name + ")"):
        EtcdStore(etcd, f"damaged {name}", StandingStore(0)).check()


def test_who_does_not_hold_the_leaders_key_changes_nothing(etcd: Etcd) -> None:
    made = etcd.transact([], [messages.put_key(leader_key("fenced"), b"{}")]).header.revision
    leader, stale = (EtcdStore(etcd, "fenced", StandingStore(term)) for term in (made, made - 1))
    leader.finish({"member/a": {}})
    for write in (stale.abandon, lambda: stale.finish({"member/a": None}), lambda: stale.begin({})):
        with pytest.raises(NotLeader, match="nothing was changed"):
            write()
    assert stale.rows() == (1, {"member/a": {}})


def test_two_writers_of_one_term_do_not_overwrite_each_other(etcd: Etcd) -> None:
    one, two = (EtcdStore(etcd, "twice", StandingStore(0)) for _ in range(2))
    assert (one.rows()[0], two.rows()[0]) == (0, 0)
    one.finish({"member/a": {}})
    with pytest.raises(OlafError, match=r"^/olaf/twice/: another process wrote to the store"):
        two.finish({"member/b": {}})
    assert two.rows() == (1, {"member/a": {}})


def test_an_etcd_that_is_gone_is_an_error_for_people() -> None:
    needs_etcd()
    with etcd_server.running_etcd() as endpoint:
        connection = Etcd([endpoint], timeout=5)
        store = EtcdStore(connection, "gone", Alone())
    with pytest.raises(OlafError, match=rf"{endpoint}: etcd does not answer: .* \(start it"):
        store.rows()
    connection.close()


def test_etcd_by_certificate_alone(tmp_path: Path) -> None:
    needs_etcd()
    certificates, strangers = tmp_path / "certs", tmp_path / "strangers"
    issue_pair(certificates, "etcd", ("127.0.0.1",), 1)
    for folder in (certificates, strangers):
        issue_pair(folder, "client", (), 1)
    (strangers / "ca.pem").write_bytes((certificates / "ca.pem").read_bytes())
    with etcd_server.running_etcd(tls=certificates) as endpoint:
        with pytest.raises(OlafError, match="etcd does not answer"):
            EtcdStore(Etcd([endpoint], strangers, timeout=5), "lab", StandingStore(0)).rows()
        store = EtcdStore(Etcd([endpoint], certificates, timeout=DEADLINE), "lab", StandingStore(0))
        assert store.finish({"member/a": {}}) == 1


def test_beyond_this_machine_etcd_needs_certificates() -> None:
    with pytest.raises(BadInput, match=r"192\.0\.2\.1:2379: .* in clear"):
        Etcd(["127.0.0.1:2379", "192.0.2.1:2379"])
