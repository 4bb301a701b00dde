"""Network cards as front ports; here each card is one end of a veth pair of ours, with several queues."""

import json
import re
import secrets
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from olafctl.control import shards
from olafctl.control.show import describe_unplugged
from olafctl.network import interfaces, ip, nic, trial
from olafctl.targets import front_ports, registry
from olafctl.targets.testbeds import load_testbed
from olafctl.targets.twin.running import RunningTwin
from olafctl.testbed.model import Testbed
from olafswitch.errors import OlafError
from olafswitch.ports.host import InterfaceHostPort
from olafswitch.ports.transport import Transport
from olaftest.daemon.daemon_process import wait_until
from olaftest.deployment import program_devices
from tests.cli.conftest import Run, run, state

from .conftest import LAPTOP, SOON, quietly, started, update

__all__ = ["run", "state"]

pytestmark = pytest.mark.skipif(interfaces.why_not() is not None, reason=str(interfaces.why_not()))


@dataclass
class Cards:
    """Two cards, and the far ends of their cables."""

    names: tuple[str, str]
    others: tuple[str, str]


@pytest.fixture
def cards() -> Iterator[Cards]:
    mark = secrets.token_hex(3)
    made = Cards((f"nic{mark}a", f"nic{mark}b"), (f"far{mark}a", f"far{mark}b"))
    several = ["numtxqueues", "2", "numrxqueues", "2"]
    try:
        for name, other in zip(made.names, made.others, strict=True):
            ip.run_ip(
                ["link", "add", "name", name, *several, "type", "veth", "peer", "name", other, *several]
            )
            for each in (name, other):
                ip.run_ip(
                    ["link", "set", "dev", each, "arp", "off", "addrgenmode", "none", "mtu", "9600", "up"]
                )
        yield made
    finally:
        for name in made.names:
            ip.try_to(["link", "delete", "dev", name])


def bed_of(cards: Cards) -> Testbed:
    """Return a testbed with the parameter server behind the first card, a worker behind the second."""
    bed = replace(load_testbed(LAPTOP), target="software")
    paths = dict(zip((1, 2), cards.names, strict=True))
    ports = tuple(
        replace(port, transport=Transport.NIC, path=paths[port.number])
        if port.number in paths
        else replace(port, transport=Transport.UNIX)
        for port in bed.ports
    )
    return replace(bed, ports=ports)


def test_a_box_between_two_cards(cards: Cards, tmp_path: Path) -> None:
    bed, target, state = bed_of(cards), registry.get_target("software"), tmp_path / "bed"
    with started(bed, "software", state):
        server, worker = map(InterfaceHostPort, cards.others)
        frame = update(bed, bed.workers[0], 1)
        worker.send(frame)
        assert server.receive(SOON) == frame
        again = target.start(bed, target.build(bed, quietly), state, quietly)
        program_devices(again, bed)
        worker.send(frame)
        assert server.receive(SOON) == frame
        assert again.stats()["carriers"] == {"1": True, "2": True}
        ip.run_ip(["link", "set", "dev", cards.others[1], "down"])
        carriers = again.stats()["carriers"]
        assert carriers == {"1": True, "2": False}
        assert ["port 2" in line for line in describe_unplugged(bed.ports, carriers)] == [True]
    assert Path("/sys/class/net", cards.names[0]).exists()


def read_carriers(page: str) -> list[str]:
    with urllib.request.urlopen(f"http://{page}/metrics") as answer:
        return re.findall("^olaf_port_carrier.*", answer.read().decode(), re.MULTILINE)


def test_an_unplugged_cable_is_seen_wherever_ports_are(
    cards: Cards, run: Run, state: Path, tmp_path: Path
) -> None:
    ports = [f"{{number: {n}, name: {name}, transport: nic, path: {path}}}"
             for n, name, path in zip((1, 2), ("ps", "worker2"), cards.names, strict=True)]  # fmt: skip
    ports += ["{number: 3, name: worker3, transport: unix}", "{number: 4, name: uplink, transport: unix}"]
    head, _, rest = LAPTOP.read_text().partition("ports:\n")
    listed = "".join(f"  - {port}\n" for port in ports)
    bed = tmp_path / "bed.yaml"
    bed.write_text(f"{head}ports:\n{listed}\nparameter_servers:{rest.partition('parameter_servers:')[2]}")
    ip.run_ip(["link", "set", "dev", cards.others[1], "down"])
    try:
        said = "port 2 (worker2) has no carrier: is its cable plugged in, and the other end up?"
        assert run("deploy", bed, "--target", "software").err.count(said) == 1
        assert said in run("status").out
        assert json.loads(run("status", "--json").out)["unplugged"] == [said]
        found = json.loads(run("status", "--json").out)["ports"]
        assert [each["carrier"] for each in found if each["transport"] == "nic"] == [True, False]
        drawn = run("graph", "--text").out.splitlines()
        assert ["worker2" in line for line in drawn] == ["no carrier" in line for line in drawn]
        line = [sys.executable, "-m", "olafctl", "daemon", "--web", "0"]
        with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as daemon:
            try:
                assert daemon.stdout is not None
                page = daemon.stdout.readline().rpartition(" at ")[2].partition(";")[0]
                wait_until(lambda: bool(read_carriers(page)))  # it leads
                carriers = read_carriers(page)
            finally:
                daemon.terminate()
        assert {float(each.split()[-1]): 'port="2"' in each for each in carriers} == {1: False, 0: True}
        ip.run_ip(["link", "set", "dev", cards.others[1], "up"])
        assert json.loads(run("status", "--json").out)["unplugged"] == []
    finally:
        assert run("destroy", "--all").code == 0


def test_a_card_without_rules_for_its_queues_gives_frames_by_its_hash(cards: Cards, tmp_path: Path) -> None:
    bed, target, state = bed_of(cards), registry.get_target("software"), tmp_path / "bed"
    bed = replace(bed, engines=(replace(bed.root, shards=2),))
    running = target.start(bed, target.build(bed, quietly), state, quietly)
    try:
        assert isinstance(running, RunningTwin)
        program_devices(running, bed)
        shards.balance_shards(running, bed, bed.clusters)
        steering = running.sharded[bed.root.name].steering()
        assert sorted(steering) == ["1", "2"]
        assert steering["1"] == "by rules for 0 of 0 workers"
        assert steering["2"].startswith("by rules for 0 of 1 workers, else by its hash: ")
        assert re.search("not supported|not installed", steering["2"])
        server, worker = map(InterfaceHostPort, cards.others)
        frame = update(bed, bed.workers[0], 1)
        worker.send(frame)
        assert server.receive(SOON) == frame
    finally:
        target.stop(state)


def test_missing_settings_of_a_card_are_reported(cards: Cards) -> None:
    bed, name = bed_of(cards), cards.names[0]
    ip.run_ip(["link", "set", "dev", name, "mtu", "1400"])
    ip.run_ip(["link", "set", "dev", cards.names[1], "down"])
    output = list(front_ports.note_cards(bed))
    assert f"{name} takes 1400 bytes, updates have up to 1522: ip link set dev {name} mtu 1522" in output
    assert f"{name} has no link: is its cable in, and the other end up?" not in output
    assert f"{cards.names[1]} is down: ip link set dev {cards.names[1]} up" in output
    ip.run_ip(["link", "set", "dev", cards.others[0], "down"])
    assert f"{name} has no link: is its cable in, and the other end up?" in list(nic.note_settings(name, 64))


def test_a_missing_card_is_reported_before_anything_starts(cards: Cards, tmp_path: Path) -> None:
    ip.run_ip(["link", "delete", "dev", cards.names[1]])
    bed = bed_of(cards)
    assert list(front_ports.note_cards(replace(bed, ports=bed.ports[1:2]))) == []
    with pytest.raises(OlafError, match=f"interface {cards.names[1]} does not exist"):
        registry.get_target("software").start(
            bed, registry.get_target("software").build(bed, quietly), tmp_path, quietly
        )


@pytest.mark.parametrize("version", ["4", "6"])
def test_a_card_with_the_default_route_is_refused(version: str) -> None:
    ask = "from olafctl.network import nic; print(nic.why_not('card'))"
    with trial.trial_namespace() as name:
        at = ["ip", "-n", name]
        for line in (
            [*at, "link", "add", "name", "card", "type", "veth", "peer", "name", "far"],
            [*at, "link", "set", "dev", "card", "up"],
            [*at, f"-{version}", "route", "add", "default", "dev", "card"],
        ):
            subprocess.run(line, check=True)
        inside = ["ip", "netns", "exec", name, sys.executable, "-c", ask]
        done = subprocess.run(inside, capture_output=True, text=True, check=True)
    assert done.stdout == "card has this machine's default route\n"
