"""Several controllers on one etcd: one leads, the others serve what it stores, and no acknowledged change is
lost when it is gone."""

import copy
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pytest
from click.testing import CliRunner

from olafctl.cli.main import olafctl
from olafctl.control import devices
from olafctl.daemon import keeping
from olafctl.daemon.api.client import DaemonClient
from olafctl.daemon.api.server import Server, find_unready
from olafctl.daemon.controller import Controller, Unavailable
from olafctl.daemon.etcd import etcd_pb2, messages
from olafctl.daemon.etcd.client import Etcd
from olafctl.daemon.etcd.leadership import EtcdLeadership
from olafctl.daemon.etcd.store import EtcdStore, leader_key, prefix_of
from olafctl.daemon.leadership import NotLeader
from olafctl.membership.model import Cluster
from olaftest.daemon import etcd_server
from olaftest.daemon.daemon_process import wait_until
from olaftest.daemon.relay import Relay
from tests.daemon.conftest import TESTBED, lab
from tests.daemon.deployment import DEADLINE
from tests.daemon.pair import DaemonPair
from tests.daemon.test_api import own_deployment
from tests.daemon.test_controller import ASK, answer_of, join_worker

CLUSTERS = "clusters: [{name: red, workers: [{name: w0, port: 2, ip: 10.0.1.1}]}]"
Campaign = Callable[[str], EtcdLeadership]


@pytest.fixture(scope="module")
def etcd() -> Iterator[Etcd]:
    """Provide one etcd for all tests of this module: election ids at the switches, which are shared too,
    follow it."""
    if missing := etcd_server.missing_programs():
        pytest.skip(f"needs {missing}")
    with etcd_server.running_etcd() as endpoint:
        connection = Etcd([endpoint], timeout=DEADLINE)
        yield connection
        connection.close()


@pytest.fixture
def campaign(etcd: Etcd) -> Iterator[Campaign]:
    """Provide a function that makes a controller campaign, with a lease that outlives the test."""
    standing: list[EtcdLeadership] = []

    def stand(address: str) -> EtcdLeadership:
        standing.append(EtcdLeadership(etcd, "lab", address, seconds=600))
        return standing[-1]

    yield stand
    for each in standing:
        each.close()
    etcd.transact([], [messages.delete_keys(prefix_of("lab"), messages.end_of_prefix(prefix_of("lab")))])


def test_one_leads_and_the_next_one_has_a_higher_election_id(campaign: Campaign) -> None:
    first = campaign("unix:/a")
    wait_until(lambda: first.term > 0)
    first.check()
    second = campaign("unix:/b")
    wait_until(lambda: second.leader == "unix:/a")
    with pytest.raises(NotLeader, match="ask the leader at unix:/a"):
        second.check()
    before = first.election_id
    first.close()
    with pytest.raises(NotLeader):
        first.check()
    wait_until(lambda: second.term > 0)
    assert second.election_id > before > 1 << 64  # a one-shot command's election id is a time in 64 bits


def test_a_leader_without_etcd_stops_before_its_lease_ends(etcd: Etcd) -> None:
    now = [0.0]
    relay = Relay.to(etcd.endpoints[0])
    lonely = EtcdLeadership(Etcd([relay.endpoint]), "cut off", "unix:/a", seconds=600, clock=lambda: now[0])
    try:
        wait_until(lambda: lonely.term > 0)
        term = lonely.term
        relay.freeze_traffic()
        now[0] = 449
        lonely.check()
        now[0] = 451  # a quarter of the lease is left
        with pytest.raises(NotLeader):
            lonely.check()
        [pair] = etcd.transact([], [messages.get_keys(leader_key("cut off"))]).responses[0].response_range.kvs
        assert pair.create_revision == term, "etcd has not given it to another yet"
    finally:
        relay.close()
        lonely.close()


@pytest.mark.parametrize("absent", range(3))
def test_quorum_without_one_member_is_enough_to_read_write_and_lead(absent: int) -> None:
    if missing := etcd_server.missing_programs():
        pytest.skip(f"needs {missing}")
    with etcd_server.running_cluster(3) as three:
        three.kill(absent)
        endpoints = ",".join(three.endpoints)
        with keeping.open_for_changing("elsewhere", endpoints, None) as store:
            assert store.finish({"meta/testbed": {"name": "elsewhere"}}) == 1
        with keeping.open_for_reading("elsewhere", endpoints, None) as store:
            assert store.rows() == (1, {"meta/testbed": {"name": "elsewhere"}})
        written = Etcd(three.endpoints, timeout=DEADLINE)
        try:
            written.transact([], [messages.put_key(b"/a", b"1")])
            # A member leaves while it is used: the next one answers.
            three.start(absent)
            three.wait()
            three.kill((absent + 1) % 3 if absent == 0 else 0)
            assert (
                written.transact([], [messages.get_keys(b"/a")]).responses[0].response_range.kvs[0].value
                == b"1"
            )
        finally:
            written.close()


@pytest.mark.parametrize("garbage", [b"", b"\xff\x00", b"[]", b'{"address": ', b'{"host": 1}', b"17"])
def test_garbage_instead_of_a_leader_is_reported(garbage: bytes, etcd: Etcd, campaign: Campaign) -> None:
    etcd.transact([], [messages.put_key(leader_key("lab"), garbage, 0)])
    waiting = campaign("unix:/a")
    wait_until(lambda: waiting.trouble != "")
    with pytest.raises(NotLeader, match=r"/olaf/lab/leader: holds .*, which no leader wrote") as refused:
        waiting.check()
    assert refused.value.leader == ""
    etcd.transact([], [messages.delete_keys(leader_key("lab"))])
    wait_until(lambda: waiting.term > 0)
    waiting.check()
    assert waiting.trouble == ""


def test_clients_and_health_checks_learn_why_no_leader_is_known(
    etcd: Etcd, campaign: Campaign, pair: DaemonPair, tmp_path_factory: pytest.TempPathFactory
) -> None:
    etcd.transact([], [messages.put_key(leader_key("lab"), b"garbage", 0)])
    blind = campaign("unix:/a")
    wait_until(lambda: blind.trouble != "")
    controller = Controller(pair, EtcdStore(etcd, "lab", blind), blind)
    controller.start()
    server = Server(own_deployment(controller), f"unix:{tmp_path_factory.mktemp('s')}/d/olaf.sock")
    try:
        with DaemonClient(server.address, timeout=DEADLINE) as client:
            with pytest.raises(NotLeader, match="nothing was changed: it is not known who leads"):
                client.call("Leave", worker="w1")
            wait_until(
                lambda: "which no leader wrote" in find_unready(own_deployment(controller)).get("lab", "")
            )
    finally:
        server.stop()
        controller.close()


def test_a_leader_writes_its_key_again_and_stops_when_it_is_gone(etcd: Etcd) -> None:
    leading = EtcdLeadership(etcd, "shaken", "unix:/a", seconds=2)
    key = leader_key("shaken")

    def found() -> Any:
        return etcd.transact([], [messages.get_keys(key)]).responses[0].response_range.kvs

    try:
        wait_until(lambda: leading.term > 0)
        [before] = found()
        etcd.transact([], [messages.put_key(key, b"garbage", 0)])
        wait_until(lambda: (found()[0].value, found()[0].lease) == (before.value, before.lease))
        term = leading.term
        etcd.transact([], [messages.delete_keys(key)])
        wait_until(lambda: leading.term > term)  # it has stopped, and campaigns again like any other
    finally:
        leading.close()
    assert list(found()) == []


class Broken:
    """An etcd whose client has a defect, while ``failing``."""

    def __init__(self) -> None:
        self.failing = ""
        self.calls = 0

    def _fail_or_count(self, name: str) -> None:
        self.calls += 1
        if self.failing == name:
            raise RuntimeError("a defect")

    def transact(self, compare: Any, success: Any, failure: Any = ()) -> Any:
        self._fail_or_count("transact")
        answer = etcd_pb2.TxnResponse(succeeded=bool(compare))
        answer.header.revision = 7
        value = etcd_pb2.KeyValue(value=b'{"address": "unix:/a"}', lease=5)
        if compare and success[0].HasField("request_range"):
            answer.responses.add().response_range.kvs.append(value)
        else:
            answer.responses.add().response_range.SetInParent()
        return answer

    def grant_lease(self, seconds: int) -> tuple[int, int]:
        self._fail_or_count("grant")
        return 5, seconds

    def prolong_lease(self, lease: int) -> int:
        self._fail_or_count("keep")
        return 600

    def revoke_lease(self, lease: int) -> None:
        self._fail_or_count("revoke")


@pytest.mark.parametrize("call", ["transact", "keep"])
def test_a_defect_ends_the_leading_and_not_the_thread(call: str) -> None:
    broken = Broken()
    leading = EtcdLeadership(broken, "lab", "unix:/a", seconds=1)  # type: ignore[arg-type]
    try:
        wait_until(lambda: leading.term > 0)
        broken.failing = call
        wait_until(lambda: leading.term == 0 and leading.trouble != "")
        with pytest.raises(NotLeader, match="it is not known who leads: a defect of the daemon"):
            leading.check()
        broken.failing = ""
        wait_until(lambda: leading.term > 0)
        assert leading.trouble == ""
        leading.check()
        broken.failing = "revoke"
    finally:
        leading.close()


def test_a_follower_serves_reads_and_names_the_leader(
    etcd: Etcd,
    campaign: Campaign,
    pair: DaemonPair,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    leading = campaign("unix:/leader")
    wait_until(lambda: leading.term > 0)
    leader = Controller(pair, EtcdStore(etcd, "lab", leading), leading)
    leader.start()
    following = campaign("unix:/follower")
    follower = Controller(pair, EtcdStore(etcd, "lab", following), following)
    follower.start()
    server = Server(own_deployment(follower), f"unix:{tmp_path_factory.mktemp('s')}/d/olaf.sock")
    try:
        with DaemonClient(server.address, timeout=DEADLINE) as client:
            answer_of(leader, ASK.create_cluster(Cluster("red")))
            answer_of(leader, join_worker(1))
            wait_until(lambda: len(client.call("GetStatus").deployments[0].workers) == 1)
            [status] = client.call("GetStatus").deployments
            assert (status.term, status.leader, status.workers[0].name) == (0, "unix:/leader", "w1")
            names = [event.name for event in islice(client.watch("", "0"), 2)]
            assert names == ["red", "w1"]
            with pytest.raises(NotLeader, match="nothing was changed") as refused:
                client.call("Leave", worker="w1")
            assert refused.value.leader == "unix:/leader"
            # This command runs on another machine, which knows no deployment.
            elsewhere = tmp_path_factory.mktemp("elsewhere")
            monkeypatch.setenv("OLAF_STATE", str(elsewhere))
            monkeypatch.setenv("OLAF_DAEMON", server.address)
            listed = _run_olafctl("cluster", "list")
            assert listed.startswith("lab: this daemon follows the leader at unix:/leader\n")
            assert "w1" in listed
            _run_olafctl("backup", "-d", "lab", str(elsewhere / "by-daemon.json"))
            _run_olafctl("backup", "-d", "lab", str(elsewhere / "by-etcd.json"), "--etcd", etcd.endpoints[0])
            assert (elsewhere / "by-daemon.json").read_text() == (elsewhere / "by-etcd.json").read_text()

            before = read_elected(pair)
            leader.close()
            wait_until(lambda: follower.status(summary=True).ready)
            assert all(now > then for now, then in zip(read_elected(pair), before, strict=True))
            assert client.call("Leave", worker="w1").cluster == "red"
    finally:
        server.stop()
        follower.close()


def test_a_follower_with_another_testbed_says_so_and_never_leads(
    etcd: Etcd, campaign: Campaign, pair: DaemonPair
) -> None:
    leading = campaign("unix:/leader")
    wait_until(lambda: leading.term > 0)
    leader = Controller(pair, EtcdStore(etcd, "lab", leading), leading)
    leader.start()
    following = campaign("unix:/other")
    wait_until(lambda: following.leader != "")
    other = copy.copy(pair)
    other.testbed = lab(TESTBED.replace("numbers: 2-4", "numbers: 2-5").replace("clusters: []", CLUSTERS))
    follower = Controller(other, EtcdStore(etcd, "lab", following), following)
    follower.start()
    try:
        wait_until(lambda: "another one than the leader's, in ports" in follower.status().problem)
        before = read_elected(pair)
        leader.close()
        third = campaign("unix:/third")
        wait_until(lambda: third.term > 0)
        assert (follower.status().term, read_elected(pair)) == (0, before)
        assert "in ports" in follower.status().problem
    finally:
        leader.close()
        follower.close()


def test_a_replaced_leader_changes_neither_store_nor_devices(
    etcd: Etcd, campaign: Campaign, pair: DaemonPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The leader's process is suspended between its check and its write."""
    paused = campaign("unix:/paused")
    wait_until(lambda: paused.term > 0)
    old = Controller(pair, EtcdStore(etcd, "lab", paused), paused)
    old.start()
    answer_of(old, ASK.create_cluster(Cluster("red")))
    etcd.transact([], [messages.delete_keys(leader_key("lab"))])  # for etcd the lease has ended
    following = campaign("unix:/next")
    wait_until(lambda: following.term > 0)
    new = Controller(pair, EtcdStore(etcd, "lab", following), following)
    new.start()
    try:
        wait_until(lambda: new.status(summary=True).ready)
        with pytest.raises((NotLeader, Unavailable)):
            answer_of(old, join_worker(1))
        assert answer_of(new, join_worker(2))["name"] == "w2"
        assert [member["name"] for member in new.status().members] == ["w2"]
        assert read_elected(pair) == [following.election_id] * 2
    finally:
        old.close()
        new.close()


def _run_olafctl(*line: str) -> str:
    """Return the output of a command of olafctl."""
    ended = CliRunner().invoke(olafctl, line)
    assert ended.exit_code == 0, ended.output
    return ended.output


def read_elected(pair: DaemonPair) -> list[int]:
    """Return the highest election id that each device has seen."""
    running = pair.running()
    assert running is not None
    with devices.watch_devices(running) as sessions:
        return [session.highest_election_id for session in sessions.values()]
