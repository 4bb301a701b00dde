"""One list of modes gives the word, the number, and everything generated from them."""

import pytest

from olafctl.wire.modes import Mode


def test_a_mode_has_a_word_and_a_number() -> None:
    words = ("olaf", "fifo", "iswitch", "iswitch-async")
    assert [(str(mode), mode.number) for mode in Mode] == [(word, at) for at, word in enumerate(words)]
    assert [Mode.numbered(mode.number) for mode in Mode] == list(Mode)


@pytest.mark.parametrize("number", [-1, 4])
def test_another_number_is_not_a_mode(number: int) -> None:
    with pytest.raises(ValueError, match=f"{number} is not a mode"):
        Mode.numbered(number)
