"""A command's output as it came, as an SVG that plays: ``python -m olaflab.site.recording FILE COMMAND``."""

import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

ROWS, COLUMNS = 26, 104
_LINE, _CHARACTER, _MARGIN = 17, 7.8, 14
_LONGEST_WAIT = 1.5
"""Seconds between two lines in the picture: longer waits are cut to it."""
_AT_END = 12.0


class OutputLine(NamedTuple):
    """A line of output, and seconds after the start at which it came."""

    at: float
    text: str


def record_command(command: Sequence[str]) -> list[OutputLine]:
    """Run a command and note each line of its output. Raises CalledProcessError where it fails."""
    start = time.monotonic()
    lines = [OutputLine(0.0, f"$ {shlex.join(command)}")]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8"
    ) as running:
        assert running.stdout is not None
        lines += (OutputLine(time.monotonic() - start, text.rstrip()) for text in running.stdout)
    if running.returncode:
        raise subprocess.CalledProcessError(running.returncode, list(command))
    return lines


def draw_recording(lines: Sequence[OutputLine]) -> str:
    """The picture: a terminal that scrolls as the lines come, waits at the end, and begins again.

    A reader whose system requests less motion sees the end alone.
    """
    shown = _shorten_waits(lines)
    whole = shown[-1].at + _AT_END
    width, height = COLUMNS * _CHARACTER + 2 * _MARGIN, ROWS * _LINE + 2 * _MARGIN
    steps = [(line.at / whole * 100, -_LINE * max(0, row + 1 - ROWS)) for row, line in enumerate(shown)]
    last = steps[-1][1]
    scroll = "".join(f"{at:.3f}%{{transform:translateY({up}px)}}" for at, up in steps)
    rows = []
    for row, line in enumerate(shown):
        y = _MARGIN + (row + 1) * _LINE - 4
        text = escape(line.text[:COLUMNS])
        rows.append(
            f'<g style="animation-name:r{row}">'
            f'<text x="{_MARGIN}" y="{y}" xml:space="preserve">{text}</text></g>'
        )
    appear = "".join(
        f"@keyframes r{row}{{0%{{opacity:0}}{at:.3f}%{{opacity:1}}}}" for row, (at, _) in enumerate(steps)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" '
        f'role="img" aria-label="{escape(shown[0].text, quote=True)}">\n'
        f"<style>text{{font:13px/1 ui-monospace,Menlo,Consolas,monospace;fill:#d8dee9}}"
        f"g{{animation:{whole:.2f}s step-end infinite}}"
        f"#all{{animation-name:scroll;transform:translateY({last}px)}}"
        f"@keyframes scroll{{{scroll}}}{appear}"
        f"@media(prefers-reduced-motion){{g,#all{{animation:none}}}}</style>\n"
        f'<rect width="100%" height="100%" rx="8" fill="#242933"/>\n'
        f'<svg y="{_MARGIN}" height="{ROWS * _LINE}" viewBox="0 {_MARGIN} {width:.0f} {ROWS * _LINE}">\n'
        f'<g id="all">\n{chr(10).join(rows)}\n</g>\n</svg>\n</svg>\n'
    )


def _shorten_waits(lines: Sequence[OutputLine]) -> list[OutputLine]:
    """The same lines with waits of at most ``_LONGEST_WAIT``."""
    shown, now, before = [], 0.0, 0.0
    for line in lines:
        now += min(line.at - before, _LONGEST_WAIT)
        before = line.at
        shown.append(OutputLine(now, line.text))
    return shown


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(draw_recording(record_command(sys.argv[2:])), encoding="utf-8")
