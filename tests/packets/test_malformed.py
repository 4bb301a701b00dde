"""Malformed and truncated frames: nothing stalls, nothing stale leaks, and the next update is served."""

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet

from olafctl.wire import layouts
from olafctl.wire.layouts import Refusal
from tests.packets.frames import ack, at, gradient, update, whole
from tests.packets.live import STRANGER_MAC, Live

HEADERS = layouts.GRADIENT_OFFSET
OLAF = HEADERS - layouts.OLAF.size


def assert_serves(live: Live) -> None:
    """Check that the deployment still forwards an update byte for byte."""
    worker = live.cluster(1).workers[0]
    sent = update(live, worker, gradient(77))
    assert live.exchange((worker, sent)) == {live.server.port: [bytes(sent)]}


@pytest.mark.parametrize("length", [14, 20, 33, 34, 41, 42, 50, HEADERS - 1])
def test_a_frame_cut_within_its_headers_bypasses_as_it_is(live: Live, length: int) -> None:
    worker = live.cluster(1).workers[0]
    cut = bytes(update(live, worker, gradient(1)))[:length]
    with live.counting() as counted:
        arrived = live.exchange((worker, cut))
    assert arrived == {live.server.port: [cut]}
    assert counted["in_updates"] == 0
    assert_serves(live)


@pytest.mark.parametrize("length", [HEADERS, HEADERS + 1, HEADERS + 63, HEADERS + 64, None])
def test_an_update_of_another_length_than_it_says_is_dropped(live: Live, length: int | None) -> None:
    """The update is cut, or has bytes behind it."""
    worker = live.cluster(1).workers[0]
    wrong = (bytes(update(live, worker, gradient(1, 40))) + b"more")[:length]
    with live.counting() as counted:
        assert live.exchange((worker, wrong)) == {}
    assert (counted["dropped_length"], counted["in_updates"]) == (1, 1)
    assert_serves(live)


def test_an_update_larger_than_a_slot_is_counted_and_dropped(live: Live) -> None:
    worker = live.cluster(1).workers[0]
    values = live.testbed.root.beats * 16
    if HEADERS + values * 4 > 9036:
        pytest.skip("needs a slot smaller than a front port's largest frame")
    with live.counting() as counted:
        assert live.exchange((worker, update(live, worker, gradient(1, values)))) == {}
    assert counted["dropped_oversize"] == 1
    assert_serves(live)


def test_an_update_of_another_length_is_counted_and_dropped(live: Live) -> None:
    first, second = live.cluster(2).workers[:2]
    waiting = update(live, first, gradient(1, 40))
    with live.counting() as counted, live.held():
        live.exchange((first, waiting), (second, update(live, second, gradient(2, 41))))
    assert live.arrivals() == {live.server.port: [bytes(waiting)]}
    assert counted["dropped_mismatch"] == 1


@pytest.mark.parametrize("first_byte", [0x01, 0x21, 0xF1, 0x10, 0x13, 0x1F])
def test_another_version_or_type_is_ordinary_traffic(live: Live, first_byte: int) -> None:
    worker = live.cluster(1).workers[0]
    frame = bytearray(bytes(update(live, worker, gradient(1))))
    frame[OLAF] = first_byte
    with live.counting() as counted, live.held():
        assert live.exchange((worker, bytes(frame))) == {live.server.port: [bytes(frame)]}
    assert counted["in_updates"] == 0


def _broken(frame: Packet, field: str, value: int) -> Packet:
    """Return the frame with one field of its IPv4 header wrong, and the checksum right unless it is that
    field."""
    frame[IP].setfieldval(field, value)
    if field != "chksum":
        del frame[IP].chksum
    return Ether(bytes(frame))


@pytest.mark.parametrize(
    ("reason", "field", "value"),
    [
        (Refusal.LENGTH, "len", 28),
        (Refusal.LENGTH, "len", 0),
        (Refusal.CHECKSUM, "chksum", 0x1234),
        (Refusal.TTL, "ttl", 0),
    ],
)
def test_a_header_the_receiver_would_drop_takes_no_sum_with_it(
    live: Live, reason: Refusal, field: str, value: int
) -> None:
    """A good worker's update waits; the broken update has the newer gen_time and would give its header."""
    good, bad = live.cluster(2).workers[:2]
    waiting = update(live, good, gradient(1), gen_time=100)
    broken = _broken(update(live, bad, gradient(2), gen_time=200), field, value)
    with live.counting() as counted, live.refusing() as refused, live.held():
        live.exchange((good, waiting), (bad, broken))
    assert live.arrivals() == {live.server.port: [bytes(waiting)]}
    assert (counted["in_updates"], refused) == (1, {reason: 1})
    with live.refusing() as refused:
        assert live.exchange((live.server, _broken(ack(live, good, gradient(1)), field, value))) == {}
    assert refused == {reason: 1}


@pytest.mark.parametrize("wrong", ["mac", "dport"])
def test_a_wrong_destination_takes_no_sum_with_it(live: Live, wrong: str) -> None:
    """The newer update's header would be the merged frame's, and its receiver would drop it."""
    good, bad = live.cluster(2).workers[:2]
    waiting = update(live, good, gradient(1), gen_time=100)
    broken = update(live, bad, gradient(2), gen_time=200)
    if wrong == "mac":
        broken[Ether].dst = STRANGER_MAC
    else:
        broken[UDP].sport, broken[UDP].dport = live.testbed.udp_port, 41002
    with live.counting() as counted, live.refusing() as refused, live.held():
        live.exchange((good, waiting), (bad, whole(broken)))
    assert live.arrivals() == {live.server.port: [bytes(waiting)]}
    assert (counted["in_updates"], refused) == (1, {Refusal.DESTINATION: 1})


@pytest.mark.parametrize("length", [34, 42, HEADERS - 1])
def test_a_truncated_ack_gains_no_status_and_no_copies(live: Live, length: int) -> None:
    """No stale field of an earlier ACK leaks into a frame that has no Olaf header."""
    worker = live.cluster(1).workers[0]
    live.exchange((live.server, ack(live, worker, gradient(1))))
    cut = bytes(ack(live, worker, gradient(1)))[:length]
    assert live.exchange((live.server, cut)) == {worker.port: [cut]}


def test_an_ack_that_carries_a_status_keeps_one_status(live: Live) -> None:
    """An ACK that crossed another engine does not get longer a second time."""
    worker = live.cluster(1).workers[0]
    [once] = at(live.exchange((live.server, ack(live, worker, gradient(1)))), worker)
    again = once.ether
    again.src, again.dst = live.server.mac, worker.mac
    again[IP].src, again[IP].dst = str(live.server.ip), str(worker.ip)
    again[UDP].sport = live.testbed.udp_port
    del again[IP].chksum
    [twice] = at(live.exchange((live.server, whole(again))), worker)
    assert len(twice.frame) == len(once.frame)
    assert twice.values.tobytes() == gradient(1).tobytes()
