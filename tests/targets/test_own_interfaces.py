"""An engine's own end of a veth pair: by AF_XDP where possible, and every frame as the host sent it."""

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv4Address
from pathlib import Path

import numpy as np
import pytest

from olafctl.network import interfaces, ip, steering
from olafctl.network.interfaces import VethPair
from olafctl.wire.frames import Endpoint
from olafctl.wire.layouts import FrameType
from olafswitch.engine.device import EngineSwitch
from olafswitch.engine.engine import Engine
from olafswitch.errors import OlafError
from olafswitch.p4.compiler import compile_program
from olafswitch.p4runtime.dataplane import Replica
from olafswitch.ports.host import InterfaceHostPort
from olaftest.frames import OlafFrame

from .test_socket_ports import CPU, PROGRAM

pytestmark = pytest.mark.skipif(interfaces.why_not() is not None, reason=str(interfaces.why_not()))

SOON = 60.0
HEAD = bytes(12) + b"\x88\xb5"
WAITING = {60: 6144, 8960: 1228}
"""The frames of each size that wait at such a port until the engine takes them."""


@dataclass
class Lone:
    """A switch between ports 1 and 2, whose engine is not started yet, and the hosts at its ports."""

    engine: Engine
    state: Path

    @property
    def namespace(self) -> str:
        return interfaces.namespace_of(self.state)

    def inner(self, port: int) -> str:
        return interfaces.interface_of(self.state, f"p{port}")

    def host(self, port: int) -> InterfaceHostPort:
        return InterfaceHostPort(f"host{port}", self.namespace)


@pytest.fixture
def lone(tmp_path: Path) -> Iterator[Lone]:
    with switch_between(tmp_path) as made:
        yield made


@contextmanager
def switch_between(
    folder: Path, *, own: bool = True, nic: bool = False, queues: int = 1, copies: int = 0
) -> Iterator[Lone]:
    """Yield a switch with own interfaces, or with other ones, or with cards of several ``queues``; frames of
    port 1 leave in ``copies``."""
    many = ("standard.egress_spec = 2", "standard.mcast_grp = 1")
    (folder / "program.p4").write_text(PROGRAM.replace(*many) if copies else PROGRAM)
    program = compile_program(folder / "program.p4")
    state = folder / "bed"
    state.mkdir()
    engine = Engine()
    made = Lone(engine, state)
    try:
        interfaces.create_pairs(state, [VethPair(made.inner(port), f"host{port}") for port in (1, 2)])
        engine.wire_switch(CPU)
        switch = EngineSwitch(engine, 0, CPU)
        if queues > 1:
            for port in (1, 2):
                many_queues(made.inner(port), f"host{port}", made.namespace, queues)
        add = engine.add_own_interface if own else engine.add_interface
        if nic:
            add = partial(engine.add_own_interface, nic=True)
        for port in (1, 2):
            add(port, made.inner(port))
        switch.commit(switch.prepare(program.p4info, program.device_config))
        switch.set_multicast_group(1, [Replica(2, number) for number in range(copies)])
        yield made
    finally:
        engine.close()
        interfaces.remove_interfaces(state)


def many_queues(inner: str, outer: str, namespace: str, queues: int) -> None:
    """Replace a pair by one that has more queues each way."""
    ip.run_ip(["link", "delete", "dev", inner])
    several = ["numtxqueues", str(queues), "numrxqueues", str(queues)]
    pair = [inner, *several, "type", "veth", "peer", "name", outer, "netns", namespace, *several]
    ip.run_ip(["link", "add", "name", *pair])
    ip.run_ip(["link", "set", "dev", inner, "up"])
    ip.run_ip(["-n", namespace, "link", "set", "dev", outer, "up"])


def xdp_of(interface: str) -> object:
    """Return the kernel's description of the program at an interface, or None."""
    line = ["ip", "-json", "link", "show", "dev", interface]
    (shown,) = json.loads(subprocess.run(line, capture_output=True, check=True).stdout)
    return shown.get("xdp")


def needs_xdp(lone: Lone) -> None:
    if xdp_of(lone.inner(1)) is None:
        pytest.skip("this kernel, or this user's rights, do not allow AF_XDP")


def test_frames_of_every_size_pass_unchanged_and_in_order(lone: Lone) -> None:
    lone.engine.start()
    one, two = lone.host(1), lone.host(2)
    sizes = [60, 61, 1514, 1791, 1792, 1793, 2047, 2048, 2049, 3584, 3585, 4096, 4097, 9036, 9614, 64]
    frames = [HEAD + bytes((size + at) % 251 for at in range(size - len(HEAD))) for size in sizes]
    for sender, receiver in ((one, two), (two, one)):
        for frame in frames:
            sender.send(frame)
        assert [receiver.receive(SOON) for _ in frames] == frames
    stats = lone.engine.port_stats(1)
    assert (stats.rx_frames, stats.tx_frames) == (len(frames), len(frames))
    assert stats.rx_bytes == stats.tx_bytes == sum(sizes)


@pytest.mark.parametrize("protocol", ["802.1Q", "802.1ad"])
def test_a_vlan_interface_at_the_hosts_end_sends_its_tag(lone: Lone, protocol: str) -> None:
    on = ["link", "add", "link", "host1", "name", "tagged", "type", "vlan", "proto", protocol, "id", "7"]
    try:
        ip.run_ip(["-n", lone.namespace, *on])
    except OlafError as error:
        pytest.skip(f"this kernel has no VLAN interfaces: {error}")
    ip.run_ip(["-n", lone.namespace, "link", "set", "dev", "tagged", "up"])
    lone.engine.start()
    receiver = lone.host(2)
    frame = HEAD + bytes(50)
    InterfaceHostPort("tagged", lone.namespace).send(frame)
    tag = {"802.1Q": b"\x81\x00", "802.1ad": b"\x88\xa8"}[protocol] + b"\x00\x07"
    assert receiver.receive(SOON) == frame[:12] + tag + frame[12:]


@pytest.mark.parametrize("size", WAITING)
def test_what_does_not_fit_before_the_engine_takes_it_is_counted(lone: Lone, size: int) -> None:
    needs_xdp(lone)
    sender = lone.host(1)
    frames = [HEAD + number.to_bytes(size - len(HEAD), "big") for number in range(WAITING[size] + 100)]
    for frame in frames:
        sender.send(frame)
    assert lone.engine.port_stats(1).rx_dropped == 100
    receiver = lone.host(2)
    lone.engine.start()
    assert [receiver.receive(SOON) for _ in range(WAITING[size])] == frames[: WAITING[size]]


def test_where_the_host_is_down_frames_are_dropped_and_counted(lone: Lone) -> None:
    lone.engine.start()
    ip.run_ip(["-n", lone.namespace, "link", "set", "dev", "host2", "down"])
    sender = lone.host(1)
    for _ in range(3):
        sender.send(HEAD + bytes(46))
    ip.run_ip(["-n", lone.namespace, "link", "set", "dev", "host2", "up"])
    receiver = lone.host(2)
    sender.send(HEAD + b"\1" * 46)
    while receiver.receive(SOON) != HEAD + b"\1" * 46:
        pass
    assert lone.engine.port_stats(1).rx_frames == 4


@pytest.mark.parametrize("own", [True, False])
def test_a_host_that_takes_no_long_frames_gets_the_others(tmp_path: Path, own: bool) -> None:
    with switch_between(tmp_path, own=own) as lone:
        ip.run_ip(["-n", lone.namespace, "link", "set", "dev", "host2", "mtu", "1500"])
        sender, receiver = lone.host(1), lone.host(2)
        for frame in (HEAD + bytes(3000), HEAD + bytes(46)):
            sender.send(frame)
        lone.engine.start()
        assert receiver.receive(SOON) == HEAD + bytes(46)
        stats = lone.engine.port_stats(2)
        assert (stats.tx_frames, stats.tx_dropped) == (1, 1)


@pytest.mark.parametrize("own", [True, False])
def test_hosts_slower_than_the_copies_get_all_of_them(tmp_path: Path, own: bool) -> None:
    bursts, copies, sockets = 5, 2000, 16
    with switch_between(tmp_path, own=own, copies=copies) as lone:
        sender, receivers = lone.host(1), [lone.host(2) for _ in range(sockets)]
        frames = [HEAD + number.to_bytes(46, "big") for number in range(bursts)]
        for frame in frames:
            sender.send(frame)
        with steering.keep_off(interfaces.receiver_of(lone.state)):
            lone.engine.start()
        for frame in frames:
            for _ in range(copies):
                assert receivers[-1].receive(SOON) == frame
        stats = lone.engine.port_stats(2)
        assert (stats.tx_frames, stats.tx_dropped) == (bursts * copies, 0)


@pytest.mark.parametrize("way", ["own", "any", "nic"])
def test_a_link_that_went_down_and_up_again_carries_frames(tmp_path: Path, way: str) -> None:
    with switch_between(tmp_path, own=way == "own", nic=way == "nic") as lone:
        lone.engine.start()
        receiver = lone.host(2)
        ends = (["dev", lone.inner(1)], ["-n", lone.namespace, "dev", "host1"], ["dev", lone.inner(2)])
        for number, (*options, _, end) in enumerate(ends):
            for state in ("down", "up"):
                ip.run_ip([*options, "link", "set", "dev", end, state])
            frame = HEAD + number.to_bytes(46, "big")
            # A frame sent before the engine has opened the interface again is lost, and may also come twice.
            for _ in range(int(SOON)):
                lone.host(1).send(frame)
                received = receiver.receive(1.0)
                while received is not None and received != frame:
                    received = receiver.receive(1.0)
                if received == frame:
                    break
            assert received == frame


def test_a_card_is_served_at_all_its_queues(tmp_path: Path) -> None:
    with switch_between(tmp_path, nic=True, queues=4) as lone:
        needs_xdp(lone)
        lone.engine.start()
        sender, receiver = lone.host(1), lone.host(2)
        to = Endpoint("02:00:00:00:00:01", IPv4Address("10.0.0.1"), 20300)
        frames = [
            OlafFrame(
                Endpoint(f"02:00:00:00:01:{flow:02x}", IPv4Address(f"10.0.1.{flow}"), 1024 + flow),
                to, FrameType.UPDATE, 0, 1, seq, 0.0, 0, np.zeros(2, np.float32),
            ).encode()
            for seq in range(8) for flow in range(32)
        ]  # fmt: skip
        arrived = []
        for frame in frames:
            sender.send(frame)
            # The kernel asks for its own neighbours there, whenever it likes.
            while (received := receiver.receive(SOON)) is not None and received[:6] != frame[:6]:
                pass
            arrived.append(received)
        assert arrived == frames


def test_an_interface_that_has_an_owner_is_opened_as_any_other(
    lone: Lone, caplog: pytest.LogCaptureFixture
) -> None:
    needs_xdp(lone)
    other = Engine()
    try:
        other.wire_switch(CPU)
        with caplog.at_level(logging.DEBUG):
            other.add_own_interface(1, lone.inner(1))
    finally:
        other.close()
    assert "AF_PACKET instead of AF_XDP" in caplog.text


def test_a_killed_engine_leaves_no_program_behind(lone: Lone) -> None:
    needs_xdp(lone)
    lone.engine.close()
    assert xdp_of(lone.inner(1)) is None
    program = (
        "import sys\nfrom olafswitch.engine.engine import Engine\n"
        "engine = Engine()\nengine.wire_switch(510)\nengine.add_own_interface(1, sys.argv[1])\n"
        "print(flush=True)\nsys.stdin.read()\n"
    )
    for _ in range(2):
        with subprocess.Popen(
            [sys.executable, "-c", program, lone.inner(1)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as killed:
            assert killed.stdout is not None
            killed.stdout.readline()
            assert xdp_of(lone.inner(1)) is not None
            killed.kill()
        assert xdp_of(lone.inner(1)) is None
