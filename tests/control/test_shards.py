"""The shard of each cluster."""

from ipaddress import IPv4Address

from olafctl.control.shards import plan_shards
from olafctl.membership.model import Cluster, Member


def clusters(*members: int) -> list[Cluster]:
    """Return clusters ``c0``, ``c1``, … with these numbers of members."""
    return [
        Cluster(f"c{number}", values=100, workers=tuple(member(number, each) for each in range(count)))
        for number, count in enumerate(members)
    ]


def member(number: int, each: int) -> Member:
    name, mac = f"{number}-{each}", f"02:00:00:00:{number:02x}:{each:02x}"
    place = IPv4Address(f"10.0.{number}.{each + 1}"), 20300
    return Member(name, 1, mac, *place, cluster=f"c{number}", parent="", number=each, replica=1)


def test_clusters_are_dealt_out_by_their_members() -> None:
    at_first = dict.fromkeys(("c0", "c1", "c2", "c3"), 0)
    assert sorted(plan_shards(clusters(4, 4, 4, 4), at_first, 2).values()) == [0, 0, 1, 1]
    plan = plan_shards(clusters(12, 4, 4, 4), at_first, 2)
    assert {name for name, shard in plan.items() if shard == plan["c0"]} == {"c0"}


def test_a_member_more_moves_no_cluster() -> None:
    now = {"c0": 0, "c1": 0, "c2": 1, "c3": 1}
    assert plan_shards(clusters(4, 4, 4, 5), now, 2) == now


def test_as_few_clusters_move_as_level_the_shards() -> None:
    now = {"c0": 0, "c1": 0, "c2": 1, "c3": 1}
    plan = plan_shards(clusters(8, 8, 4, 1), now, 2)
    assert sum(plan[name] != now[name] for name in now) <= 1


def test_shards_without_a_cluster_stay_empty() -> None:
    assert set(plan_shards(clusters(4), {"c0": 2}, 4).values()) == {2}
