"""Jobs controlled at run time: settings are in the queue, in status, and remain after a deploy."""

from pathlib import Path

import pytest

from olafctl.control.deploy import find_deployment
from olafctl.control.desired import desired_state
from olafctl.control.plan import plan_changes
from olafctl.control.state import PipelineState, QueueState
from olafctl.control.status import read_status
from olafctl.control.store import Store, folder_of
from olafctl.daemon.keeping import LocalClient
from olafctl.queue.registers import IndexSettings
from olafctl.targets import testbeds
from olafctl.testbed.model import Testbed
from olafctl.wire.modes import Mode
from olafswitch.errors import BadInput
from tests.control.conftest import quietly

TEXT = """
name: jobs
engine: {indices: 16, slots: 4, beats: 24, address: 10.0.0.250, reward_threshold: 5}
ports: [{numbers: 1-4, name: p, transport: unix}]
parameter_servers: [{name: ps, port: 1, ip: 10.0.0.254}]
clusters:
  - {name: rounds, workers: 3, count: 1, ports: 2-4, ip: 10.0.1.1, values: 1000, mode: iswitch, threshold: 3}
  - {name: loose, workers: 2, count: 1, ports: 2-4, ip: 10.0.2.1, values: 400}
"""


def bed(folder: Path, text: str = TEXT) -> Testbed:
    return testbeds.load_testbed(folder / "jobs.yaml", text)


def test_a_plan_shows_indices_by_ranges_and_with_units(tmp_path: Path) -> None:
    lines = list(plan_changes(PipelineState(), desired_state(bed(tmp_path))).lines())
    assert [line for line in lines if "queue ind" in line] == [
        "~ queue indices 0-2 => iswitch, H 3, reward rule 5",
        "~ queue indices 3-4 => olaf, reward rule 5",
        "~ queue indices 5-15 => olaf",
    ]
    assert "~ queue register accumulate_quota => 2 slots" in lines
    settings = desired_state(bed(tmp_path)).queues["engine"].settings
    same = PipelineState(queues={"engine": QueueState(settings=settings)})
    assert not [
        line for line in plan_changes(same, desired_state(bed(tmp_path))).lines() if "queue ind" in line
    ]


def test_what_is_changed_lasts_and_is_not_drift(state: Path, tmp_path: Path) -> None:
    assert quietly(bed(tmp_path)).started
    store = Store(folder_of("jobs"))
    local = LocalClient(store)
    local.call("SetThreshold", cluster="rounds", threshold=2)
    local.call("Halt", cluster="0")
    local.call("SetStaleness", cluster="loose", staleness_bound=8)
    _, running = find_deployment(store)
    assert running is not None
    queue = running.queues["engine"]
    wanted = IndexSettings(Mode.ISWITCH, True, 2, 1, 0x40A00000)
    assert queue.settings()[0].settings == wanted
    assert queue.settings()[1].settings == IndexSettings(
        reward_enable=1, reward_threshold=0x40A00000, stale_enable=1, stale_bound=8
    )
    report = read_status(store)
    assert report["drift"] == []
    assert (report["clusters"][0]["threshold"], report["clusters"][0]["halted"]) == (2, True)
    assert not quietly(bed(tmp_path)).changed
    # A later file that gives the cluster another H counts; the cluster stays halted.
    edited = bed(tmp_path, TEXT.replace("threshold: 3}", "threshold: 1}"))
    assert list(quietly(edited).changes.lines()) == [
        "~ queue indices 0-2 iswitch, H 2, reward rule 5, halted => iswitch, H 1, reward rule 5, halted"
    ]
    local.call("Resume", cluster="rounds")
    assert find_deployment(store)[0].clusters[0].threshold == 1

    settings = queue.settings()
    queue.configure(4, 4, IndexSettings(Mode.FIFO))
    assert read_status(store)["drift"] == ["~ queue index 4 fifo => olaf, reward rule 5, staleness 8"]
    quietly(edited)
    assert queue.settings() == settings

    for call, fields, output in (
        ("SetThreshold", {"cluster": "loose", "threshold": 1}, "is of mode olaf"),
        ("SetThreshold", {"cluster": "rounds", "threshold": 4}, "give 1 … 3"),
        ("SetThreshold", {"cluster": "rounds", "threshold": 65535}, "give 1 … 3"),
        ("SetStaleness", {"cluster": "rounds", "staleness_bound": 8}, "no server answers"),
        ("SetStaleness", {"cluster": "loose", "staleness_bound": 70_000}, "give 0 … 65535"),
        ("FBcast", {"cluster": "rounds", "segment": 3}, "give 0 … 2"),
        ("FBcast", {"cluster": "loose"}, "is of mode olaf"),
        ("Reset", {"cluster": "nowhere"}, "cluster 'nowhere' does not exist"),
        ("Help", {"cluster": "rounds", "segment": 0, "round": 1, "worker": "loose-w0"}, "is not in rounds"),
    ):
        with pytest.raises(BadInput, match=output):
            local.call(call, **fields)
    assert queue.settings() == settings


def test_another_name_is_a_change_that_is_shown_and_kept(state: Path, tmp_path: Path) -> None:
    quietly(bed(tmp_path))
    renamed = bed(tmp_path, TEXT.replace("name: loose", "name: free"))
    wanted = (
        "- cluster loose",
        "+ cluster free",
        *(f"{s} worker {n}-w{k}" for s, n in (("-", "loose"), ("+", "free")) for k in (0, 1)),
    )
    assert quietly(renamed, dry_run=True).renamed == wanted
    outcome = quietly(renamed)
    assert (outcome.started, outcome.changed, outcome.renamed) == (False, True, wanted)
    assert "free" in {cluster["name"] for cluster in read_status(Store(folder_of("jobs")))["clusters"]}
    assert not quietly(renamed).changed
