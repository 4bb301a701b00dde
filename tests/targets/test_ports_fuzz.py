"""Frames of any length and content at every kind of port: each that comes in is counted, forwarded or not."""

import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from olafctl.control import devices
from olafctl.control.pipeline import REFUSALS, VNP4_1
from olafctl.queue.registers import DISPOSITIONS
from olafctl.targets import registry
from olafctl.targets.interface import of_root
from olafswitch.errors import OlafError
from olafswitch.ports.host import HostPort
from olafswitch.ports.transport import Transport
from olaftest.deployment import open_hosts

from .conftest import SOON, Live, started, update, why_not
from .test_transports import KINDS, bed_of

pytestmark = pytest.mark.skipif(why_not("twin") is not None, reason=str(why_not("twin")))

LENGTHS = (
    *(0, 1, 13, 14, 15, 33, 41, 42, 60, 63, 64, 65, 127),
    *(1499, 1514, 1535, 1536, 1537, 4096, 9014, 10_000),
)
SHORTEST_OF_AN_INTERFACE = 14


@pytest.fixture(params=KINDS)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Live, Transport]]:
    bed, target, state = bed_of(request.param), registry.get_target("twin"), tmp_path / "bed"
    with started(bed, "twin", state) as running, open_hosts(running) as ports:
        yield Live(running, bed, state, target, ports), request.param


def malformed(live: Live, random: Random) -> bytes:
    """Return noise, or an update that was cut, lengthened or damaged in a few bytes."""
    length = random.choice((*LENGTHS, random.randrange(1600)))
    if random.random() < 0.3:
        return random.randbytes(length)
    frame = bytearray(update(live.testbed, live.testbed.workers[0], 1)) + random.randbytes(length)
    for _ in range(random.randrange(3)):
        frame[random.randrange(64)] = random.randrange(256)
    return bytes(frame[: random.choice((length, len(frame), 128))])


def sent(port: HostPort, frame: bytes) -> bool:
    """Return whether the host's own side passed the frame: an interface takes no runts and none above its
    MTU."""
    try:
        port.send(frame)
    except OlafError:
        return False
    return True


def refused(live: Live) -> int:
    """Return the frames of a known worker that VNP4₁ dropped: their epoch or segment was damaged."""
    with devices.watch_devices(live.running) as sessions:
        return sum(count.packets for count in sessions[VNP4_1].direct_counters(REFUSALS).values())


def came_in(live: Live) -> int:
    return sum(port["rx_frames"] + port["rx_dropped"] for port in live.running.stats()["ports"].values())


def test_every_frame_is_accounted_for(bench: tuple[Live, Transport]) -> None:
    live, kind = bench
    random, registers, sizes = Random(3), of_root(live.running.queues), []
    for _ in range(400):
        frame = malformed(live, random)
        if sent(live.ports[random.choice(list(live.ports))], frame):
            sizes.append(len(frame))
    deadline = time.monotonic() + SOON
    while came_in(live) < len(sizes) and time.monotonic() < deadline:
        pass
    stats, counted = live.running.stats(), registers.read_all()
    ports, losses = stats["ports"].values(), stats["losses"]
    empty = sizes.count(0)
    assert max(sizes) > 9000
    assert min(sizes) == (0 if kind in (Transport.UNIX, Transport.PCAP) else SHORTEST_OF_AN_INTERFACE)
    assert sum(port["rx_bytes"] for port in ports) == sum(sizes)
    assert sum(port["rx_dropped"] for port in ports) == (empty if kind is Transport.UNIX else 0)
    assert losses == {
        "no_pipeline": 0,
        "misrouted": 0,
        "packet_ins": 0,
        "no_shim": empty if kind is Transport.PCAP else 0,
        "between_shards": 0,
    }
    assert counted["in_updates"] + counted["in_bypass"] + refused(live) == len(sizes) - empty
    outcomes = sum(counted[name] for name in DISPOSITIONS) + counted["merged"] + counted["resident_updates"]
    assert counted["in_updates"] == counted["out_updates"] + outcomes
    assert counted["in_bypass"] == (
        counted["out_bypass"] + counted["dropped_bypass"] + counted["resident_bypass"]
    )
    sound = update(live.testbed, live.testbed.workers[0], 77)
    live.ports[2].send(sound)
    while (left := live.ports[1].receive(SOON)) != sound:
        assert left is not None
