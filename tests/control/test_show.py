"""Registers are shown with their units."""

import pytest

from olafctl.control.show import show_register
from olafctl.queue.registers import rate_word


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("mode", 1, "fifo"),
        ("rate", 0, "off"),
        ("rate", rate_word(40_000_000_000), "40 Gb/s"),
        ("rate", rate_word(3_000_000), "3 Mb/s"),
        ("active_window", 2_500_000, "10 ms"),
        ("active_window", 1, "4 ns"),
        ("reward_threshold", 0x3F000000, "0.5"),
        ("hold", 1, "on"),
        ("appended", 12, "12"),
    ],
)
def test_a_register_is_shown_with_its_unit(name: str, value: int, shown: str) -> None:
    assert show_register(name, value) == shown
