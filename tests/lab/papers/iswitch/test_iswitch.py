"""iSwitch's evaluation: what is fitted, what is predicted, and what the tables say of it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("olaf", reason="the SDK is not installed (pip install ./sdk)")

from olafctl import paths, plotting
from olaflab.model.iterations import Approach, Course, Software
from olaflab.papers.figure import Effort
from olaflab.papers.iswitch import asynchronous, costs, curves, hosts, learning, predicted, scale, synchronous
from olaflab.papers.iswitch.costs import HostCosts, Variant
from olaflab.papers.iswitch.published import WORKLOADS, SwitchFigures, Workload
from olaflab.papers.store import Committed
from olaflab.training.cartpole import ActorCritic, DeepQ
from olaflab.training.staled.train import DelayedTask, train_with_delay

SMALL = WORKLOADS[2:]
"""Workloads whose iterations take a few ms to simulate."""
SOFTWARE = Software(1.008e6, byte=0.354, whole=True, duplex=True)
COSTS = HostCosts(Variant(), SOFTWARE, {"DQN": 13.5, "A2C": 12.2, "PPO": 6.94, "DDPG": 19.25}, 0.01)
"""As fitted, rounded."""


def test_the_networks_have_the_papers_sizes() -> None:
    sizes = {workload.name: 4 * sum(workload.tensors) for workload in WORKLOADS}
    assert round(sizes["DQN"] / 2**20, 2) == 6.41 and round(sizes["A2C"] / 2**20, 2) == 3.31
    assert round(sizes["DDPG"] / 2**10, 1) == 157.5
    vectors = {workload.name: sum(workload.vectors) for workload in WORKLOADS}
    assert vectors == sizes | {"PPO": 40980}


def test_the_papers_speedups_follow_from_its_hours() -> None:
    for workload in WORKLOADS:
        base, switch = workload.baselines, workload.switch
        asynchronous = (base.iterations_async * base.server_async) / (
            switch.iterations_async * switch.period_async
        )
        computed = (base.server / base.ring, base.server / switch.hours, asynchronous)
        assert workload.speedups == pytest.approx(computed, rel=0.05)


def test_what_iswitch_measured_of_itself_is_no_input_of_the_fit() -> None:
    other = SwitchFigures(1e6, (99.0, 99.0), 1e6, 1.0, (0.0, 0.0))
    perturbed = [replace(workload, switch=other) for workload in SMALL]
    assert costs.fitted(perturbed, Variant()) == costs.fitted(SMALL, Variant())


def test_the_fit_finds_the_costs_that_made_the_baselines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Iterations of known costs: the same come out, and what they explain they explain wholly."""
    made = [make_known(workload) for workload in SMALL]
    shares = [
        aggregated / (aggregated + COSTS.computing[workload.name])
        for workload in SMALL
        for aggregated in aggregation_times(workload)
    ]
    monkeypatch.setattr(costs, "SHARES", (min(shares), max(shares)))
    found = costs.fitted(made, Variant())
    assert found.error < 1e-3
    assert found.software.message == pytest.approx(SOFTWARE.message, rel=0.01)
    assert found.computing["DDPG"] == pytest.approx(COSTS.computing["DDPG"], rel=0.01)


def aggregation_times(workload: Workload) -> list[float]:
    """Return the ms of a server and of a ring."""
    return [
        costs.aggregation_time(approach, workload, Variant(), SOFTWARE)
        for approach in (Approach.SERVER, Approach.RING)
    ]


def make_known(workload: Workload) -> Workload:
    """Return the workload with the baselines that COSTS make."""
    hours = [
        (COSTS.computing[workload.name] + each) * workload.iterations / 3.6e6
        for each in aggregation_times(workload)
    ]
    return replace(workload, baselines=replace(workload.baselines, server=hours[0], ring=hours[1]))


@pytest.fixture
def rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the fit by the costs above."""
    monkeypatch.setattr(synchronous, "fit", lambda: (COSTS, (COSTS,)))
    monkeypatch.setattr(curves, "fit", lambda: (COSTS, (COSTS,)))
    monkeypatch.setattr(costs, "fitted", lambda *given: COSTS)


@pytest.mark.usefixtures("rounded")
def test_every_synchronous_order_is_the_papers() -> None:
    section = synchronous.show_synchronous(synchronous.measure_synchronous(Effort(print)))
    holds = section.verdicts
    assert all(
        word == "holds" for text, word in holds.items() if "from the fastest" in text or "aggregates" in text
    )
    missed = [text for text, word in holds.items() if word != "holds"]
    assert len(missed) == 1 and missed[0].startswith("A2C: iSW's speedup over PS within 15 % of 2.55")
    rows = {tuple(row[:2]): row for row in section.tables["table4"].rows}
    assert rows["DQN", "iSW"][3] == "22.27", "8.66 hours of 1.4 million iterations"


@pytest.mark.usefixtures("rounded")
def test_asynchronous_iterations_follow_the_papers_but_for_one() -> None:
    section = asynchronous.show_asynchronous(asynchronous.measure_asynchronous(Effort(print)))
    holds = section.verdicts
    missed = [text for text, word in holds.items() if word != "holds"]
    assert missed == ["DDPG: with the paper's numbers of iterations Async iSW ends sooner"]


def test_speedups_of_more_workers_are_of_gradients() -> None:
    periods = [10.0] * len(scale.WORKERS)
    assert scale.compute_speedups("iSW", periods)[3] == pytest.approx(3)
    assert scale.compute_speedups("Async PS", periods)[3] == pytest.approx(1)


def test_sums_in_the_switch_scale_and_the_ring_does_not() -> None:
    each = {
        (approach, workers): predicted.predict_period(
            approach, WORKLOADS[2], COSTS, workers, scale.RACKS
        ).whole
        for approach in (Approach.ENGINE, Approach.SERVER, Approach.RING)
        for workers in (4, 12, 96)
    }
    assert each[Approach.ENGINE, 96] < 1.02 * each[Approach.ENGINE, 4]
    assert each[Approach.RING, 12] > each[Approach.SERVER, 12] > 1.9 * each[Approach.SERVER, 4]


def test_no_switch_is_faster_than_the_limit() -> None:
    for workload in SMALL:
        limit = predicted.link_limit(workload, costs.NETWORK)
        assert limit < predicted.network_alone(workload, costs.NETWORK) < 1.15 * limit


def test_our_hosts_costs_are_those_that_were_measured() -> None:
    found = hosts.host_costs({"message": 1000, "byte": 0.5, "machine": "one"}, COSTS)
    assert found.software == Software(1000, byte=0.5, duplex=True)


def test_a_mean_is_of_all_seeds_or_none() -> None:
    assert learning.mean_with_interval([90, 100, 110, 100, 100]) == pytest.approx(
        (100, 2.776 * 7.071 / 5**0.5), rel=0.001
    )
    assert learning.mean_with_interval([90, None]) is None


def test_an_interrupted_command_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupted command finds the same as one that is not."""
    tasks = {
        "A2C": DelayedTask(ActorCritic, 20.0, 10, 160, 10),
        "DQN": DelayedTask(DeepQ, 15.0, 10, 160, 10, times=2),
    }
    monkeypatch.setattr(learning, "TASKS", tasks)
    monkeypatch.setattr(learning, "staleness", lambda *_: Course(np.zeros(2), np.array([1, 3, 0]), 0, 0))
    steps: list[str] = []

    def until_the_third(step: str) -> None:
        steps.append(step)
        if sum(", seed" in each for each in steps) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learning.measure_learning(COSTS, 2, tmp_path, until_the_third)
    again: list[str] = []
    found = learning.measure_learning(COSTS, 2, tmp_path, again.append)
    assert sum(", seed" in each for each in again) == 24 - 2, "two were there"
    assert found == learning.measure_learning(COSTS, 2, tmp_path / "other", lambda step: None)
    assert found["learners"]["DQN"]["seeds"] == 4 and found["learners"]["A2C"]["seeds"] == 2
    ways = found["learners"]["A2C"]["ways"]
    assert ways["Async iSW"]["staleness"] == 0.75 and len(ways["Async PS"]["iterations"]) == 2
    monkeypatch.setattr(curves, "fit", lambda: (COSTS, (COSTS,)))
    data = curves.run_learning(Effort(again.append, 2, folder=tmp_path))
    assert data["learnt"] == found
    rows = curves.show_learning(data).tables["iterations"].rows
    assert [row[0] for row in rows] == ["A2C"] * 4 + ["DQN"] * 4
    drawing = plotting.new_figure(8, 6)
    curves.draw_learning(data, drawing)
    assert len(drawing.axes) == 4


def test_committed_curves_repeat_from_their_seeds() -> None:
    kept = Committed(paths.sources() / "docs" / "papers", "iswitch").load_points()["learning"]
    known = kept["learnt"]["learners"]["A2C"]["ways"]["synchronous"]["curves"]
    task = replace(learning.TASKS["A2C"], gradients=1200)
    for seed in range(2):
        found = train_with_delay(task, learning.WAYS[0].each, lambda random: 0, seed)
        assert found.curve == known[seed][: len(found.curve)]
        assert len(found.curve) >= 5


def test_computing_that_makes_the_servers_iteration_exact() -> None:
    exact = costs.fitted(SMALL, Variant(), costs.BASES["PS exact"])
    for workload in SMALL:
        ours = predicted.predict_period(Approach.SERVER, workload, exact).whole
        assert ours == pytest.approx(workload.iteration_period(workload.baselines.server), rel=1e-6)
