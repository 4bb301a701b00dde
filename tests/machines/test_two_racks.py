"""A testbed over two machines, from a desk that runs no engine."""

import json
import shutil
import signal
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from olafctl.machines.certificates import issue_pair
from olaftest.daemon.daemon_process import running_daemon as serving
from olaftest.daemon.daemon_process import wait_until
from olaftest.daemon.machines import PORT, MachineLab, lab, why_not
from tests.machines.conftest import deployed_without, multi_hop

ENGINE = "olafctl.targets.twin.process"


def bed_of(racks: MachineLab) -> str:
    return str(racks.folder / "two-racks.yaml")


@pytest.fixture
def running(racks: MachineLab) -> MachineLab:
    """Provide the machines with the testbed deployed, whatever earlier tests left."""
    racks.olafctl("deploy", bed_of(racks))
    return racks


def kill_engines(racks: MachineLab, machine: str) -> None:
    for process in racks.machines[machine].processes(ENGINE):
        process.kill()
    wait_until(lambda: not racks.machines[machine].processes(ENGINE))


def test_deploy_names_each_machine_and_the_second_one_changes_nothing(racks: MachineLab) -> None:
    racks.try_olafctl("destroy")
    plan = racks.olafctl("deploy", "--dry-run", bed_of(racks))
    assert "machine m1: root, tor1" in plan
    assert "machine m2: tor2" in plan
    assert "started" in racks.olafctl("deploy", bed_of(racks))
    assert "nothing changed" in racks.olafctl("deploy", bed_of(racks))
    report = json.loads(racks.olafctl("status", "--json"))
    assert [(each["name"], each["running"]) for each in report["machines"]] == [("m1", True), ("m2", True)]
    assert {each["engine"] for each in report["ports"]} == {"root", "tor1", "tor2"}
    threads = {engine: len(shards) for engine, shards in report["shards"].items()}
    assert threads == ({"tor2": 2} if report["target"] == "software" else {})


@pytest.mark.slow
def test_packets_pass_as_in_one_machine(running: MachineLab) -> None:
    assert " passed" in running.olafctl("test", "-k", "several_engines or round_hierarchy or ack_status")


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("target", ["software", "twin"])
def test_a_tree_of_four_machines(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each machine has an engine, and the desk has none."""
    monkeypatch.delenv("OLAF_TEST_ALL")  # an operator may skip tests that a testbed cannot run
    if reason := why_not():
        pytest.skip(reason)
    with lab("m1", "m2", "m3", "m4") as made:
        for number, above in ((1, "m3"), (2, "m3"), (3, "m4")):
            made.join_cable(f"m{number}", above, f"cable{number}")
        (made.folder / "multi-hop.yaml").write_text(multi_hop(target))
        made.olafctl("deploy", str(made.folder / "multi-hop.yaml"))
        capture_ports(made, ("ps", "s1-1", "s2-11"))
        assert " passed" in made.olafctl("test")
        made.olafctl("status")
        made.olafctl("destroy")
        for name in ("m1", "m2", "m3", "m4"):
            assert not made.machines[name].processes(ENGINE)


@pytest.mark.slow
def test_captures_at_two_machines_are_one_file(running: MachineLab) -> None:
    capture_ports(running, ("ps", "host21"))


def capture_ports(running: MachineLab, ports: Sequence[str]) -> None:
    """Capture frames at some ports while packet tests run."""
    file = running.folder / "both.pcapng"
    with running.begin_python("-m", "olafctl", "capture", *ports, "-w", str(file), "-c", "4") as capturing:
        assert capturing.stderr is not None
        try:
            assert "capturing" in capturing.stderr.readline()
            running.olafctl("test", "-k", "bypass")
            assert capturing.wait(60) == 0
            assert "4 frames captured" in capturing.stderr.read()
        finally:
            capturing.kill()
    assert file.stat().st_size > 0


def test_an_agent_that_is_killed_finds_its_engines(running: MachineLab) -> None:
    before = [each.pid for each in running.machines["m1"].processes(ENGINE)]
    running.kill_agent("m1")
    away = running.olafctl("status", code=1)
    assert "machine m1 cannot be reached" in away
    assert "machine m1 cannot be reached" in running.olafctl("cluster", "halt", "walker", code=1)
    running.start_agent("m1")
    assert "nothing changed" in running.olafctl("deploy", bed_of(running))
    assert [each.pid for each in running.machines["m1"].processes(ENGINE)] == before


@pytest.mark.slow
def test_an_engine_that_is_killed_comes_back_alone(running: MachineLab) -> None:
    kept = [each.pid for each in running.machines["m1"].processes(ENGINE)]
    kill_engines(running, "m2")
    died = "died: m2: "
    wait_until(lambda: died in running.olafctl("status", code=1))
    running.olafctl("deploy", bed_of(running))
    running.olafctl("status")
    assert [each.pid for each in running.machines["m1"].processes(ENGINE)] == kept


@pytest.mark.slow
def test_another_desk_sees_it_and_does_not_end_it(running: MachineLab) -> None:
    kept = [each.pid for each in running.machines["m1"].processes(ENGINE)]
    refused = running.try_olafctl("deploy", bed_of(running), at="m2")
    assert "runs on m1, m2 already, deployed from elsewhere" in refused.stderr
    shown = running.try_olafctl("status", "--json", "--deployment", bed_of(running), at="m2")
    report = json.loads(shown.stdout)
    assert (report["running"], report["drift"]) == (True, [])
    assert report["membership_unread"] == "the store of the olafctl that deployed it"
    joined = running.try_olafctl("worker", "join", "walker", "10.0.1.99", "--port", "11", at="m2")
    assert "(give its daemon's address: --daemon)" in joined.stderr
    assert running.try_olafctl("test", "-k", "bypass", at="m2").returncode == 0
    assert [each.pid for each in running.machines["m1"].processes(ENGINE)] == kept
    running.olafctl("status")


def test_of_two_first_deploys_at_once_at_most_one_stays(racks: MachineLab) -> None:
    """The loser ends nothing of the winner's and does not take it over by trying again."""
    racks.try_olafctl("destroy")
    for name in ("desk", "m2"):
        shutil.rmtree(racks.machines[name].folder / "two-racks", ignore_errors=True)
    with ThreadPoolExecutor() as pool:
        places = ("desk", "m2")
        tried = pool.map(lambda at: racks.try_olafctl("deploy", bed_of(racks), at=at), places)
        done = dict(zip(places, tried, strict=True))
    won = [at for at, tried in done.items() if tried.returncode == 0]
    assert len(won) <= 1, done
    for loser in set(places) - set(won):
        again = racks.try_olafctl("deploy", bed_of(racks), at=loser)
        if won:
            assert "deployed from elsewhere" in again.stderr, (done, again.stderr)
            assert racks.try_olafctl("status", at=won[0]).returncode == 0
            racks.try_olafctl("destroy", at=won[0])
        else:
            assert again.returncode == 0, (done, again.stderr)
            racks.try_olafctl("destroy", at=loser)
    racks.try_olafctl("destroy", "two-racks", at="m2")


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_laptop_needs_certificates_an_agents_address_and_the_name(running: MachineLab) -> None:
    """Where a daemon of the desk keeps the membership, it is changed and backed up, too."""
    laptop, certs = running.folder / "laptop", running.folder / "certs"
    shutil.rmtree(laptop, ignore_errors=True)
    issue_pair(certs, "daemon", (running.machines["desk"].address,), 1)
    served = f"{running.machines['desk'].address}:9600"
    tls = (
        "--tls-cert",
        f"{certs}/daemon.pem",
        "--tls-key",
        f"{certs}/daemon.key",
        "--tls-ca",
        f"{certs}/ca.pem",
    )
    given = {
        "OLAF_STATE": str(laptop),
        "OLAF_AGENT": f"10.97.0.9:{PORT},{running.machines['m2'].address}:{PORT}",
    }

    def from_laptop(*argv: str, **more: str) -> subprocess.CompletedProcess[str]:
        return running.try_olafctl(*argv, "--deployment", "two-racks", at="m1", **given, **more)

    seen = from_laptop("status", "--json")
    report = json.loads(seen.stdout)
    assert (report["running"], report["drift"]) == (True, [])
    assert report["membership_unread"] == "the store of the olafctl that deployed it"
    assert "tor2" in from_laptop("graph", "--text", "--seconds", "0.1").stdout
    assert from_laptop("logs").returncode == 0
    assert from_laptop("test", "-k", "bypass").returncode == 0
    assert "give its daemon's address" in from_laptop("cluster", "halt", "walker").stderr
    assert (
        "deployment 'no-racks' does not exist"
        in running.try_olafctl("status", "-d", "no-racks", at="m1", **given).stderr
    )
    daemon = running.make_daemon(running.folder / "two-racks.yaml", "desk", *tls, listen=served)
    with serving(daemon):
        wait_until(lambda: from_laptop("status", OLAF_DAEMON=served).returncode == 0)
        for line in (
            ("cluster", "halt", "walker"), ("cluster", "resume", "walker"), ("top", "--once"),
            ("worker", "join", "walker", "10.0.1.99", "--port", "11", "--name", "late"),
            ("worker", "leave", "late"), ("backup", str(running.folder / "kept")),
        ):  # fmt: skip
            done = from_laptop(*line, OLAF_DAEMON=served)
            assert done.returncode == 0, done.stderr
        assert from_laptop("destroy", OLAF_DAEMON=served).returncode == 0
        assert not running.machines["m1"].processes(ENGINE)


@pytest.mark.slow
def test_what_goes_on_without_a_machine_is_brought_whole_again(running: MachineLab) -> None:
    running.olafctl("destroy")
    running.cut_network("m2")
    try:
        brought = running.olafctl("deploy", "--without", "m2", bed_of(running))
        assert "cut off: cluster walker: " in brought
        assert running.machines["m1"].processes(ENGINE)
        assert "machine m2 cannot be reached" in running.olafctl("status", code=1)
    finally:
        running.cut_network("m2", whole=True)
    kept = [each.pid for each in running.machines["m1"].processes(ENGINE)]
    running.olafctl("deploy", "--wait", "60", bed_of(running))
    running.olafctl("status")
    assert [each.pid for each in running.machines["m1"].processes(ENGINE)] == kept
    assert "nothing works without m1, where the root is" in running.olafctl(
        "deploy", "--without", "m1", bed_of(running), code=2
    )


@pytest.mark.slow
def test_what_fails_at_one_machine_goes_back_at_the_others(running: MachineLab) -> None:
    """The agent of m2 is killed while the new engines start."""
    slots = running.folder / "slots" / "two-racks.yaml"
    slots.parent.mkdir(exist_ok=True)
    slots.write_text(Path(bed_of(running)).read_text().replace("slots: 16", "slots: 15"))
    assert "m2 could not go back" in deployed_without(running, str(slots), "m2")
    running.olafctl("deploy", bed_of(running))
    report = json.loads(running.olafctl("status", "--json"))
    assert {queue["registers"]["slots"] for queue in report["queues"].values()} == {16}


@pytest.mark.slow
def test_verbs_work_from_the_desk(running: MachineLab, tmp_path: Path) -> None:
    running.olafctl("worker", "join", "walker", "10.0.1.99", "--port", "11", "--name", "late")
    assert "walker" in running.olafctl("top", "--once")
    assert "tor2" in running.olafctl("graph", "--text", "--seconds", "0.1")
    assert "rows" in running.olafctl("backup", str(tmp_path / "kept"))
    running.olafctl("worker", "leave", "late")
    refused = running.olafctl("exec", "ps", "--", "true", code=2)
    assert "host 'ps' has no namespace of its own" in refused
    assert "on another machine" in running.olafctl("shell", "--print", "tor2/vnp4_1", code=2)
    running.olafctl("status")


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_programs_run_as_hosts_of_any_machine(running: MachineLab) -> None:
    """A program at m1 sends to one at m2; streams, signals and exit codes are this command's."""
    assert "+ host ps" in running.olafctl("deploy", "--hosts", "--dry-run", bed_of(running))
    running.olafctl("deploy", "--hosts", bed_of(running))
    assert {"ps", "walker-w2"} < {
        each["name"] for each in json.loads(running.olafctl("status", "--json"))["hosts"]
    }
    with running.begin_python("-m", "olafctl", "exec", "walker-w2", "--", "python3", "-c", _HEARS) as hearing:
        assert hearing.stdout is not None
        assert hearing.stdout.readline() == "hears\n"
        running.olafctl("exec", "ps", "--", "python3", "-c", _SAYS)
        assert hearing.stdout.readline() == "10.0.0.254 says hello\n"
        [olafctl] = psutil.Process(hearing.pid).children()
        olafctl.send_signal(signal.SIGTERM)
    assert hearing.returncode == 128 + signal.SIGTERM
    with running.begin_python("-m", "olafctl", "exec", "ps", "sh", "-c", "cat; exit 7") as repeating:
        assert repeating.communicate("again\n")[0] == "again\n"
    assert repeating.returncode == 7
    assert running.try_olafctl("exec", "ps", "no-such-program").returncode == 127
    assert "needs the role operator" in running.try_olafctl("exec", "ps", "true", role="controller").stderr
    assert " passed" in running.olafctl("test", "-k", "bypass")
    running.olafctl("deploy", "--no-hosts", bed_of(running))
    assert "walker-w2" not in running.olafctl("exec", "walker-w2", "true", code=2).split("(")[-1]


_HEARS = """
import socket
at = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
at.bind(("10.0.2.11", 7))
print("hears", flush=True)
said, who = at.recvfrom(99)
print(who[0], "says", said.decode(), flush=True)
at.recv(99)
"""
_SAYS = """
import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"hello", ("10.0.2.11", 7))
"""


def test_an_earlier_controller_writes_to_no_device_and_no_queue(running: MachineLab) -> None:
    with running.begin_python(str(Path(__file__).with_name("fenced.py")), bed_of(running)) as earlier:
        answers = json.loads(earlier.communicate()[0])
    assert len(answers) == 9  # three engines have two devices and a queue each
    assert all("another controller is primary" in answer for answer in answers.values()), answers
    running.olafctl("status")


def test_a_reader_sees_and_changes_nothing(running: MachineLab) -> None:
    running.olafctl("status", role="reader")
    refused = running.olafctl("deploy", "--force", bed_of(running), role="reader", code=1)
    assert "needs the role controller" in refused


def test_logs_name_their_machine(running: MachineLab) -> None:
    kill_engines(running, "m2")
    wait_until(lambda: "was ended by signal KILL" in running.olafctl("logs"))
    logs = running.olafctl("logs")
    assert "m2/queue.log: " in logs


@pytest.mark.slow
def test_a_daemon_brings_back_what_is_killed_or_was_away(running: MachineLab) -> None:
    kept = [each.pid for each in running.machines["m1"].processes(ENGINE)]
    with serving(running.make_daemon(running.folder / "two-racks.yaml")):
        for process in running.machines["m2"].processes(ENGINE):
            process.kill()
        wait_until(lambda: running.try_olafctl("status").returncode == 0)
        running.cut_network("m2")
        try:
            wait_until(lambda: "machine m2 cannot be reached" in running.try_olafctl("status").stdout)
        finally:
            running.cut_network("m2", whole=True)
        wait_until(lambda: running.try_olafctl("status").returncode == 0)
        wait_until(lambda: running.try_olafctl("cluster", "halt", "walker").returncode == 0)
        running.olafctl("cluster", "resume", "walker")
    running.olafctl("status")
    assert [each.pid for each in running.machines["m1"].processes(ENGINE)] == kept


@pytest.mark.slow
def test_a_testbed_that_does_not_start_leaves_what_ran(running: MachineLab) -> None:
    wrong = running.folder / "wrong" / "two-racks.yaml"
    wrong.parent.mkdir(exist_ok=True)
    wrong.write_text(Path(bed_of(running)).read_text().replace("path: cable0", "path: cable9"))
    before = [each.pid for each in running.machines["m1"].processes(ENGINE)]
    refused = running.olafctl("deploy", str(wrong), code=2)
    assert "m2: " in refused
    assert "interface cable9 does not exist" in refused
    running.olafctl("status")
    assert [each.pid for each in running.machines["m1"].processes(ENGINE)] == before


def test_destroy_leaves_nothing_on_any_machine(running: MachineLab) -> None:
    running.olafctl("destroy")
    for name in ("m1", "m2"):
        assert not running.machines[name].processes(ENGINE)
        assert list((running.machines[name].folder / ".agent").iterdir()) == []


def test_a_machine_that_is_away_is_named_before_anything_is_touched(racks: MachineLab) -> None:
    racks.try_olafctl("destroy")
    racks.cut_network("m2")
    try:
        assert "machine m2 cannot be reached" in racks.olafctl("deploy", bed_of(racks), code=1)
        assert not racks.machines["m1"].processes(ENGINE)
    finally:
        racks.cut_network("m2", whole=True)
