"""Whether a figure that was made again agrees with the committed one."""

import re
from collections.abc import Iterator

from olaflab.papers.figure import Section, Table

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?: ± \d+(?:\.\d+)?)?")
_RESULT = re.compile(r"-?\d+\.\d+(?: ± \d+\.\d+)?|\d+ of \d+ seeds")
"""In a statement, the finding: the remainder identifies the statement."""
_NEAR = 0.05
"""Relative difference of two numbers without intervals that still agree: seeds may be fewer."""
_UNIT = 1.0
"""Tolerance of numbers with an interval, which are near to 0 or rounded."""


def differences(committed: Section, made: Section) -> Iterator[str]:
    """What of ``made`` contradicts ``committed``: verdicts, and cells whose intervals do not meet."""
    before = {_RESULT.sub("#", text): verdict for text, verdict in committed.verdicts.items()}
    for text, verdict in made.verdicts.items():
        known = before.get(_RESULT.sub("#", text))
        if known is not None and known != verdict:
            yield f"{text}: {verdict}, was: {known}"
    for name, table in made.tables.items():
        if name in committed.tables:
            yield from (f"{name}: {each}" for each in _cells(committed.tables[name], table))


def _cells(committed: Table, made: Table) -> Iterator[str]:
    if list(committed.heads) != list(made.heads):
        yield "its columns differ"
        return
    if len(committed.rows) != len(made.rows):
        yield f"{len(made.rows)} rows, were {len(committed.rows)}"
        return
    for old, new in zip(committed.rows, made.rows, strict=True):
        for head, before, now in zip(made.heads, old, new, strict=True):
            if not agree(before, now):
                yield f"{new[0]}, {head}: {now}, was {before}"


def agree(before: str, now: str) -> bool:
    """Whether two cells agree: each number lies within both intervals, or within 5 %."""
    if before == now:
        return True
    numbers = [_NUMBER.findall(cell) for cell in (before, now)]
    if _NUMBER.sub("#", before) != _NUMBER.sub("#", now) or len(numbers[0]) != len(numbers[1]):
        return False
    return all(_near(one, other) for one, other in zip(*numbers, strict=True))


def _near(one: str, other: str) -> bool:
    (a, da), (b, db) = (map(float, (*each.split(" ± "), "0")[:2]) for each in (one, other))
    return abs(a - b) <= da + db + max(_NEAR * max(abs(a), abs(b)), _UNIT if da or db else 0.0)
