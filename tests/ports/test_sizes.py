"""Sizes that Python and C++ must agree on."""

import re
from pathlib import Path

import olafctl
from olafctl.ports.packet_socket import MAX_FRAME


def test_the_longest_frame_is_the_native_ports() -> None:
    header = Path(olafctl.__file__).parent / "ports" / "native" / "ports.h"
    assert re.findall(r"constexpr size_t MAX_FRAME = (\d+);", header.read_text()) == [str(MAX_FRAME)]
