"""A terminal's recording holds what the command printed, in its order, and is a picture."""

import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from olaflab.site import recording

TEXT = "{http://www.w3.org/2000/svg}text"


def test_it_shows_every_line_in_order() -> None:
    lines = recording.record_command([sys.executable, "-c", "for n in range(40): print(f'<{n}> & so on')"])
    picture = ElementTree.fromstring(recording.draw_recording(lines))
    shown = [text.text for text in picture.iter(TEXT)]
    assert shown[1:] == [f"<{n}> & so on" for n in range(40)]


def test_long_waits_are_cut_and_the_end_is_in_sight() -> None:
    lines = [recording.OutputLine(0, "$ x"), recording.OutputLine(60, "a")] + [
        recording.OutputLine(61, str(n)) for n in range(40)
    ]
    picture = recording.draw_recording(lines)
    seconds = re.search(r"animation:([\d.]+)s", picture)
    assert seconds and float(seconds[1]) < 20
    assert f"translateY({-17 * (42 - recording.ROWS)}px)" in picture


def test_a_command_that_fails_gives_no_picture() -> None:
    with pytest.raises(subprocess.CalledProcessError):
        recording.record_command(["false"])
