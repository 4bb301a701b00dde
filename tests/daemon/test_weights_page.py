"""The blocks of docs/weights.md and of the SDK's README, unchanged, against deployed testbeds."""

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from olafswitch.ports.host import open_host_port
from tests.blocks import find_block
from tests.daemon.deployment import DEADLINE, KEY, KeptDeployment, keep_deployment

olaf = pytest.importorskip("olaf", reason="needs the SDK: pip install ./sdk")

_TESTBED = """
name: page
target: {target}
engine: {{indices: 4, slots: 2, beats: 4, address: 10.0.0.250}}
ports: [{{number: 1, name: ps{transport}}}, {{number: 2, name: w{transport}}}]
parameter_servers: [{{name: ps, port: ps, ip: 10.0.0.254, udp_port: 20311}}]
clusters:
"""
_LISTED = "  - {{name: weights, role: player, workers: [{{name: player, port: 2, ip: 10.0.1.1}}]}}\n"
_OTHER = "  - {{name: other, workers: []}}\n"
_TRAINER, _PLAYER = ("02:00:0a:00:00:fe", "10.0.0.254"), ("02:00:0a:00:01:01", "10.0.1.1")


@pytest.fixture(params=["listed", "open", "keyed"])
def page(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[KeptDeployment]:
    """Provide a testbed with the players' cluster of the page: in its file, or created by each option."""
    listed = request.param == "listed"
    with keep_deployment(_TESTBED + (_LISTED if listed else _OTHER), "twin", tmp_path) as page:
        if request.param == "open":
            page.client.call("CreateCluster", name="weights", open=True)
        if request.param == "keyed":
            page.client.call("CreateCluster", name="weights", key=KEY)
        yield page


@pytest.fixture
def machines(
    page: KeptDeployment, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], None]]:
    """Provide a function that makes this process the trainer's or the player's machine."""
    from tests.daemon.sdk_port import FramePort

    running = page.running()
    hosts = [open_host_port(each) for each in running.attachments]
    own: list[Any] = []

    def bind(local: tuple[str, int] = ("0.0.0.0", 0)) -> FramePort:
        host, (mac, ip), other = own
        assert local[0] in ("0.0.0.0", ip)
        return FramePort(host, (mac, ip, local[1] or 45123), other[0])

    def become(machine: str) -> None:
        trainer = machine == "trainer"
        own[:] = [hosts[0], _TRAINER, _PLAYER] if trainer else [hosts[1], _PLAYER, _TRAINER]

    monkeypatch.setattr("olaf.weights.place.UdpPort", bind)
    monkeypatch.setattr("olaf.transport.udp.UdpPort", bind)
    monkeypatch.setattr(socket, "gethostbyname", lambda name: "10.0.0.250" if name == "engine" else name)
    if page.client.call("GetStatus").deployments[0].clusters[-1].keyed:
        monkeypatch.setenv("OLAF_KEY", KEY)
    yield become
    for host in hosts:
        host.close()


@pytest.mark.parametrize("document", ["docs/weights.md", "sdk/README.md"])
def test_the_blocks_of_the_page_reach_a_player(
    document: str, page: KeptDeployment, machines: Callable[[str], None]
) -> None:
    trained, played = ({"w": np.full(500, value, np.float32)} for value in (1.5, 0.0))
    names: dict[str, Any] = {"olaf": olaf, "optimizer": SimpleNamespace(step=lambda: None)}
    play: dict[str, Any] = {}
    publish = names | {"model": trained}
    try:
        machines("trainer")
        exec(find_block(document, "pub = ").text, publish)
        machines("player")
        play = names | {"model": played}
        exec(find_block(document, "sub = ").text, play)
        assert publish["pub"].address == "10.0.0.254:20311"
        assert play["sub"].have or play["sub"].wait(DEADLINE), play["sub"].counts
        assert play["version"] == 1 or play["sub"].adopt() == publish["version"] == 1
        assert np.array_equal(played["w"], trained["w"])
    finally:
        for end in (play.get("sub"), publish.get("pub")):
            if end is not None:
                end.close()
