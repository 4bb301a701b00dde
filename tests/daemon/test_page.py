"""The page of ``--web`` in a browser shows what `olafctl status` shows, and names stay text."""

import base64
import json
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest

from olafctl import paths
from olafctl.control.status import read_status
from olafctl.daemon.api import olaf_pb2
from olafctl.daemon.web.document import Heard, describe_deployment
from olafctl.daemon.web.look import Look, Unkept
from olafctl.daemon.web.looks import Looks
from olafctl.daemon.web.server import Web
from olafctl.machines.certificates import issue_pair
from olafctl.membership.model import Cluster, Member
from olafctl.targets import testbeds
from olafswitch.errors import BadInput
from olafswitch.p4runtime.address import Tls
from tests.chromium import Tab, open_tab
from tests.daemon.deployment import DEADLINE, KeptDeployment, keep_deployment

pytestmark = pytest.mark.slow
WIDTHS = (360, 390, 1280)
HOSTILE = "<img src=x onerror=document.x=1>"
SHOTS = "OLAF_SHOTS"
"""The environment variable with a folder for screenshots of the page with traffic."""
LOADED = "!document.querySelector('main').hidden && !!document.querySelector('svg.slots')"
REGISTERS = """Object.fromEntries([...document.querySelectorAll('dd[data-register]')]
    .map(each => [each.dataset.register, Number(each.textContent)]))"""

LOOKS = 3600
"""The number of looks that a page that asks every second gets in the hour of HOUR."""
HOUR = """async shown => {
    const {show} = await import('/page.js');
    for (let second = 0; second < 3600; second++) {
        for (const each of shown.clusters) each.age = Math.random();
        for (const name in shown.engines.engine.registers) shown.engines.engine.registers[name]++;
        shown.drawing = shown.drawing.replace(/\\d+ of 8/, second % 9 + ' of 8');
        show({time: String(second), deployments: [shown]});
        document.body.offsetHeight;
        if (second % 50 === 0) await new Promise(done => setTimeout(done));
    }
}"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with open_tab(tmp_path_factory.mktemp("profile")) as found:
        found.ask_browser("Security.setIgnoreCertificateErrors", ignore=True)
        yield found


@pytest.fixture(scope="module")
def stands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KeptDeployment]:
    """Provide nine clusters before an output that is too narrow, kept by a daemon with a page."""
    pytest.importorskip("olaf", reason="needs the SDK: pip install ./sdk")
    text = (paths.sources() / "testbeds" / "nine-clusters.yaml").read_text()
    for old, new in (
        ("output_rate: off", "output_rate: 40 kb/s"),
        ("name: ps}", "name: ps, transport: unix}"),
        ("name: tor}", "name: tor, transport: unix}"),
        ("name: uplink}", "name: uplink, transport: unix}"),
        ("active_window: 10 ms", "active_window: 1 s"),
    ):
        assert old in text
        text = text.replace(old, new)
    folder = tmp_path_factory.mktemp("page")
    text = text.replace("{", "{{").replace("}", "}}")
    with keep_deployment(text, "twin", folder, web="127.0.0.1:0", audit_log=folder / "audit.log") as stands:
        yield stands


def test_values_are_those_of_status_while_traffic_flows(stands: KeptDeployment, browser: Tab) -> None:
    from tests.daemon.traffic import send_traffic

    with send_traffic(stands, per_second=100) as ended:
        browser.open_page(f"http://{stands.page}/", 1280)
        wait_for(browser, LOADED)
        wait_for(browser, f"({REGISTERS}).merged > 20")
        wait_for(browser, "/at most/.test(document.querySelector('.legend .age').textContent)")
        early = browser.run_script(REGISTERS)
        between = read_status(stands.store)["queues"]["engine"]["registers"]
        wait_for(browser, f"({REGISTERS}).in_updates > {between['in_updates']}")
        late = browser.run_script(REGISTERS)
        for name in ("in_updates", "merged", "appended", "out_updates"):
            assert early[name] <= between[name] <= late[name], name
        assert browser.run_script("document.querySelector('#topology desc').textContent").count("; in ") == 5
        wait_for(browser, "document.querySelectorAll('.topology .full').length >= 1")
        scale = browser.run_script("document.querySelector('.card .axis.top').textContent")
        assert scale.split()[1] in ("s", "ms", "µs"), scale
        assert "last heard" in browser.run_script("document.querySelector('.card summary').textContent")
        _take_screenshots(browser, stands)
        ended.set()
        wait_for(browser, f"({REGISTERS}).occupancy + ({REGISTERS}).active_clusters === 0")
    registers = read_status(stands.store)["queues"]["engine"]["registers"]
    wait_for(browser, f"({REGISTERS}).out_updates === {registers['out_updates']}")
    cycles = {"cycle": browser.run_script(REGISTERS)["cycle"]}  # since each reading
    assert browser.run_script(REGISTERS) == {**registers, **cycles}
    assert browser.failed_requests() == []
    assert {address.partition("/")[0] for address in _asked_addresses(browser)} == {stands.page}


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_wider_than_the_window(stands: KeptDeployment, browser: Tab, width: int) -> None:
    browser.open_page(f"http://{stands.page}/", width)
    wait_for(browser, LOADED)
    assert browser.run_script("document.documentElement.scrollWidth") <= width
    boxes = "[...document.querySelectorAll('#topology .scroll, #audit .scroll')]"
    topology, log = browser.run_script(f"{boxes}.map(each => each.scrollWidth > each.clientWidth)")
    assert (topology, log) == (browser.run_script("!document.querySelector('#topology .hint').hidden"), False)


def test_a_cluster_beyond_its_objective_and_one_outlier(browser: Tab) -> None:
    look = _make_look(2, 1)
    ages = dict(zip((each.name for each in look.testbed.clusters), (250_000_000, 900_000_000), strict=True))
    web = Web(Looks(lambda: {"lab": _Fixed(replace(look, ages=ages))}, None), "127.0.0.1:0")
    try:
        browser.open_page(f"http://{web.address}/", 1280)
        wait_for(browser, LOADED)
        assert browser.run_script("[...document.querySelectorAll('.card')].map(e => e.className)") == [
            "card",
            "card beyond",
        ]
        shown = "[...document.querySelectorAll('strong.beyond')].map(e => e.offsetHeight > 0)"
        assert browser.run_script(shown) == [False, True]
        assert browser.run_script("document.querySelector('#clusters-title').textContent").endswith(
            "1 beyond their objectives"
        )
        assert (
            browser.run_script("document.querySelector('#refused .none').innerText")
            == "No control message has arrived."
        )
        # 19 values are near 1 and one is 1,000: the others stay apart from each other.
        lines = """(async () => {
            const {Lines} = await import('/charts.js'), lines = new Lines(['age'], String);
            lines.show([[...Array.from({length: 19}, (_, n) => 1 + n / 20), 1000]], 20, 600, '');
            return [lines.paths[0].getAttribute('d'), lines.axes.top.textContent];
        })()"""
        path, scale = browser.run_script(lines)
        heights = [float(each.split()[1].partition("h")[0]) for each in path[1:].split("L")]
        assert max(heights[:-1]) - min(heights[:-1]) > 20
        assert (heights[-1], scale.endswith(", cut off")) == (0, True)
        assert browser.failed_requests() == []
    finally:
        web.stop()


def test_an_unplugged_port_is_marked_and_listed(browser: Tab) -> None:
    look = _make_look(1, 1)
    ports = [str(port.number) for port in look.testbed.ports]
    for down in (ports[0], ports[-1]):
        found = replace(look, carriers={port: port != down for port in ports})
        web = Web(Looks(lambda shown=found: {"lab": _Fixed(shown)}, None), "127.0.0.1:0")  # type: ignore[misc]
        try:
            browser.open_page(f"http://{web.address}/", 1280)
            wait_for(browser, LOADED)
            name = next(port.name for port in look.testbed.ports if str(port.number) == down)
            marked = browser.run_script(
                "[...document.querySelectorAll('#topology .away')].map(e => e.parentNode.textContent)"
            )
            listed = browser.run_script(
                "[...document.querySelectorAll('#topology li')].map(e => e.textContent)"
            )
            assert [name in each for each in marked] == [True]
            assert [f"port {down} ({name}) has no carrier" in each for each in listed] == [True]
        finally:
            web.stop()


def test_hostile_names_are_text(browser: Tab, stands: KeptDeployment) -> None:
    """A cluster has a name that the API would refuse; the audit log has a name that it refused."""
    with pytest.raises(BadInput, match="is not a name"):
        stands.client.call("CreateCluster", name=HOSTILE)
    look = _make_look(1, 1)
    hostile = replace(look.testbed.clusters[0], name=HOSTILE)
    testbed = replace(look.testbed, name=HOSTILE, clusters=(hostile,))
    look = replace(look, testbed=testbed, refused={HOSTILE: {HOSTILE: 1}}, drift=[HOSTILE], problem=HOSTILE)
    log = stands.store.folder.parent / "audit.log"
    web = Web(Looks(lambda: {HOSTILE: _Fixed(look)}, log), "127.0.0.1:0")
    try:
        browser.open_page(f"http://{web.address}/", 1280)
        wait_for(browser, LOADED)
        for place in ("#state", ".card h3", "#topology title", "#refused tbody", "#drift li", "#audit tbody"):
            assert HOSTILE in browser.run_script(f"document.querySelector('{place}').textContent"), place
        assert browser.run_script("document.querySelectorAll('img').length") == 0
        assert browser.run_script("document.x ?? null") is None
    finally:
        web.stop()


def test_a_killed_twin_shows_within_three_seconds(stands: KeptDeployment, browser: Tab) -> None:
    """The daemon starts the twin again, which shows as well."""
    browser.open_page(f"http://{stands.page}/", 1280)
    wait_for(browser, "document.querySelector('#state').className === 'ready'")
    [process] = [each["pid"] for each in read_status(stands.store)["processes"]]
    noticed = "document.querySelector('#state').className !== 'ready'"
    browser.run_script(
        f"window.gone = new Promise(done => new MutationObserver(() => {noticed} && done(performance.now()))"
        ".observe(document.querySelector('#state'), {attributes: true})); window.began = performance.now()"
    )
    os.kill(process, signal.SIGKILL)
    assert browser.run_script("gone.then(at => at - began)") < 3000
    wait_for(browser, "document.querySelector('#state').className === 'ready'")
    wait_for(browser, "document.querySelectorAll('#drift li').length > 0")


def test_a_lost_connection_says_so_and_comes_back(browser: Tab) -> None:
    web = Web(Looks(lambda: {"lab": _Fixed(_make_look(2, 1))}, None), "127.0.0.1:0")
    browser.open_page(f"http://{web.address}/", 1280)
    wait_for(browser, LOADED)
    web.stop()
    wait_for(browser, "document.querySelector('#connection').className === 'lost'")
    assert "Trying again" in browser.run_script("document.querySelector('#connection').textContent")
    again = Web(Looks(lambda: {"lab": _Fixed(_make_look(3, 1))}, None), web.address)
    try:
        wait_for(browser, "document.querySelector('#connection').className === ''")
        wait_for(browser, "document.querySelectorAll('.card').length === 3")
    finally:
        again.stop()


def test_a_wrong_token_shows_nothing(browser: Tab, tmp_path: Path) -> None:
    issue_pair(tmp_path, "server", ("127.0.0.1",), 1)
    tls = Tls(tmp_path / "server.pem", tmp_path / "server.key")
    web = Web(Looks(lambda: {"lab": _Fixed(_make_look(2, 1))}, None), "0.0.0.0:0", tls, "right")
    address = web.address.replace("0.0.0.0", "127.0.0.1")
    try:
        for given, shows in (("wrong", False), ("right", True)):
            basic = base64.b64encode(f"me:{given}".encode()).decode()
            browser.ask_browser("Network.setExtraHTTPHeaders", headers={"Authorization": f"Basic {basic}"})
            browser.open_page(f"https://{address}/", 1280)
            if shows:
                wait_for(browser, LOADED)
            else:
                assert browser.run_script("document.querySelector('main')") is None
                assert "lab" not in browser.run_script("document.body.textContent")
    finally:
        browser.ask_browser("Network.setExtraHTTPHeaders", headers={})
        web.stop()


def test_another_sites_name_for_this_address_shows_nothing(browser: Tab) -> None:
    web = Web(Looks(lambda: {"lab": _Fixed(_make_look(2, 1))}, None), "127.0.0.1:0")
    try:
        browser.open_page(f"http://rebound.localhost:{web.address.rpartition(':')[2]}/", 1280)
        assert "localhost" in browser.run_script("document.body.textContent")
        assert browser.run_script("document.querySelector('main')") is None
    finally:
        web.stop()


def test_an_hour_of_300_workers_in_100_clusters(browser: Tab) -> None:
    """The page is laid out once a look, and an hour's looks leave less than 50 MB."""
    look = _make_look(100, 3)
    web = Web(Looks(lambda: {"lab": _Fixed(look)}, None), "127.0.0.1:0")
    try:
        browser.open_page(f"http://{web.address}/", 1280)
        wait_for(browser, LOADED)
        shown = describe_deployment(look, None, Heard())
        browser.ask_browser("Performance.enable")
        before = _read_metric(browser, "LayoutCount")
        browser.run_script(f"({HOUR})({json.dumps(shown)})")
        # Besides the looks' own, there is one for each pause in which the browser draws.
        pauses = LOOKS / 50
        assert _read_metric(browser, "LayoutCount") - before < LOOKS + 2 * pauses
        assert browser.run_script("document.querySelectorAll('.card').length") == 100
        assert browser.run_script("document.body.innerText.includes('plays version 7, 2 behind, slow')")
        # 0.25 s is half as high as the objective.
        lines = "['age', 'bound'].map(each => document.querySelector(`.card path.${each}`).getAttribute('d'))"
        age, bound = browser.run_script(lines)
        assert (age.split()[1][:4], bound) == ("52.4", "M0 4.8H600")
        browser.ask_browser("HeapProfiler.collectGarbage")
        assert browser.ask_browser("Runtime.getHeapUsage")["usedSize"] < 50e6
    finally:
        web.stop()


def test_without_a_daemon_the_page_has_what_status_has(stands: KeptDeployment) -> None:
    """The look is the same with a daemon and without."""
    here = Unkept(stands.store).look()
    assert (here.keeper, here.ready) == ("no daemon keeps it; its membership is on this machine", True)
    assert here.queues.keys() == {"engine"}
    assert here.ports.keys() == set(range(1, 6))
    assert len(here.frames) >= 27
    assert set(here.refused["engine"]) == {
        "epoch", "segment", "port", "merged", "length", "checksum", "ttl", "tag", "destination"
    }  # fmt: skip
    made = describe_deployment(here, None, Heard())
    assert [each["name"] for each in made["clusters"]] == [f"cluster{number}" for number in range(9)]


def wait_for(browser: Tab, condition: str) -> None:
    """Wait until ``condition`` holds."""
    held = browser.run_script(
        f"""new Promise(done => {{
            const end = Date.now() + {1000 * DEADLINE};
            const late = () => Date.now() > end;
            const look = () => ({condition}) ? done(true) : late() ? done(false) : setTimeout(look, 20);
            look();
        }})"""
    )
    assert held, condition


def _read_metric(browser: Tab, name: str) -> float:
    found = browser.ask_browser("Performance.getMetrics")["metrics"]
    return next(float(each["value"]) for each in found if each["name"] == name)


def _asked_addresses(browser: Tab) -> set[str]:
    """Return the addresses, without their scheme, that the page requested."""
    return {
        address.partition("://")[2]
        for address in browser.fetched_addresses()
        if not address.startswith("data:")
    }


def _take_screenshots(browser: Tab, stands: KeptDeployment) -> None:
    """Take screenshots of the page at both widths, where they are wanted."""
    if SHOTS not in os.environ:
        return
    for width in WIDTHS:
        browser.open_page(f"http://{stands.page}/", width)
        wait_for(browser, f"{LOADED} && document.querySelector('path.age').getAttribute('d').length > 40")
        high = browser.run_script("document.documentElement.scrollHeight")
        whole = {"x": 0, "y": 0, "width": width, "height": high, "scale": 1}
        shot = browser.ask_browser(
            "Page.captureScreenshot", format="webp", quality=70, captureBeyondViewport=True, clip=whole
        )
        place = Path(os.environ[SHOTS]) / f"page-{width}.webp"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(base64.b64decode(shot["data"]))


class _Fixed:
    """A deployment that always looks the same."""

    def __init__(self, look: Look) -> None:
        self._look = look

    def look(self) -> Look:
        return replace(self._look)


def _make_look(clusters: int, workers: int) -> Look:
    """Return a look at a deployment of ``clusters`` with ``workers`` each."""
    bed = testbeds.load_testbed(testbeds.locate_testbed("nine-clusters"))
    made: list[Cluster] = []
    for number in range(clusters):
        members = [
            Member(
                name=f"c{number}-w{each}", ip=IPv4Address(f"10.0.{number}.{each + 1}"), mac="",
                udp_port=20300, port=2 + each % 3, cluster=f"cluster {number}", parent="",
                number=each, replica=0,
            )
            for each in range(workers)
        ]  # fmt: skip
        cluster = Cluster(f"cluster {number}", number, first=number, workers=tuple(members))
        made.append(replace(cluster, objective="average<=500ms"))
    registers: dict[str, Any] = {"slots": 8, "occupancy": 3, "active_clusters": 9}
    registers |= {f"dropped_{number}": 1 for number in range(8)}
    registers |= {name: 1 for name in ("in_updates", "out_updates", "merged")}
    return Look(
        replace(bed, clusters=tuple(made)), True, "", "operator", 1, queues={"engine": registers},
        ages={cluster.name: 250_000_000 for cluster in made},
        players={"10.0.0.9": olaf_pb2.Player(cluster="cluster 0", version=7, lag=2, slow=True)},
    )  # fmt: skip
