"""``olaflab bench control``, small."""

import pytest

from olafctl.targets import registry
from olaflab.daemon import scale
from olafswitch.errors import BadInput
from tests.shells import shell_python


def test_it_measures_the_daemon_next_to_p4runtime_shell() -> None:
    if missing := registry.get_target("twin").missing():
        pytest.skip(f"needs {', '.join(missing)}")
    shell_python()
    figures = scale.measure_daemon(members=20, clusters=4, joins=2, progress=print)
    assert (figures.members, figures.clusters) == (20, 4)
    assert min(figures.reconcile, figures.unchanged, figures.joins_per_second, figures.shell_member) > 0
    assert 0 < figures.join_median <= figures.join_p99
    assert len(list(scale.format_lines(figures))) == 9


def test_more_members_than_the_tables_hold_are_refused_at_once() -> None:
    with pytest.raises(BadInput, match=r"16385 members do not fit.*--joins|--joins.*16385 members"):
        scale.measure_daemon(members=16380, clusters=4, joins=1, progress=print)
