"""A worker that sends control messages: frames into VNP4₁'s ports, answers out of VNP4₂'s."""

import hmac
from ipaddress import IPv4Address

from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from olafctl.wire import control
from olafctl.wire.control import ControlAction
from olafctl.wire.frames import Values, pack_header, unpack_header
from olafctl.wire.layouts import CONTROL_TOS
from tests.daemon.deployment import SERVER, make_fields, make_frame
from tests.daemon.pair import DaemonPair

KEY = "0123456789abcdef" * 4
_PATIENCE = 60.0
"""The seconds after which no answer comes."""


class ScriptedWorker:
    """A worker behind a front port: its frames, and the frames that reach it."""

    def __init__(self, pair: DaemonPair, number: int, port: int, key: str = KEY, ip: str = "") -> None:
        self.ip, self.mac, self.port = ip or f"10.0.1.{number}", f"02:00:0a:00:01:{number:02x}", port
        self.key = key
        self._out, self._in = pair.host("vnp4_1", port), pair.host("vnp4_2", port)

    def close(self) -> None:
        self._out.close()
        self._in.close()

    def make_frame(self, payload: bytes, tos: int = CONTROL_TOS) -> bytes:
        return make_frame((self.mac, self.ip, 41000), SERVER, payload, tos)

    def send(self, frame: bytes) -> None:
        self._out.send(frame)

    def make_message(self, action: ControlAction, **values: int | str) -> bytes:
        """Return a control message, signed; its nonce is the next one unless given."""
        body = pack_header(*make_fields(action, values))[:-16]
        return self.make_frame(body + (self.mac_of(body) if self.key else bytes(16)))

    def mac_of(self, body: bytes) -> bytes:
        covered = IPv4Address(self.ip).packed + (41000).to_bytes(2, "big") + body
        return hmac.digest(bytes.fromhex(self.key), covered, "sha256")[:16]

    def receive(self) -> bytes:
        got = self._in.receive(_PATIENCE)
        assert got is not None, "no answer"
        return got

    def next_answer(self) -> Values:
        """Return the next answer, whose MAC is checked unless it is a refusal without one."""
        got = self.receive()
        packet = Ether(got)
        assert (packet[IP].src, packet[IP].dst, packet[UDP].dport) == ("10.0.0.254", self.ip, 41000)
        payload = bytes(packet[UDP].payload)
        values = unpack_header(control.ACK, payload)
        if self.key and values["mac"]:
            assert self.mac_of(payload[:-16]) == payload[-16:]
        return values

    def ask_daemon(self, action: ControlAction, **values: int | str) -> Values:
        self.send(self.make_message(action, **values))
        return self.next_answer()

    def join_cluster(self, cluster: str = "red", **values: int | str) -> Values:
        return self.ask_daemon(ControlAction.JOIN, cluster=cluster, **values)

    def leave_cluster(self, cluster: str = "red") -> Values:
        return self.ask_daemon(ControlAction.LEAVE, cluster=cluster)
