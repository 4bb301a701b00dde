"""A deployment's veths and namespaces: made, usable, silent, and found again by the folder alone."""

import array
import fcntl
import socket
import struct
from pathlib import Path

import pytest

from olafctl.network import interfaces
from olafctl.network.interfaces import VethPair
from olafswitch.errors import MissingTool, OlafError
from olafswitch.ports.host import InterfaceHostPort
from olafswitch.ports.namespace import run_within

SOON = 60.0
TX_VLAN = 1 << 7
FRAME = bytes(12) + b"\x88\xb5" + bytes(46)

pytestmark = pytest.mark.skipif(interfaces.why_not() is not None, reason=str(interfaces.why_not()))


def test_a_pair_carries_frames_between_here_and_the_namespace(state: Path) -> None:
    inner = interfaces.interface_of(state, "p1")
    interfaces.create_pairs(state, [VethPair(inner, "worker1")])
    near, far = InterfaceHostPort(inner), InterfaceHostPort("worker1", interfaces.namespace_of(state))
    tagged = FRAME[:12] + b"\x81\x00\x00\x07" + FRAME[12:]
    for frame in (FRAME, tagged, bytes(12) + b"\x88\xb5" + bytes(9022)):
        far.send(frame)
        assert near.receive(SOON) == frame
        near.send(frame)
        assert far.receive(SOON) == frame


def test_neither_end_leaves_a_vlan_tag_to_hardware(state: Path) -> None:
    inner = interfaces.interface_of(state, "p1")
    interfaces.create_pairs(state, [VethPair(inner, "worker1")])
    assert not flags_of(inner) & TX_VLAN
    assert not run_within(interfaces.namespace_of(state), lambda: flags_of("worker1")) & TX_VLAN


def flags_of(interface: str) -> int:
    """Return the flags of an interface from ETHTOOL_GFLAGS."""
    value = array.array("I", [0x25, 0])
    request = struct.pack("16sP", interface.encode(), value.buffer_info()[0])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, 0x8946, request)
    return value[1]


def test_nothing_is_on_a_new_pair(state: Path) -> None:
    inner = interfaces.interface_of(state, "p1")
    interfaces.create_pairs(state, [VethPair(inner, "worker1")])
    assert InterfaceHostPort("worker1", interfaces.namespace_of(state)).receive(0.3) is None


def test_remove_leaves_nothing_and_may_be_repeated(state: Path) -> None:
    interfaces.create_pairs(state, [VethPair(interfaces.interface_of(state, "p1"), "a")])
    interfaces.create_cables(state, [VethPair("b", "c")])
    assert len(interfaces.left_of(state)) == 3
    interfaces.remove_interfaces(state)
    assert list(interfaces.left_of(state)) == []
    interfaces.remove_interfaces(state)


def test_a_pair_that_cannot_be_made_is_an_error_with_its_place(state: Path) -> None:
    with pytest.raises(OlafError, match="a-name-longer-than-15"):
        interfaces.create_pairs(state, [VethPair("a-name-longer-than-15", "worker1")])


def test_two_deployments_do_not_meet(state: Path, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere" / "bed"
    assert interfaces.namespace_of(state) != interfaces.namespace_of(other)
    assert interfaces.interface_of(state, "p499") != interfaces.interface_of(other, "p499")


def test_a_missing_namespace_cannot_be_entered() -> None:
    with pytest.raises(OSError, match="No such file"):
        run_within("olaf-no-such-namespace", lambda: None)


def test_a_namespace_shows_its_owner_with_or_without_the_folder(state: Path, tmp_path: Path) -> None:
    interfaces.create_pairs(state, [VethPair(interfaces.interface_of(state, "p1"), "a")])
    interfaces.create_cables(state, [VethPair("b", "c")])
    namesake = tmp_path / "elsewhere" / state.name
    namesake.mkdir(parents=True)
    interfaces.create_pairs(namesake, [])
    state.rmdir()
    try:
        assert list(interfaces.find_owners(tmp_path)) == ["bed"]
        assert list(interfaces.find_owners(tmp_path / "nowhere")) == []
    finally:
        state.mkdir()
        interfaces.remove_interfaces(namesake)


def test_without_ip_nothing_is_reported_as_removed(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interfaces.create_pairs(state, [VethPair(interfaces.interface_of(state, "p1"), "a")])
    with monkeypatch.context() as patched:
        patched.setenv("PATH", str(state))
        with pytest.raises(MissingTool, match="`ip` \\(package iproute2\\) is not installed"):
            interfaces.remove_interfaces(state)
    assert len(interfaces.left_of(state)) == 2
