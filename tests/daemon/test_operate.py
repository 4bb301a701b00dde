"""Metrics, health and the live view of a daemon, over real sockets, and its systemd unit."""

import http.client
import json
import math
import os
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from olafctl import paths
from olafctl.cli import main
from olafctl.daemon.ages import KNOWN_SECONDS, Reported
from olafctl.daemon.api import olaf_pb2
from olafctl.daemon.api.client import DaemonClient
from olafctl.daemon.api.server import HEALTH, Server
from olafctl.daemon.controller import Controller
from olafctl.daemon.operate import systemd
from olafctl.daemon.operate.metrics import Metrics, send_probability
from olafctl.daemon.web.looks import Looks
from olafctl.daemon.web.server import Web
from olafctl.machines.certificates import issue_pair
from olafctl.queue.registers import REGISTERS, Access
from olafctl.targets import processes
from olafctl.wire.layouts import Refusal
from olafswitch.errors import BadInput, OlafError
from olafswitch.p4runtime.address import Tls
from olaftest.daemon.daemon_process import wait_until
from tests.daemon.deployment import DEADLINE
from tests.daemon.pair import DaemonPair
from tests.daemon.test_api import TOKEN, Run, own_deployment, run

__all__ = ["run"]
HEAD = {
    "worker": "w1", "cluster": "red", "awake": 3, "blocks": 4, "fill": 0.25, "lag": 1, "waited": 1.5,
    "since": 2.0,
}  # fmt: skip
SHOWN = [register.name for register in REGISTERS if register.access in (Access.STATUS, Access.COUNTER)]


@pytest.fixture
def metrics(controller: Controller, pair: DaemonPair) -> Metrics:
    """Return metrics of a daemon whose queue has counted something."""
    for number, name in enumerate(["slots", *SHOWN], 1):
        pair.registers.write(name, number)
    ages = Reported[int]()
    ages.put({"red": 250_000_000})
    lab = own_deployment(controller)["lab"]
    staleness = Reported[Any]()
    noted = olaf_pb2.Staleness(cluster="red", updates=4, total=10, largest=6, bins=[1, 1, 0, 1, 1])
    staleness.put({"red": noted})
    heads = Reported[Any]()
    heads.put({"w1": olaf_pb2.Head(**HEAD)})
    players = Reported[Any]()
    players.put({"w2": olaf_pb2.Player(worker="w2", cluster="red", version=7, lag=3, age=1.5, slow=True)})
    lab = replace(lab, messages={"ok": 1}, ages=ages, staleness=staleness, heads=heads, players=players)
    return Metrics({"lab": lab})


@pytest.fixture
def server(controller: Controller, metrics: Metrics, tmp_path: Path) -> Iterator[Server]:
    served = Server(own_deployment(controller), f"unix:{tmp_path}/d/olaf.sock", called=metrics.count_call)
    yield served
    served.stop()


@pytest.fixture
def client(server: Server) -> Iterator[DaemonClient]:
    with DaemonClient(server.address, timeout=DEADLINE) as connected:
        yield connected


def nothing_watched() -> Looks:
    """Return looks at no deployment, for the page, which these tests do not request."""
    return Looks(dict, None)


def read_samples(metrics: Metrics) -> dict[str, dict[tuple[str, ...], float]]:
    """Return values by metric and by their labels' values, in the order of the labels' names."""
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(metrics.expose_metrics().decode()):
        for each in family.samples:
            found.setdefault(each.name, {})[tuple(value for _, value in sorted(each.labels.items()))] = (
                each.value
            )
    return found


def test_metrics_tell_calls_members_and_the_queue(client: DaemonClient, metrics: Metrics) -> None:
    client.call("CreateCluster", name="red")
    client.call("Join", cluster="red", ip="10.0.1.1", port=2)
    with pytest.raises(BadInput):
        client.call("Join", cluster="blue", ip="10.0.1.2", port=2)
    seen = read_samples(metrics)
    assert seen["olaf_calls_total"][("Join", "ok")] == 1
    assert seen["olaf_calls_total"][("Join", "invalid_argument")] == 1
    assert seen["olaf_call_seconds_count"][("Join",)] == 2
    assert seen["olaf_members"] == {("red", "lab"): 1}
    assert seen["olaf_ready"] == {("lab",): 1}
    assert seen["olaf_queue_slots"] == {("lab", "engine"): 1}
    assert seen["olaf_refused_frames_total"] == {
        ("lab", "engine", reason.name.lower()): 0 for reason in Refusal
    }
    shown = seen["olaf_queue_total"].keys() | seen["olaf_queue_status"].keys()
    assert {name for labels in shown for name in labels} - {"lab", "engine"} == set(SHOWN)


def test_what_workers_should_send(metrics: Metrics) -> None:
    assert send_probability({"slots": 4, "active_clusters": 16}) == 0.25
    assert send_probability({"slots": 4, "active_clusters": 0}) == 1.0


def test_the_dashboard_asks_for_nothing_that_is_not_exported(client: DaemonClient, metrics: Metrics) -> None:
    client.call("CreateCluster", name="red")
    exported, counters = read_samples(metrics), set(SHOWN)
    assert exported["olaf_age_of_model_seconds"] == {("red", "lab"): 0.25}
    assert exported["olaf_update_staleness_sum"] == {("red", "lab"): 10}
    bounds = zip(("0", "1", "2", "4", "8", "+Inf"), (1, 2, 2, 3, 4, 4), strict=True)
    buckets = {("red", "lab", bound): count for bound, count in bounds}
    assert exported["olaf_update_staleness_bucket"] == buckets
    heads = {name: value for name, value in exported.items() if name.startswith("olaf_head_")}
    assert heads == {
        f"olaf_head_{name}": {("red", "lab", "w1"): value}
        for name, value in (
            ("actors_awake", 3), ("ring_fill", 0.25), ("lag", 1), ("waited_seconds", 1.5),
            ("silent_seconds", 2),
        )
    }  # fmt: skip
    players = {name: value for name, value in exported.items() if name.startswith("olaf_player_")}
    assert players == {
        f"olaf_player_{name}": {("red", "lab", "w2"): value}
        for name, value in (("version", 7), ("lag", 3), ("age_seconds", 1.5), ("slow", 1), ("dead", 0))
    }
    board = json.loads((paths.sources() / "templates" / "dashboard.json").read_text())
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    asked.append(board["templating"]["list"][1]["query"])
    names = [name for query in asked for name in re.findall(r"\bolaf_\w+", query)]
    assert names
    assert set(names) <= exported.keys()
    labels = [text for query in asked for text in re.findall(r'(?:counter|register)=~?"([^"]*)"', query)]
    assert labels
    for text in labels:
        assert all(any(re.fullmatch(part, name) for name in counters) for part in text.split("|")), text


def get_page(
    address: str, path: str, token: str = "", tls: ssl.SSLContext | None = None
) -> tuple[int, bytes]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(f"{'https' if tls else 'http'}://{address}{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=DEADLINE, context=tls) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read()


def test_health_and_readiness_over_http_and_grpc(
    controller: Controller, client: DaemonClient, server: Server, metrics: Metrics, pair: DaemonPair
) -> None:
    client.call("CreateCluster", name="red")
    web = Web(nothing_watched(), "127.0.0.1:0", owned=own_deployment(controller), metrics=metrics)
    try:
        with grpc.insecure_channel(server.address) as channel:
            check = channel.unary_unary(f"/{HEALTH}/Check")
            assert (get_page(web.address, "/healthz")[0], get_page(web.address, "/readyz")[0]) == (200, 200)
            assert check(b"") == b"\x08\x01"  # SERVING
            pair.unreachable = True
            pair.kill("vnp4_1")
            # The end of a stream is known some time after the end of its device.
            wait_until(lambda: not client.call("GetStatus", summary=True).deployments[0].ready)
            with pytest.raises(OlafError, match="nothing was changed"):
                client.call("Halt", cluster="red")
            code, problems = get_page(web.address, "/readyz")
            assert (code, list(json.loads(problems))) == (503, ["lab"])
            assert check(b"") == b"\x08\x02"  # NOT_SERVING
            assert get_page(web.address, "/healthz")[0] == 200
            assert get_page(web.address, "/other")[0] == 404
            assert b"Which attacks are answered" in get_page(web.address, "/threats")[1]
            assert b"olaf_ready" in get_page(web.address, "/metrics")[1]
    finally:
        pair.unreachable = False
        web.stop()


def test_loopback_needs_the_token_and_this_hosts_name(controller: Controller, metrics: Metrics) -> None:
    web = Web(nothing_watched(), "127.0.0.1:0", None, TOKEN, own_deployment(controller), metrics)
    try:
        for path in ("/", "/events", "/metrics", "/readyz", "/healthz"):
            assert get_page(web.address, path)[0] == 401, path
        assert get_page(web.address, "/metrics", TOKEN)[0] == 200
    finally:
        web.stop()
    web = Web(nothing_watched(), "127.0.0.1:0", owned=own_deployment(controller), metrics=metrics)
    host, _, port = web.address.rpartition(":")
    try:
        for path in ("/", "/events", "/metrics", "/readyz", "/healthz"):
            hosts = {"evil.example": True, "": True, "localhost": False, "[::1]:80": False}
            for name, refused in hosts.items():
                asked = http.client.HTTPConnection(host, int(port), timeout=DEADLINE)
                asked.request("HEAD", path, headers={"Host": name})
                answer = asked.getresponse()
                assert (answer.status == 421, answer.read()) == (refused, b""), (path, name)
                assert answer.status in (200, 421, 503)
                asked.close()
    finally:
        web.stop()


def test_beyond_loopback_metrics_need_tls_and_a_token(
    controller: Controller, metrics: Metrics, tmp_path: Path
) -> None:
    looks = nothing_watched()
    with pytest.raises(BadInput, match="add a certificate for TLS"):
        Web(looks, "0.0.0.0:0", token=TOKEN)
    issue_pair(tmp_path, "server", ("127.0.0.1",), 1)
    tls = Tls(tmp_path / "server.pem", tmp_path / "server.key")
    with pytest.raises(BadInput, match="give a token, or a client authority"):
        Web(looks, "0.0.0.0:0", tls)
    web = Web(looks, "0.0.0.0:0", tls, TOKEN, own_deployment(controller), metrics)
    trusting = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
    address = web.address.replace("0.0.0.0", "127.0.0.1")
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port))):  # it says nothing, and delays no one
            assert get_page(address, "/metrics", tls=trusting)[0] == 401
            assert get_page(address, "/metrics", "wrong", trusting)[0] == 401
            noted = get_page(address, "/metrics", TOKEN, trusting)[1]
            assert b"olaf_ready" in noted
            assert b"olaf_failed_logins_total 2.0\n" in noted
    finally:
        web.stop()


def test_top_shows_clusters_and_causes(
    run: Run, client: DaemonClient, capsys: pytest.CaptureFixture[str]
) -> None:
    run("cluster", "create", "red")
    run("worker", "join", "red", "10.0.1.1", "--port", 2, "--name", "w1")
    staleness = [{"cluster": "red", "updates": 4, "total": 10, "largest": 6, "bins": [1, 1, 0, 1, 1]}]
    ages = [{"name": "red", "value": 12_500_000}, {"name": "none", "value": 1}]
    heads = [HEAD, {**HEAD, "cluster": "none", "worker": "w9"}]
    with pytest.raises(BadInput, match="no cluster is called 'none'"):
        client.call("ReportAges", ages=ages, staleness=staleness, heads=heads)
    wrong: list[dict[str, Any]] = [
        {"ages": [{"name": "red", "value": 2**64 - 1}]},
        {"staleness": [{"cluster": "red", "updates": 1, "total": 9, "largest": 6}]},
        {"heads": [{**HEAD, "fill": math.nan}]},
        {"heads": [{**HEAD, "since": -1.0}]},
    ]
    for fields in wrong:
        with pytest.raises(BadInput):
            client.call("ReportAges", **fields)
    [shown] = run("top")
    assert ([worker["name"] for worker in shown["workers"]], shown["term"]) == (["w1"], "1")
    assert shown["ages_of_model"] == {"red": 12_500_000}
    histogram = {"0": 1, "1": 1, "2": 0, "4": 1, "8": 1}
    assert shown["staleness"] == {
        "red": {"mean": 2.5, "max": 6, "merged": 0, "oldest": 0, "histogram": histogram}
    }
    assert shown["heads"] == {"w1": {name: value for name, value in HEAD.items() if name != "worker"}}
    assert shown["players"] == {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["olafctl", "top", "--once"])
        with pytest.raises(SystemExit) as ended:
            main.main()
        text = capsys.readouterr().out
        assert ended.value.code == 0
        patch.setattr(sys, "argv", ["olafctl", "top", "--web", "0"])
        with pytest.raises(SystemExit):
            main.main()
        assert "a daemon keeps it (start the daemon with --web" in capsys.readouterr().err
    assert re.search(r"lab: ready", text)
    assert re.search(r"red +1 +\w+ .* 12\.5 +2\.5 ≤ 6", text)
    assert re.search(r"w1 +red +3 +4 +25% +1 +1\.50 +2\.0", text)
    assert "w9" not in text


def test_an_age_that_is_no_longer_reported_is_forgotten() -> None:
    now = 0.0
    ages = Reported[int](lambda: now)
    ages.put({"red": 5, "blue": 7})
    now = KNOWN_SECONDS
    ages.put({"blue": 8})
    assert ages.recent_reports() == {"red": 5, "blue": 8}
    now += 1
    assert ages.recent_reports() == {"blue": 8}


# systemd


def test_the_service_manager_is_notified(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    systemd.notify_manager("READY=1")  # without a manager nothing happens
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        systemd.notify_manager("READY=1")
        assert manager.recv(100) == b"READY=1"
    monkeypatch.setenv("WATCHDOG_USEC", "60000000")
    assert systemd.watchdog_seconds() == 30.0


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to have rights that the unit does not give")
def test_a_daemon_with_the_units_rights_finds_what_root_deployed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OLAF_STATE", str(tmp_path))
    (rights,) = re.findall(
        r"^CapabilityBoundingSet=(.*)$", systemd.render_unit("olafctl.service.j2", []), re.M
    )
    only = "-all" + "".join(f",+{each.removeprefix('CAP_').lower()}" for each in rights.split())
    ask = (
        "import sys;from olafctl.targets.processes import *;"
        "print(*(p.pid for p in find_processes(Path(sys.argv[1]))))"
    )
    with processes.spawn_process(["sleep", "60"], tmp_path, tmp_path / "log"):
        try:
            wait_until(lambda: bool(processes.find_processes(tmp_path)))
            line = ["setpriv", f"--bounding-set={only}", f"--inh-caps={only}", sys.executable, "-c", ask]
            seen = subprocess.run([*line, tmp_path], capture_output=True, text=True, timeout=DEADLINE)
            assert seen.stdout.split() == [str(each.pid) for each in processes.find_processes(tmp_path)], (
                seen.stderr
            )
        finally:
            processes.end_all(tmp_path)


@given(
    words=st.lists(
        st.text(st.sampled_from("a %$\"'\\\\;#\n\x1bé") | st.characters(codec="utf-8")), min_size=1
    )
)
def test_each_word_of_the_command_is_one_word_of_the_unit(words: list[str]) -> None:
    if not "".join(words).isprintable():
        with pytest.raises(BadInput, match="systemd unit"):
            systemd.render_unit("olafctl.service.j2", words)
        return
    unit = systemd.render_unit("olafctl.service.j2", words)
    assert len(unit.splitlines()) == len(systemd.render_unit("olafctl.service.j2", []).splitlines())
    [line] = re.findall("^ExecStart=(.*)$", unit, re.M)
    assert shlex.split(line.replace("%%", "%").replace("$$", "$"))[4:] == words


@pytest.mark.parametrize(
    "words",
    [
        ("daemon", "laptop", "--web", "9601"),
        (
            "agent",
            "--listen",
            "127.0.0.1:9700",
            *(f"--tls-{kind}=/dev/null" for kind in ("cert", "key", "ca")),
        ),
    ],
)
def test_the_unit_starts_the_same_command(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    words: tuple[str, ...],
) -> None:
    monkeypatch.setenv("OLAF_STATE", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["olafctl", *words, "--systemd-unit"])
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 0
    unit = capsys.readouterr().out
    assert f"ExecStart={sys.executable} -P -m olafctl {' '.join(words)}\n" in unit
    assert "Type=notify\n" in unit
    assert f"WorkingDirectory={tmp_path}\n" in unit
    assert f"Environment=OLAF_STATE={tmp_path}/state\n" in unit
    if shutil.which("systemd-analyze") is None:
        pytest.skip("needs systemd-analyze to verify the rest")
    (tmp_path / "olafctl.service").write_text(unit)
    argv = ["systemd-analyze", "verify", str(tmp_path / "olafctl.service")]
    verified = subprocess.run(argv, capture_output=True, text=True, timeout=DEADLINE)
    assert "olafctl.service" not in verified.stderr, verified.stderr
