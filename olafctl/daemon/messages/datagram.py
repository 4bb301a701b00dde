"""A control message as a frame: taken apart and checked, authenticated, and built."""

import hmac
from dataclasses import dataclass
from ipaddress import IPv4Address

from olafctl.wire import control, layouts
from olafctl.wire.authentication import MAC_BYTES, mac, signed
from olafctl.wire.control import Action
from olafctl.wire.frames import Values, ipv4_checksum, mac_bits, pack, unpack

_IPV4 = 0x0800
_UDP = 17
_TTL = 64
_LAYOUTS = {
    Action.JOIN: control.JOIN,
    Action.LEAVE: control.LEAVE,
    Action.RESET: control.RESET,
    Action.SET_H: control.SET_H,
    Action.FBCAST: control.FBCAST,
    Action.HELP: control.HELP,
    Action.HALT: control.HALT,
    Action.ACK: control.ACK,
}


class NotUnderstood(Exception):
    """A frame that is no control message; ``sender`` is to be told so when it is known."""

    def __init__(self, what: str, sender: "Sender | None" = None) -> None:
        super().__init__(what)
        self.sender = sender


@dataclass(frozen=True)
class Sender:
    """The sender of a message, to which its answer goes."""

    port: int
    """Front port."""
    mac: str
    ip: IPv4Address
    udp_port: int
    own_mac: str
    """The destination of the message, from which the answer comes."""
    own_ip: IPv4Address
    own_udp_port: int


@dataclass(frozen=True)
class Message:
    """A control message of the right length."""

    sender: Sender
    action: Action
    values: Values
    signed: bytes
    """The bytes before ``mac``."""

    @property
    def cluster(self) -> str:
        """The cluster that it names."""
        name = self.values["cluster"].to_bytes(32, "big").rstrip(b"\0")
        return name.decode("utf-8", "replace")

    def is_authentic(self, key: str) -> bool:
        """Whether it was made with ``key`` (hexadecimal)."""
        given = self.values["mac"].to_bytes(MAC_BYTES, "big")
        return hmac.compare_digest(given, mac(self.signed, key, self.sender.ip, self.sender.udp_port))


def parse(port: int, frame: bytes) -> Message:
    """The message in a frame that came in by front port ``port``. Raises NotUnderstood."""
    try:
        ethernet = unpack(layouts.ETHERNET, frame)
        ipv4 = unpack(layouts.IPV4, frame[layouts.ETHERNET.size :])
        udp = unpack(layouts.UDP, frame[layouts.ETHERNET.size + layouts.IPV4.size :])
    except ValueError as error:
        raise NotUnderstood(str(error)) from None
    if (ethernet["ether_type"], ipv4["version"], ipv4["ihl"], ipv4["protocol"]) != (_IPV4, 4, 5, _UDP):
        raise NotUnderstood("is no UDP datagram in IPv4 without options")
    sender = Sender(
        port=port,
        mac=_mac_text(ethernet["src_addr"]),
        ip=IPv4Address(ipv4["src_addr"]),
        udp_port=udp["src_port"],
        own_mac=_mac_text(ethernet["dst_addr"]),
        own_ip=IPv4Address(ipv4["dst_addr"]),
        own_udp_port=udp["dst_port"],
    )
    start = layouts.ETHERNET.size + layouts.IPV4.size + layouts.UDP.size
    payload = frame[start : start - layouts.UDP.size + udp["length"]]
    if not payload or payload[0] not in _LAYOUTS:
        raise NotUnderstood("names no action", sender)
    action = Action(payload[0])
    layout = _LAYOUTS[action]
    if len(payload) != layout.size:
        what = f"a {layout.name} has {layout.size} bytes, not {len(payload)}"
        raise NotUnderstood(what, sender)
    return Message(sender, action, unpack(layout, payload), payload[:-MAC_BYTES])


def build(action: Action, values: Values, key: str, to: Sender, tos: int) -> bytes:
    """The frame that carries a message to ``to``, from where that one sent to."""
    body = signed(_LAYOUTS[action], {"action": action, **values}, key, to.ip, to.udp_port)
    udp = pack(
        layouts.UDP,
        {"src_port": to.own_udp_port, "dst_port": to.udp_port, "length": layouts.UDP.size + len(body)},
    )
    ipv4 = {
        "version": 4,
        "ihl": 5,
        "tos": tos,
        "total_len": layouts.IPV4.size + len(udp) + len(body),
        "ttl": _TTL,
        "protocol": _UDP,
        "src_addr": int(to.own_ip),
        "dst_addr": int(to.ip),
    }
    ipv4["hdr_checksum"] = ipv4_checksum(pack(layouts.IPV4, ipv4))
    ethernet = {"dst_addr": mac_bits(to.mac), "src_addr": mac_bits(to.own_mac), "ether_type": _IPV4}
    return pack(layouts.ETHERNET, ethernet) + pack(layouts.IPV4, ipv4) + udp + body


def _mac_text(bits: int) -> str:
    return bits.to_bytes(6, "big").hex(":")
