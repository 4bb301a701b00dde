"""Rounds over several engines (iSwitch §3.4): each sums up its own members, the top engine broadcasts."""

from contextlib import ExitStack

import pytest

from olafctl.membership.model import Cluster, Member
from olafctl.testbed.topology import Topology
from olafctl.wire.layouts import Flag, FrameType
from olafctl.wire.modes import Mode
from olafswitch.errors import BadInput
from tests.packets.frames import Gradient, gradient
from tests.packets.live import Live
from tests.packets.test_rounds import contributions, results


@pytest.fixture
def cluster(tree: Live) -> Cluster:
    """Provide a cluster of mode iswitch with members at several engines."""
    topology = Topology(tree.testbed)
    for candidate in tree.testbed.clusters:
        if candidate.mode is Mode.ISWITCH and topology.is_spread(candidate):
            return candidate
    pytest.skip("needs a cluster of mode iswitch with workers at several engines")


def total(tree: Live, cluster: Cluster) -> Gradient:
    """Return the engines' sum when the members of each contribute in turn, engine by engine."""
    topology = Topology(tree.testbed)

    def of(engine: str) -> Gradient | None:
        parts = [of(child) for child in topology.children[engine]]
        own = [worker for worker in cluster.workers if topology.home(worker) == engine]
        parts += [gradient(worker.number, 64) for worker in own]
        values = [part for part in parts if part is not None]
        if not values:
            return None
        result = values[0]
        for part in values[1:]:
            result = result + part
        return result

    result = of(topology.top(cluster))
    assert result is not None
    return result


def from_below(tree: Live, cluster: Cluster) -> list[Member]:
    """Return the members, those at lower engines first."""
    topology = Topology(tree.testbed)
    order = [engine.name for engine in reversed(tree.testbed.engines)]
    return sorted(cluster.workers, key=lambda worker: order.index(topology.home(worker)))


def test_each_engine_sums_up_its_members_and_the_root_broadcasts(tree: Live, cluster: Cluster) -> None:
    """A child's result goes to its parent as one contribution; the root's goes down to every member."""
    topology = Topology(tree.testbed)
    with ExitStack() as stack:
        counted = {name: stack.enter_context(tree.counting(name)) for name in tree.queues}
        arrived = tree.exchange(*contributions(tree, from_below(tree, cluster), 7))
    [result] = results(tree, cluster, arrived)
    header = result.olaf
    assert result.values.tobytes() == total(tree, cluster).tobytes()
    assert (header.frame_type, header.flags) == (FrameType.RESULT, Flag.AGGREGATED)
    assert (header.seq, header.count) == (7, len(cluster.workers))
    for name, grown in counted.items():
        own = sum(topology.home(worker) == name for worker in cluster.workers)
        children = sum(bool(topology.members_below(child, cluster)) for child in topology.children[name])
        assert (grown["in_updates"], grown["out_updates"]) == (own + children, min(own + children, 1))


def test_only_complete_rounds_from_below_go_up(tree: Live, cluster: Cluster) -> None:
    """One of the lower engine's members is missing: the root gets the updates of all others."""
    topology = Topology(tree.testbed)
    top = topology.top(cluster)
    missing, *others = from_below(tree, cluster)
    late = topology.home(missing)
    with tree.counting(top) as counted:
        assert tree.exchange(*contributions(tree, others, 1)) == {}
    own = sum(topology.home(worker) == top for worker in others)
    complete = [
        child
        for child in topology.children[top]
        if topology.members_below(child, cluster) and child not in topology.path_up(late)
    ]
    assert counted["in_updates"] == own + len(complete)
    assert len(results(tree, cluster, tree.exchange(*contributions(tree, [missing], 1)))) == 1


def test_a_repeated_contribution_stops_at_its_own_engine(tree: Live, cluster: Cluster) -> None:
    topology = Topology(tree.testbed)
    worker = from_below(tree, cluster)[0]
    with tree.counting(topology.home(worker)) as counted:
        assert tree.exchange(*contributions(tree, [worker, worker], 3)) == {}
        rest = [member for member in from_below(tree, cluster) if member != worker]
        [result] = results(tree, cluster, tree.exchange(*contributions(tree, rest, 3)))
    assert counted["dropped_duplicate"] == 1
    assert result.values.tobytes() == total(tree, cluster).tobytes()


def test_segments_of_a_round_finish_by_themselves(tree: Live, cluster: Cluster) -> None:
    members = from_below(tree, cluster)
    quota = min(engine.slots for engine in tree.testbed.engines)
    with tree.settings(*tree.queues, accumulate_quota=quota):
        first, second = (contributions(tree, members, 4, segment) for segment in (0, 1))
        assert tree.exchange(*first[:-1], *second[:-1]) == {}
        [late] = results(tree, cluster, tree.exchange(second[-1]))
        [early] = results(tree, cluster, tree.exchange(first[-1]))
    assert (early.olaf.segment, late.olaf.segment) == (0, 1)
    assert early.values.tobytes() == late.values.tobytes() == total(tree, cluster).tobytes()


def test_reset_discards_the_partial_sums_of_every_engine(tree: Live, cluster: Cluster) -> None:
    members = from_below(tree, cluster)
    assert tree.exchange(*contributions(tree, members[:1] + members[-1:], 5)) == {}
    tree.ask("Reset", cluster=cluster.name, segment=None)
    assert {registers.read("accumulating") for registers in tree.queues.values()} == {0}
    [result] = results(tree, cluster, tree.exchange(*contributions(tree, members, 5)))
    assert result.values.tobytes() == total(tree, cluster).tobytes()


def test_an_h_below_the_number_of_workers_is_refused(tree: Live, cluster: Cluster) -> None:
    """Each engine waits for all of its own members, so the root cannot complete a round with fewer."""
    with pytest.raises(BadInput, match="at several engines"):
        tree.ask("SetThreshold", cluster=cluster.name, threshold=len(cluster.workers) - 1)
