"""The order in which a change of a membership reaches a tree of engines: at no moment does an engine send an
update on that the next one cannot process."""

from ipaddress import IPv4Address

from hypothesis import given, settings
from hypothesis import strategies as st

from olafctl.control import devices
from olafctl.control.desired import of_clusters
from olafctl.control.pipeline import ASSIGN, MEMBERS, VNP4_1, VNP4_2, WORKERS
from olafctl.control.plan import ChangePlan, QueuePlan, plan_changes
from olafctl.control.state import DeviceState, device_state
from olafctl.membership.model import Cluster, Member
from olafctl.queue.registers import IndexSettings
from olafctl.queue.settings import Change as SettingsChange
from olafctl.testbed.topology import Topology
from olafctl.wire.modes import Mode
from olafswitch.p4runtime.entities import Exact
from olaftest.daemon.switch_pair import PairRegisters, RunningPair
from tests.daemon.conftest import lab

BED = lab("""
name: tree
engines:
  - {name: root, ports: [{number: 1, name: ps}, {numbers: 2-3, name: down}], address: 10.0.0.250}
  - {name: left, ports: [{numbers: 11-12, name: a}, {numbers: 13-14, name: x}]}
  - {name: right, ports: [{number: 21, name: b}, {number: 22, name: y}]}
  - {name: leaf, ports: [{number: 31, name: c}, {number: 32, name: z}]}
links:
  - {ends: [left.13, root.2]}
  - {ends: [right.22, root.3]}
  - {ends: [leaf.32, left.14]}
parameter_servers: [{name: ps, port: ps, ip: 10.0.0.254}]
clusters: []
""")
TOPOLOGY = Topology(BED)
FRONT = (1, 11, 12, 21, 31)
Places = dict[int, tuple[int, int]]
"""The front port and cluster of each worker."""
places = st.dictionaries(st.integers(1, 6), st.tuples(st.sampled_from(FRONT), st.integers(0, 1)))


def make_clusters(where: Places, mode: Mode) -> tuple[Cluster, ...]:
    found = []
    for number in range(2):
        workers = tuple(
            Member(
                name=f"w{n}",
                port=port,
                mac=f"02:00:00:00:00:{n:02x}",
                ip=IPv4Address(f"10.0.1.{n}"),
                udp_port=1,
                cluster=f"c{number}",
                parent=TOPOLOGY.engine_at[port],
                number=n,
                replica=n,
                worker_id=n,
            )
            for n, (port, cluster) in sorted(where.items())
            if cluster == number
        )
        found.append(Cluster(f"c{number}", number, 0, number, 1, mode=mode, epoch=number, workers=workers))
    return tuple(found)


def read_assigned(held: DeviceState) -> dict[int, int]:
    """Return the cluster of each worker that VNP4₁ knows, by the last byte of its address."""
    found = {}
    for entry in held.entries.values():
        if entry.table == WORKERS and entry.action == ASSIGN:
            match = entry.match["worker_addr"]
            assert isinstance(match, Exact)
            if match.value >> 24 == 10:  # it is no address between engines
                found[match.value & 0xFF] = entry.params["cluster"]
    return found


@settings(max_examples=150)
@given(places, places, st.sampled_from([Mode.OLAF, Mode.ISWITCH]))
def test_an_engine_that_is_not_ready_never_gets_a_frame(before: Places, after: Places, mode: Mode) -> None:
    old = of_clusters(make_clusters(before, mode), topology=TOPOLOGY)
    new = of_clusters(make_clusters(after, mode), topology=TOPOLOGY)
    now = dict(old.devices)
    for step in plan_changes(old, new).steps:
        entries, groups = dict(now[step.device].entries), dict(now[step.device].groups)
        for change in step.changes:
            if hasattr(change.entity, "key"):
                entries.pop(change.entity.key, None)
            else:
                groups.pop(change.entity.group_id, None)
            if change.after is not None and (hasattr(change.entity, "key") or change.op.value != "-"):
                part = device_state([change.entity])
                entries.update(part.entries)
                groups.update(part.groups)
        now[step.device] = DeviceState(entries, groups)
        updates_are_known_upwards(now, before, after)
        copies_arrive_at_members_alone(now, before, after)
    assert now == dict(new.devices)


def updates_are_known_upwards(now: dict[str, DeviceState], before: Places, after: Places) -> None:
    """Check that a parent counts each worker to its child's cluster, except one that changes it."""
    for engine in BED.engines[1:]:
        parent = TOPOLOGY.parent(engine.name)
        above = read_assigned(now[f"{parent}/{VNP4_1}"])
        for worker, cluster in read_assigned(now[f"{engine.name}/{VNP4_1}"]).items():
            clusters_of = {where[worker][1] for where in (before, after) if worker in where}
            if len(clusters_of) == 1:
                assert above.get(worker) == cluster


def copies_arrive_at_members_alone(now: dict[str, DeviceState], before: Places, after: Places) -> None:
    for engine in BED.engines:
        held = now[f"{engine.name}/{VNP4_2}"]
        delivered = {entry.match["member"] for entry in held.entries.values() if entry.table == MEMBERS}
        for number, group in held.groups.items():
            for replica in group.replicas:
                assert Exact(replica.instance) in delivered
                if replica.instance < 1 << 15:
                    places_of = [where.get(replica.instance) for where in (before, after)]
                    assert (replica.egress_port, number - 1) in places_of
                else:  # to an engine below, which makes its members' copies of it
                    [child] = [
                        each for each in TOPOLOGY.children[engine.name]
                        if TOPOLOGY.up[each].peer == replica.egress_port
                    ]  # fmt: skip
                    assert now[f"{child}/{VNP4_2}"].groups[number].replicas


class Noted(PairRegisters):
    """Registers that note the order in which queues are written."""

    def __init__(self, name: str, seen: list[str]) -> None:
        super().__init__(4)
        self._name, self._seen = name, seen

    def configure(self, first: int, last: int, settings: IndexSettings) -> None:
        self._seen.append(self._name)


def test_a_parent_gets_a_higher_h_after_its_children() -> None:
    """Otherwise a child may end a round with the old H that its parent waits to be filled to the new H."""
    seen: list[str] = []
    change = (SettingsChange(0, 0, None, IndexSettings(threshold=3)),)
    changes = {engine.name: QueuePlan(settings=change) for engine in BED.engines}
    running = RunningPair((), {engine.name: Noted(engine.name, seen) for engine in BED.engines})
    devices.carry_out(ChangePlan(queues=changes), running, {})
    for engine in BED.engines[1:]:
        parent = TOPOLOGY.parent(engine.name)
        assert parent is not None
        assert seen.index(engine.name) < seen.index(parent)
