"""Control messages: the reserved type of service takes a frame to the control plane alone."""

import pytest
from scapy.layers.inet import IP
from scapy.packet import Raw

from olafctl.control import devices
from olafctl.control.pipeline import VNP4_1, VNP4_2
from tests.packets.frames import gradient, update, whole
from tests.packets.live import DEADLINE, Live, udp


@pytest.mark.parametrize("action", [b"\x01", b"\x03\x00\x00\x00\x05", b"", None])
def test_reserved_tos_is_punted_with_its_port_only(live: Live, action: bytes | None) -> None:
    """The rest of the frame has no effect, even if it is an update."""
    worker = live.cluster(1, merging=False).workers[0]
    if action is None:
        message = update(live, worker, gradient(1))
    else:
        message = udp(worker, live.server, 20301) / Raw(action)
    message[IP].tos = live.testbed.control_tos
    del message[IP].chksum
    sent = bytes(whole(message))
    with devices.control_devices(live.running) as sessions, live.counting() as counted:
        assert live.exchange((worker, sent)) == {}
        packet = next(sessions[live.device(worker, VNP4_1)].packets(DEADLINE))
    assert packet.payload == sent
    assert packet.metadata["ingress_port"] == worker.port
    assert counted["in_updates"] == 0


def test_the_control_plane_answers_by_packet_out(live: Live) -> None:
    """A packet-out leaves by the port that it names, unchanged."""
    worker = live.cluster(1, merging=False).workers[0]
    answer = bytes(udp(live.server, worker, worker.udp_port) / Raw(b"\x08"))
    with devices.control_devices(live.running) as sessions:
        for block in (VNP4_1, VNP4_2):
            sessions[live.device(worker, block)].packet_out(answer, {"egress_port": worker.port})
            live.expect(worker.port, answer)
