"""Registers and settings are shown with their units."""

import pytest

from olafctl.control.show import show_indices, show_register, show_settings
from olafctl.queue.registers import IndexSettings, rate_word
from olafctl.wire.modes import Mode


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("rate", 0, "off"),
        ("rate", rate_word(40_000_000_000), "40 Gb/s"),
        ("rate", rate_word(3_000_000), "3 Mb/s"),
        ("active_window", 2_500_000, "10 ms"),
        ("active_window", 1, "4 ns"),
        ("accumulate_quota", 4, "4 slots"),
        ("hold", 1, "on"),
        ("appended", 12, "12"),
    ],
)
def test_a_register_is_shown_with_its_unit(name: str, value: int, shown: str) -> None:
    assert show_register(name, value) == shown


@pytest.mark.parametrize(
    ("settings", "shown"),
    [
        (IndexSettings(), "olaf"),
        (IndexSettings(reward_enable=1, reward_threshold=0x3F000000), "olaf, reward rule 0.5"),
        (IndexSettings(Mode.ISWITCH, threshold=4), "iswitch, H 4"),
        (IndexSettings(Mode.ISWITCH, threshold=1, halted=True), "iswitch, H 1, halted"),
        (IndexSettings(Mode.FIFO), "fifo"),
        (IndexSettings(stale_enable=1, stale_bound=8), "olaf, staleness 8"),
    ],
)
def test_settings_of_indices_are_shown_in_words(settings: IndexSettings, shown: str) -> None:
    assert show_settings(settings) == shown


def test_indices_are_shown_as_one_or_a_range() -> None:
    assert (show_indices(3, 3), show_indices(3, 5)) == ("index 3", "indices 3-5")
