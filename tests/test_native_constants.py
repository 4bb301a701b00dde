"""Numbers that stand in Python and in C++, where neither is made from the other, are equal."""

import re
from pathlib import Path
from types import ModuleType

import pytest

import olafctl
import olafswitch
from olafctl.targets.bmv2 import wiring
from olafswitch.engine import engine
from olafswitch.ports import packet_socket


@pytest.mark.parametrize(
    ("package", "header", "name", "value"),
    [
        (olafswitch, "ports/native/ports.h", "MAX_FRAME", packet_socket.MAX_FRAME),
        (olafswitch, "engine/native/packet_ins.h", "MAX_PACKET_IN", engine._MAX_PACKET_IN),
        (olafctl, "targets/engine/native/relay.h", "FIRST_FRONT", wiring.FIRST_FRONT),
        (olafctl, "targets/engine/native/relay.h", "SECOND_FRONT", wiring.SECOND_FRONT),
        (olafctl, "targets/engine/native/relay.h", "FROM_FIRST", wiring.FROM_FIRST),
        (olafctl, "targets/engine/native/relay.h", "TO_SECOND", wiring.TO_SECOND),
    ],
)
def test_both_languages_say_the_same(package: ModuleType, header: str, name: str, value: int) -> None:
    text = (Path(package.__file__ or "").parent / header).read_text()
    assert re.findall(rf"constexpr \w+ {name} = (\d+);", text) == [str(value)]
