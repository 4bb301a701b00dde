"""Two controllers over the same switches, the leader killed and cut off from etcd."""

import pytest

from olafctl.targets import registry
from olaflab.daemon import failover
from olaftest.daemon import etcd_server


def test_after_a_kill_and_a_cut_nothing_acknowledged_is_lost() -> None:
    if missing := [*registry.get_target("twin").missing(), *filter(None, [etcd_server.missing_programs()])]:
        pytest.skip(f"needs {', '.join(missing)}")
    report = failover.run_failover(kills=1, cuts=1, losses=0, changes=5, progress=print)
    assert report.lost == []
    assert report.primary
    assert (len(report.served_after_kill), len(report.served_after_cut)) == (1, 1)
    assert min(report.stopped_before_lease) > 0
