"""A client that is written from the site's page of the wire format is understood."""

import hmac
import re
from ipaddress import IPv4Address

from olafctl.daemon.messages import parsing
from olafctl.wire import control
from olafctl.wire.control import ControlAction
from olaflab.sources import wire_page

PAGE = wire_page.write_page()


def example() -> dict[str, bytes]:
    """Return the example's fields and headers."""
    text = PAGE.partition("### An example")[2]
    return {name: bytes.fromhex(value) for name, value in re.findall(r"^ {4}(\w+) +([0-9a-f]+)$", text, re.M)}


def test_the_example_is_a_join_that_the_daemon_believes() -> None:
    parts = example()
    key = parts.pop("key")
    sent = b"".join(parts.values())
    message = parsing.parse_frame(2, bytes(12) + b"\x08\x00" + sent)
    assert (message.action, message.cluster, message.values["values"]) == (ControlAction.JOIN, "red", 700)
    assert message.is_authentic(key.hex())
    assert (message.sender.ip, message.sender.port) == (IPv4Address("10.0.0.1"), 41000)


def test_the_rule_of_the_page_makes_the_mac_of_its_example() -> None:
    parts = example()
    address, port = parts["ipv4"][12:16], parts["udp"][:2]
    message = b"".join(parts[field.name] for field in control.JOIN.fields if field.name != "mac")
    assert hmac.digest(parts["key"], address + port + message, "sha256")[:16] == parts["mac"]


def test_every_message_stands_in_it_byte_by_byte() -> None:
    for action, layout in zip(ControlAction, control.ALL, strict=True):
        _, found, section = PAGE.partition(f"### {action.name}, action {action.value} ({layout.size} bytes)")
        assert found
        rows = re.findall(r"^\| (\d+) \| `(\w+)` \| (\d+) \|", section.partition("###")[0], re.M)
        assert [(int(at), name, int(bits)) for at, name, bits in rows] == [
            (layout.offset(field.name) // 8, field.name, field.bits) for field in layout.fields
        ]
