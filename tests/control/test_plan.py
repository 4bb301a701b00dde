"""A plan leads from any state to any other, and at no step points anything at a missing object."""

from ipaddress import IPv4Address
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olafctl import paths
from olafctl.control.desired import desired_state
from olafctl.control.pipeline import DEVICES, MEMBERS, VNP4_2
from olafctl.control.plan import ChangePlan, EntryChange, Op, plan_changes
from olafctl.control.state import DeviceState, PipelineState, QueueState, device_state
from olafctl.membership.membership import Membership, rows_of
from olafctl.membership.model import Cluster, Host, Member
from olafctl.membership.operations import Operations
from olafctl.queue.settings import join_ranges
from olafctl.targets import testbeds
from olafctl.testbed.ground import make_ground
from olafctl.testbed.model import Port, Testbed, TestbedEngine
from olafctl.wire.modes import Mode
from olafswitch.p4runtime.entities import Exact, MulticastGroup, TableEntry

EMPTY = PipelineState({device: DeviceState() for device in DEVICES}, {})


def bed(workers: list[tuple[int, int, int]], engine: TestbedEngine) -> Testbed:
    """Return a testbed of (host number, front port, cluster) workers."""
    clusters = [
        Cluster(
            name=f"c{index}",
            number=index,
            values=0,
            first=index,
            segments=1,
            threshold=1,
            workers=tuple(
                Member(
                    name=f"w{number}",
                    port=port,
                    mac=f"02:00:00:00:00:{number:02x}",
                    ip=IPv4Address(number),
                    udp_port=20300,
                    cluster=f"c{index}",
                    parent="bed",
                    number=number % 8,
                    replica=number,
                )
                for number, port, cluster in workers
                if cluster == index
            ),
        )
        for index in range(engine.indices)
    ]
    return Testbed(
        name="bed",
        source=Path("bed.yaml"),
        target="twin",
        engines=(engine,),
        udp_port=20300,
        control_tos=0xFC,
        ports=tuple(Port(number, f"p{number}", None, None) for number in range(1, 5)),
        parameter_servers=(Host("ps", 1, "02:00:00:00:00:fe", IPv4Address("10.0.0.254"), 20300),),
        clusters=tuple(clusters),
        hosts=(),
        routes=(),
    )


engines = st.builds(
    TestbedEngine,
    indices=st.just(8),
    slots=st.just(8),
    beats=st.just(24),
    adder_latency=st.just(4),
    mode=st.sampled_from([Mode.OLAF, Mode.FIFO]),
    reward_threshold=st.sampled_from([None, 1.5]),
    staleness_root=st.sampled_from([None, 3.0]),
    output_rate=st.sampled_from([None, 20 * 10**9]),
    active_window=st.just(10**6),
    accumulate_quota=st.just(4),
    address=st.none(),
)
beds = st.builds(
    bed,
    st.lists(
        st.tuples(st.integers(1, 9), st.integers(1, 4), st.integers(0, 3)),
        unique_by=lambda worker: worker[0],
        max_size=9,
    ),
    engines,
)


def follow(start: PipelineState, changes: ChangePlan) -> list[PipelineState]:
    """Return the states of a device set, indices first, Write by Write, registers last."""
    queues = {}
    for engine, queue in changes.queues.items():
        before = start.queues.get(engine, QueueState())
        known = [part.settings for part in before.settings for _ in range(part.first, part.last + 1)]
        for part in queue.settings:
            known[part.first : part.last + 1] = [part.after] * (part.last - part.first + 1)
        queues[engine] = QueueState(before.registers, join_ranges(known))
    states = [PipelineState(start.devices, queues)]
    for step in changes.steps:
        held = states[-1].devices[step.device]
        entries, groups = dict(held.entries), dict(held.groups)
        for change in step.changes:
            if isinstance(change, EntryChange):
                assert (change.op is Op.INSERT) == (change.entity.key not in entries)
                if change.op is Op.DELETE:
                    del entries[change.entity.key]
                else:
                    entries[change.entity.key] = change.entity
            else:
                assert (change.op is Op.INSERT) == (change.entity.group_id not in groups)
                if change.op is Op.DELETE:
                    del groups[change.entity.group_id]
                else:
                    groups[change.entity.group_id] = change.entity
        devices = {**states[-1].devices, step.device: DeviceState(entries, groups)}
        states.append(PipelineState(devices, queues))
    ended = {
        engine: QueueState(
            {**queue.registers, **{change.name: change.after for change in changes.queues[engine].registers}},
            queue.settings,
        )
        for engine, queue in queues.items()
    }
    return [*states, PipelineState(states[-1].devices, ended)]


def assert_nothing_dangles(state: DeviceState) -> None:
    for entry in state.entries.values():
        if "group" in entry.params:
            assert entry.params["group"] in state.groups
    members = {entry.match["member"] for entry in state.entries.values() if entry.table == MEMBERS}
    for group in state.groups.values():
        assert {Exact(replica.instance) for replica in group.replicas if replica.instance} <= members


@settings(max_examples=60)
@given(beds, beds)
def test_a_plan_leads_to_the_wanted_state_and_nothing_dangles(old: Testbed, new: Testbed) -> None:
    states = follow(desired_state(old), plan_changes(desired_state(old), desired_state(new)))
    assert states[-1] == desired_state(new)
    for state in states:
        assert_nothing_dangles(state.devices[VNP4_2])


@settings(max_examples=30)
@given(beds)
def test_from_nothing_everything_is_inserted_once(new: Testbed) -> None:
    changes = plan_changes(EMPTY, desired_state(new))
    assert {change.op for step in changes.steps for change in step.changes} == {Op.INSERT}
    assert follow(EMPTY, changes)[-1] == desired_state(new)
    assert plan_changes(desired_state(new), desired_state(new)).size == 0


def test_regrouping_grows_the_new_group_first() -> None:
    small = testbeds.load_testbed(paths.sources() / "testbeds" / "nine-clusters.yaml")
    ask, membership = Operations(make_ground(small)), Membership(small.indices, rows_of(small.clusters))
    membership.apply(ask.move("cluster0-w0", "cluster1")(membership).change)
    assert list(plan_changes(desired_state(small), desired_state(small, membership.snapshot())).lines()) == [
        "~ vnp4_2 group 2 +{port 2 member 1}",
        "~ vnp4_1 workers worker_addr 10.0.1.1 -> "
        "assign(cluster 0, epoch 0, index 0, member 0, port 2, segments 1, worker 0) => "
        "assign(cluster 1, epoch 0, index 1, member 3, port 2, segments 1, worker 0)",
        "~ vnp4_2 group 1 -{port 2 member 1}",
    ]


@pytest.mark.parametrize("name", ["laptop", "nine-clusters", "hundred-clusters"])
def test_every_worker_is_assigned_delivered_to_and_in_its_group(name: str) -> None:
    bed = testbeds.load_testbed(paths.sources() / "testbeds" / f"{name}.yaml")
    state = desired_state(bed)
    entries = [entry for device in DEVICES for entry in state.devices[device].entries.values()]
    for worker in bed.workers:
        cluster = bed.cluster_of(worker)
        assigned = {
            "cluster": cluster.number,
            "worker": 0,
            "index": cluster.first,
            "segments": 1,
            "member": worker.number,
            "epoch": 0,
            "port": worker.port,
        }
        assert TableEntry("workers", {"worker_addr": int(worker.ip)}, "assign", assigned) in entries
        group = state.devices[VNP4_2].groups[cluster.group]
        assert (worker.port, worker.replica) in [(r.egress_port, r.instance) for r in group.replicas]
    assert sum(len(list(group.replicas)) for group in state.devices[VNP4_2].groups.values()) == len(
        bed.workers
    ) + len(bed.ports)


def test_entities_sort_themselves_into_a_device_state() -> None:
    entry, group = TableEntry("bridging", {"dst_mac": 1}, "forward", {"port": 2}), MulticastGroup(3)
    assert device_state([entry, group]) == DeviceState({entry.key: entry}, {3: group})
