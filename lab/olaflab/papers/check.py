"""Whether a figure that was made again agrees with the committed one.

Points that are read back and runs of the model repeat exactly, so every character of their section counts.
Where other seeds or another machine drew the numbers, words and structure are equal all the same, and numbers
agree within their intervals.
"""

import re
from collections.abc import Iterator, Mapping

from olaflab.papers.figure import FigureTable, Section

_INTERVAL = re.compile(
    r"(?P<mean>-?(?:\d+(?:\.\d+)?|∞))"
    r"(?: ± (?P<half>\d+(?:\.\d+)?|nan)| \((?P<low>-?[\d.]+|∞) … (?P<high>-?[\d.]+|∞)\))?"
)
_ABSENT = "no such statement"
_NEAR = 0.05
"""Relative difference of two drawn numbers without intervals that still agree."""


def find_differences(committed: Section, made: Section, *, drawn: bool = False) -> Iterator[str]:
    """Describe everything in which ``made`` differs from ``committed``.

    With ``drawn`` its numbers come from other seeds, another length or another machine.
    """
    yield from _compare_statements(committed.verdicts, made.verdicts, drawn)
    if list(committed.tables) != list(made.tables):
        yield f"tables {', '.join(made.tables) or '–'}, were {', '.join(committed.tables) or '–'}"
    for name in committed.tables.keys() & made.tables.keys():
        yield from (
            f"{name}: {each}" for each in _compare_cells(committed.tables[name], made.tables[name], drawn)
        )


def _compare_statements(committed: Mapping[str, str], made: Mapping[str, str], drawn: bool) -> Iterator[str]:
    before, now = ({_mask_numbers(text) if drawn else text: word for text, word in each.items()}
                   for each in (committed, made))  # fmt: skip
    for text in [*before, *(text for text in now if text not in before)]:
        if before.get(text) != now.get(text):
            yield f"{text}: {now.get(text, _ABSENT)}, was: {before.get(text, _ABSENT)}"


def _compare_cells(committed: FigureTable, made: FigureTable, drawn: bool) -> Iterator[str]:
    def same(before: str, now: str) -> bool:
        return _mask_numbers(before) == _mask_numbers(now) if drawn else before == now

    if not same(committed.title, made.title):
        yield f"its title is {made.title!r}, was {committed.title!r}"
    if list(committed.heads) != list(made.heads):
        yield f"its columns are {', '.join(made.heads)}, were {', '.join(committed.heads)}"
        return
    if len(committed.rows) != len(made.rows):
        yield f"{len(made.rows)} rows, were {len(committed.rows)}"
        return
    for old, new in zip(committed.rows, made.rows, strict=True):
        if len(old) != len(new):
            yield f"{new[0]}: {len(new)} cells, were {len(old)}"
            continue
        for head, before, now in zip(made.heads, old, new, strict=True):
            if not (cells_agree(before, now) if drawn else before == now):
                yield f"{new[0]}, {head}: {now}, was {before}"


def cells_agree(before: str, now: str) -> bool:
    """Return whether two drawn cells agree: the same words, and numbers whose intervals meet.

    Numbers without an interval may differ by 5 % and by a unit of their last digit.
    """
    if before == now:
        return True
    pairs = [list(_INTERVAL.finditer(cell)) for cell in (before, now)]
    if _mask_numbers(before) != _mask_numbers(now) or len(pairs[0]) != len(pairs[1]):
        return False
    return all(_intervals_meet(one, other) for one, other in zip(*pairs, strict=True))


def _intervals_meet(one: "re.Match[str]", other: "re.Match[str]") -> bool:
    (low, high, exact), (other_low, other_high, other_exact) = _interval_bounds(one), _interval_bounds(other)
    near = _last_unit(one["mean"])
    if exact and other_exact and low != other_low:
        near = max(near, _NEAR * max(abs(low), abs(other_low)))
    return max(low, other_low) <= min(high, other_high) + near * (1 + 1e-9)


def _interval_bounds(found: "re.Match[str]") -> tuple[float, float, bool]:
    """Return both ends of a number's interval, and whether it has none."""
    mean = _parse_number(found["mean"])
    if found["half"] is not None:
        return mean - float(found["half"]), mean + float(found["half"]), False
    if found["low"] is not None:
        return _parse_number(found["low"]), _parse_number(found["high"]), False
    return mean, mean, True


def _parse_number(text: str) -> float:
    return float(text.replace("∞", "inf"))


def _last_unit(text: str) -> float:
    """Return a unit of the last digit after the point; 0 for a whole number."""
    _, point, digits = text.partition(".")
    return 10.0 ** -len(digits) if point else 0.0


def _mask_numbers(text: str) -> str:
    return _INTERVAL.sub("#", text)
