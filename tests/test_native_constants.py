"""Numbers that stand in Python and in C++, where neither is made from the other."""

import re
from pathlib import Path

import pytest

import olafctl
from olafctl.ports import packet_socket
from olafctl.targets.bmv2 import wiring
from olafctl.targets.engine import engine


@pytest.mark.parametrize(
    ("header", "name", "value"),
    [
        ("ports/native/ports.h", "MAX_FRAME", packet_socket.MAX_FRAME),
        ("targets/engine/native/packet_ins.h", "MAX_PACKET_IN", engine._MAX_PACKET_IN),
        ("targets/engine/native/wirings.h", "FIRST_FRONT", wiring.FIRST_FRONT),
        ("targets/engine/native/wirings.h", "SECOND_FRONT", wiring.SECOND_FRONT),
        ("targets/engine/native/wirings.h", "FROM_FIRST", wiring.FROM_FIRST),
        ("targets/engine/native/wirings.h", "TO_SECOND", wiring.TO_SECOND),
    ],
)
def test_both_languages_say_the_same(header: str, name: str, value: int) -> None:
    text = (Path(olafctl.__file__).parent / header).read_text()
    assert re.findall(rf"constexpr \w+ {name} = (\d+);", text) == [str(value)]
