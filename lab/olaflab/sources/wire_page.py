"""The layouts as a documentation page."""

from collections.abc import Iterator
from ipaddress import IPv4Address

from olafctl.wire import control, layouts, members, weights
from olafctl.wire.authentication import MAC_BYTES, sign_message
from olafctl.wire.control import ControlAction, MemberRole, Reason
from olafctl.wire.frames import ipv4_checksum, pack_header
from olafctl.wire.layouts import HeaderLayout, LayoutField

_TABLE = "| byte | field | bits | meaning |\n|---|---|---|---|\n"
_MEANINGS = {
    Reason.OK: "done",
    Reason.BAD_MESSAGE: "not understood, or what it asks for makes no sense",
    Reason.UNKNOWN_CLUSTER: "there is no such cluster",
    Reason.BAD_MAC: "not made with the cluster's key, or it takes no messages; this answer's MAC is zero",
    Reason.OLD_NONCE: "replayed, or the sender's clock is behind what it was",
    Reason.CLUSTER_FULL: "no room in the cluster, a table or the queue",
    Reason.WRONG_MODEL_LENGTH: "the cluster's model has another number of values",
    Reason.NOT_A_MEMBER: "the source address is no member's, or belongs behind another front port",
    Reason.OBJECTIVE_VIOLATED: "an Age-of-Model objective would not hold",
    Reason.FAILED: "refused for a reason that the daemon's audit log says",
    Reason.CLOCK_AHEAD: "the nonce is more than an hour ahead of the daemon's clock",
}
_KEY = "0123456789abcdef" * 4
_MEMBER, _MEMBER_PORT = IPv4Address("10.0.0.1"), 41000
_SERVER = IPv4Address("10.0.0.254")
_EXAMPLE = {
    "action": ControlAction.JOIN,
    "role": MemberRole.WORKER,
    "values": 700,
    "nonce": 1_790_000_000_000_000_000,
}


def pages() -> dict[str, str]:
    """Make the site's page of the wire format."""
    return {"docs/wire-format": write_page()}


def write_page() -> str:
    """Make the page's text: one table a header, then one a control message."""
    parts = [
        "# Wire format\n\nMade from `layouts.py`, `control.py`, `members.py` and "
        "`weights.py` of `olafctl/wire/`.\n\n"
        f"UDP port {layouts.UDP_PORT} by default, version {layouts.VERSION}. Headers are in network byte "
        "order; gradients are little-endian binary32 and start at byte "
        f"{layouts.GRADIENT_OFFSET} of the frame, {layouts.LANES} to a {layouts.BEAT_BYTES}-byte beat.\n",
        *(_header_section(layout, layout.name, "##") for layout in (*layouts.ALL, layouts.INIT)),
        _control_section(),
        _member_section(),
        _weight_section(),
    ]
    return "".join(parts)


def _header_section(layout: HeaderLayout, title: str, level: str) -> str:
    rows = "".join(
        f"| {_field_place(layout, field)} | `{field.name}` | {field.bits} | {field.meaning} |\n"
        for field in layout.fields
    )
    return f"\n{level} {title} ({layout.size} bytes)\n\n{layout.meaning}.\n\n{_TABLE}{rows}"


def _field_place(layout: HeaderLayout, field: LayoutField) -> str:
    byte, bit = divmod(layout.offset(field.name), 8)
    return f"{byte}" if bit == 0 else f"{byte}, from bit {bit}"


def _control_section() -> str:
    """Describe the control messages, for who writes a client of them."""
    reasons = "".join(f"| {each.value} | {each.name} | {_MEANINGS[each]} |\n" for each in Reason)
    sections = "".join(
        _header_section(layout, f"{action.name}, action {action.value}", "###")
        for action, layout in zip(ControlAction, control.ALL, strict=True)
    )
    return f"""
## Control messages

A control message is one UDP datagram in IPv4 without options, whose type of service is
0x{layouts.CONTROL_TOS:02X} (`control_tos` in a testbed). The engine takes it by that byte alone, whatever
address and UDP port it is sent to: send it to the parameter server's or the engine's. The answer comes from
there, with the same type of service, to the address and UDP port that asked. The payload is one of the
messages below and nothing else; integers are in network order. Its first byte is the action.

A cluster has a key of at least 16 bytes, is open (`--open`; the MAC is then {MAC_BYTES} zero bytes), or takes
no messages.

    mac = HMAC-SHA256(key, address | port | message)[0:{MAC_BYTES}]

`address` is the member's IPv4 address (4 bytes) and `port` its UDP port (2 bytes), in network order;
`message` is every byte before `mac`. In an answer, and in what the control plane sends unasked, they are
still the member's, which then receives it. Nothing between a member and the engine may translate addresses.

- Nonces of a source grow: its wall time in ns, or its last nonce plus one. A smaller one is refused, and one
  more than an hour ahead of the daemon's clock.
- Without an answer, send the same bytes again after a second: the last nonce again is answered again, and
  done once.
- An answer (ACK) repeats the nonce, 0 if the message was not understood. Its other fields count if the reason
  is 0.
- A JOIN names its cluster; LEAVE does as well. All others are about the cluster of the source address.
- The control plane sends HELP and HALT to members unasked, with its wall time as the nonce, and expects no
  answer.
- Members at fixed addresses, which have no control plane, send HELP straight to one another, with type of
  service 0, nonce 0 and no MAC; each is answered by the RESULT or, by a member that does not have it, by an
  ACK: reason 0 while it works on it, too, NOT_A_MEMBER when it has left, FAILED when it has given up.
- A source may send 20 messages a second, all sources behind a front port together 200. What is beyond is not
  answered.

| reason | name | meaning |
|---|---|---|
{reasons}{sections}
### An example

A worker at {_MEMBER}, UDP port {_MEMBER_PORT}, joins the cluster `red` with a model of {_EXAMPLE["values"]}
values. The datagram from its IPv4 header on, sent to {_SERVER}, port {layouts.UDP_PORT}, and the key that it
is signed with:

    key      {_KEY}
{"".join(_example_datagram())}"""


def _member_section() -> str:
    """Describe the replicas' messages, for the author of another one."""
    actions = {talk.name.lower(): f", action {talk.value}" for talk in members.Talk}
    return """
## Between replicas

The members of a training in mode iswitch-async talk to one another with type of service 0, in the layouts
below; [replicas](replica.md) says what for. No engine and no daemon reads them.
""" + "".join(
        _header_section(layout, f"{layout.name.upper()}{actions.get(layout.name, '')}", "###")
        for layout in members.ALL
    )


def _weight_section() -> str:
    """Describe what a publisher sends to its players, and they to it."""
    return f"""
## Weights to players

An ACK with the flag DELTA carries a part of a version of the weights: the Olaf header, the status, the
delta header and a payload. `seq` is the frame's number in its issue, `segment` the shard, `weights_version`
the version modulo 2^16, and `gen_time` when it was published. To one player alone the same goes with frame
type INIT. Payloads are little-endian:

- full: n elements, neighbours from `first` on.
- set: n gaps, then n elements. A gap is the elements from the one before, 0 of the first, in one byte; 255
  is as many more as the next of the 16-bit numbers after all gaps says, where 65535 adds the one that
  follows it.
- ulp: gaps as in set; n codes of two bits, the first in the lowest bits: 0 one more, 1 one less, 2 and 3
  the next of the differences that follow, those of 8 bits first, then those of an element's width. A
  difference is the new element's bit pattern minus the old one's.
- all: n differences of 8 bits, of neighbours from `first` on; -128 is the next of the elements that follow.
- parity: repairs any one frame of a block of {weights.PARITY_FRAMES}, which all have one codec and width.
  `seq` is the block's first frame; `first`, `n` and the payload are the XOR of the frames'.

What a frame has beyond that is padding. ulp and all apply to exactly `base`; set to `base` and all versions
from there to `version`; full to any.
""" + "".join(_header_section(layout, layout.name.upper(), "###") for layout in weights.ALL)


def _example_datagram() -> Iterator[str]:
    """Yield an IPv4 datagram with a JOIN, in hexadecimal, a line for each field or header."""
    cluster = int.from_bytes(b"red".ljust(32, b"\0"), "big")
    body = sign_message(control.JOIN, {**_EXAMPLE, "cluster": cluster}, _KEY, _MEMBER, _MEMBER_PORT)
    udp = {
        "src_port": _MEMBER_PORT,
        "dst_port": layouts.UDP_PORT,
        "length": layouts.UDP.size + len(body),
    }
    ipv4 = {
        "version": 4,
        "ihl": 5,
        "tos": layouts.CONTROL_TOS,
        "total_len": layouts.IPV4.size + layouts.UDP.size + len(body),
        "ttl": 64,
        "protocol": 17,
        "src_addr": int(_MEMBER),
        "dst_addr": int(_SERVER),
    }
    ipv4["hdr_checksum"] = ipv4_checksum(pack_header(layouts.IPV4, ipv4))
    yield f"    ipv4     {pack_header(layouts.IPV4, ipv4).hex()}\n"
    yield f"    udp      {pack_header(layouts.UDP, udp).hex()}\n"
    for field in control.JOIN.fields:
        start = control.JOIN.offset(field.name) // 8
        yield f"    {field.name:<8} {body[start : start + field.bits // 8].hex()}\n"
