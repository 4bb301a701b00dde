"""Age-of-Model objectives: a change that would break one is refused before anything is written."""

import threading
from collections.abc import Iterator
from ipaddress import IPv4Address
from typing import Any

import pytest

from olafctl.daemon.admission import Admission
from olafctl.daemon.controller import Controller
from olafctl.membership.model import Cluster, Kind
from olafctl.membership.operations import MemberWish, Operation, Operations
from olafctl.testbed.ground import make_ground
from olafctl.testbed.model import Testbed
from olafctl.verify.admission import ObjectiveBroken, Situation
from olafctl.wire.modes import Mode
from olafswitch.errors import BadInput, Problem
from tests.daemon.conftest import TESTBED, lab, read_held
from tests.daemon.deployment import DEADLINE
from tests.daemon.pair import DaemonPair

MS = 10**6


@pytest.fixture
def slow() -> Testbed:
    """Provide an engine whose link takes 12,288 ns for an update."""
    return lab(TESTBED.replace("beats: 24", "beats: 24, output_rate: 1 Gb/s"))


@pytest.fixture
def admission(controller: Controller, slow: Testbed) -> Iterator[Admission]:
    made = Admission(controller, slow, timeout=20)
    yield made
    made.close()


def join_member(ask: Operations, number: int, cluster: str) -> Operation:
    return ask.join(MemberWish(cluster, IPv4Address(f"10.0.1.{number}"), 2, 41000, name=f"w{number}"))


def test_a_join_that_breaks_an_objective_is_refused_with_a_rate(
    admission: Admission, slow: Testbed, controller: Controller, pair: DaemonPair
) -> None:
    ask = Operations(make_ground(slow))
    wish = Cluster("red", objective="peak<=1.2ms", period=MS)
    admission.submit(ask.create_cluster(wish)).result(DEADLINE)
    admission.submit(join_member(ask, 1, "red")).result(DEADLINE)
    fast = Cluster("fast", period=20_000)
    admission.submit(ask.create_cluster(fast)).result(DEADLINE)
    before = read_held(pair)
    with pytest.raises(ObjectiveBroken, match=r"would break peak<=0.1ms of 'tight'.*\(.*\)"):
        tight = Cluster("tight", objective="peak<=0.1ms", period=MS)
        admission.submit(ask.create_cluster(tight)).result(DEADLINE)
        admission.submit(join_member(ask, 2, "tight")).result(DEADLINE)
    assert read_held(pair) == before
    assert [member["name"] for member in controller.status().members] == ["w1"]


def test_a_cluster_may_ask_before_its_workers_change_their_rate(
    admission: Admission, slow: Testbed, controller: Controller
) -> None:
    ask = Operations(make_ground(slow))
    wish = Cluster("red", objective="peak<=1.2ms", period=MS)
    admission.submit(ask.create_cluster(wish)).result(DEADLINE)
    admission.submit(join_member(ask, 1, "red")).result(DEADLINE)
    admission.prove("red", MS // 2).result(DEADLINE)
    with pytest.raises(ObjectiveBroken, match=r"would break peak<=1\.2ms of 'red'"):
        admission.prove("red", 2 * MS).result(DEADLINE)
    (known,) = controller.status().clusters
    assert known["period"] == MS
    for cluster, period in (("blue", MS), ("red", 0)):
        with pytest.raises(BadInput):
            admission.prove(cluster, period)


@pytest.mark.parametrize(
    ("wish", "reason"),
    [
        (Cluster("red", objective="fast", period=MS), "'fast' is not an objective"),
        (Cluster("red", objective="peak<=1ms"), "period: is missing"),
    ],
)
def test_an_objective_that_cannot_be_verified_is_refused(
    admission: Admission, slow: Testbed, wish: Cluster, reason: str
) -> None:
    with pytest.raises(BadInput, match=reason):
        admission.submit(Operations(make_ground(slow)).create_cluster(wish)).result(DEADLINE)


def test_without_an_output_rate_there_is_nothing_to_verify(admission: Admission) -> None:
    wish = Cluster("red", objective="peak<=1ms", period=MS)
    with pytest.raises(BadInput, match="give the engine an output_rate"):
        admission.submit(Operations(make_ground(lab())).create_cluster(wish)).result(DEADLINE)


def test_what_the_verifier_does_not_describe_is_refused(
    admission: Admission, slow: Testbed, controller: Controller, pair: DaemonPair
) -> None:
    """Members of unknown periods, other modes and several segments share the queue that a proof is about."""
    ask = Operations(make_ground(slow))

    def done(operation: Operation) -> None:
        admission.submit(operation).result(DEADLINE)

    done(ask.create_cluster(Cluster("red", objective="peak<=20ms", period=MS)))
    done(join_member(ask, 1, "red"))
    for wish in (
        Cluster("silent"),
        Cluster("fifo", mode=Mode.FIFO, period=MS),
        Cluster("long", values=360 * 3, period=MS),
    ):
        done(ask.create_cluster(wish))
    revision = controller.status().revision
    for number, (cluster, reason) in enumerate(
        (
            ("silent", "it is not known how often the workers of 'silent' send"),
            ("fifo", "cluster 'fifo' is of mode fifo"),
            ("long", "cluster 'long' has 3 segments"),
        ),
        2,
    ):
        with pytest.raises(ObjectiveBroken, match=f"peak<=20ms of 'red' cannot be proven: {reason}"):
            done(join_member(ask, number, cluster))
    for mode in (Mode.FIFO, Mode.ISWITCH):
        with pytest.raises(BadInput, match=f"cluster 'red' is of mode {mode}"):
            done(ask.set_mode("red", mode))
    assert controller.status().revision == revision
    done(ask.leave("w1"))
    done(join_member(ask, 2, "silent"))


@pytest.mark.parametrize("more", [{"mode": Mode.FIFO}, {"mode": Mode.ISWITCH}, {"values": 360 * 3}])
def test_an_objective_that_the_verifier_cannot_model_is_refused(
    admission: Admission, slow: Testbed, more: dict[str, Any]
) -> None:
    wish = Cluster("red", objective="peak<=20ms", period=MS, **more)
    with pytest.raises(BadInput, match=r"is of mode (fifo|iswitch)|has 3 segments"):
        admission.submit(Operations(make_ground(slow)).create_cluster(wish)).result(DEADLINE)


def test_an_objective_ignores_clusters_that_send_seldom(
    admission: Admission, slow: Testbed, controller: Controller
) -> None:
    ask = Operations(make_ground(slow))
    for wish in (Cluster("often", objective="peak<=9ms", period=3 * MS), Cluster("seldom", period=100 * MS)):
        admission.submit(ask.create_cluster(wish)).result(DEADLINE)
    admission.submit(join_member(ask, 1, "often")).result(DEADLINE)
    admission.submit(join_member(ask, 2, "seldom")).result(DEADLINE)
    assert {member["name"] for member in controller.status().members} == {"w1", "w2"}


def test_a_switch_cannot_join_what_an_objective_is_proven_of(
    admission: Admission, slow: Testbed, controller: Controller
) -> None:
    ask = Operations(make_ground(slow))
    for wish in (Cluster("red", objective="peak<=20ms", period=MS), Cluster("blue", period=MS)):
        admission.submit(ask.create_cluster(wish)).result(DEADLINE)
    admission.submit(join_member(ask, 1, "red")).result(DEADLINE)
    for number, cluster in ((2, "red"), (3, "blue")):
        switch = MemberWish(cluster, IPv4Address(f"10.0.1.{number}"), 2, 41000, name="tor", kind=Kind.SWITCH)
        with pytest.raises(BadInput, match=f"tor of '{cluster}' is a switch"):
            admission.submit(ask.join(switch)).result(DEADLINE)
    assert [member["name"] for member in controller.status().members] == ["w1"]


def test_joins_that_wait_together_are_proven_together(
    admission: Admission, slow: Testbed, controller: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    proofs, waiting, begun = [], threading.Event(), threading.Event()

    def check(known: Situation, *rest: Any, **more: Any) -> None:
        proofs.append([workers for _, workers in known])
        begun.set()
        assert waiting.wait(DEADLINE)

    monkeypatch.setattr("olafctl.daemon.admission.check_objectives", check)
    ask = Operations(make_ground(slow))
    admission.submit(ask.create_cluster(Cluster("red", objective="peak<=20ms", period=MS))).result(DEADLINE)
    answers = [admission.submit(join_member(ask, 1, "red"))]
    assert begun.wait(DEADLINE)
    answers += [admission.submit(join_member(ask, number, "red")) for number in range(2, 17)]
    assert answers[-1].cancel()  # its caller does not wait: it is left out
    waiting.set()
    assert [answer.result(DEADLINE)["name"] for answer in answers[:-1]] == [f"w{n}" for n in range(1, 16)]
    assert proofs == [[1], [15]]
    assert len(controller.status().members) == 15


def test_of_joins_that_wait_together_those_that_fit_are_admitted(
    admission: Admission, slow: Testbed, controller: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting, begun = threading.Event(), threading.Event()

    def check(known: Situation, *rest: Any, **more: Any) -> None:
        begun.set()
        assert waiting.wait(DEADLINE)
        if known[0][1] > 3:
            raise ObjectiveBroken(Problem("too many"))

    monkeypatch.setattr("olafctl.daemon.admission.check_objectives", check)
    ask = Operations(make_ground(slow))
    admission.submit(ask.create_cluster(Cluster("red", objective="peak<=20ms", period=MS))).result(DEADLINE)
    answers = [admission.submit(join_member(ask, 1, "red"))]
    assert begun.wait(DEADLINE)
    answers += [admission.submit(join_member(ask, number, "red")) for number in (2, 3, 4, 2, 5)]
    waiting.set()
    outcomes = [type(answer.exception(DEADLINE)) for answer in answers]
    assert outcomes == [type(None), type(None), type(None), ObjectiveBroken, BadInput, ObjectiveBroken] or (
        outcomes == [type(None), type(None), type(None), ObjectiveBroken, type(None), ObjectiveBroken]
    )
    assert {member["name"] for member in controller.status().members} == {"w1", "w2", "w3"}
