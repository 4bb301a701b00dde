"""Scapy layers made from the layouts: ``Olaf``, ``OlafStatus`` and ``Shim``, bound to UDP port 20300.

``Ether()/IP()/UDP(chksum=0)/Olaf(frame_type=1, …)/Raw(gradients)`` builds an update; dissection shows the
status header of an ACK that carries one.
"""

from typing import Any

from scapy.fields import BitField, IEEEFloatField
from scapy.layers.inet import UDP
from scapy.packet import Packet, Raw, bind_layers

from olafctl.wire import layouts
from olafctl.wire.layouts import Flag, HeaderLayout


def _make_fields(layout: HeaderLayout, defaults: dict[str, int]) -> list[Any]:
    return [
        IEEEFloatField(field.name, 0)
        if field.name == "reward"
        else BitField(field.name, defaults.get(field.name, 0), field.bits)
        for field in layout.fields
    ]


class OlafStatus(Packet):
    """The queue's status inside an ACK (OLAF §5)."""

    name = layouts.STATUS.name
    fields_desc = _make_fields(layouts.STATUS, {})


class Olaf(Packet):
    """The Olaf header (``layouts.OLAF``); ``reward`` is a float."""

    name = layouts.OLAF.name
    fields_desc = _make_fields(layouts.OLAF, {"version": layouts.VERSION, "frame_type": 1, "count": 1})

    def guess_payload_class(self, payload: bytes) -> type[Packet]:
        """Return the status header where the flags announce one; gradients stay raw."""
        return OlafStatus if int(self.flags) & Flag.STATUS else Raw


class Shim(Packet):
    """The tuser in front of a frame between BMv2 and the queue."""

    name = "shim"
    fields_desc = _make_fields(layouts.TUSER, {})


bind_layers(UDP, Olaf, dport=layouts.UDP_PORT)
bind_layers(UDP, Olaf, sport=layouts.UDP_PORT)
bind_layers(UDP, Olaf, sport=layouts.UDP_PORT, dport=layouts.UDP_PORT)
