"""Set a queue's settings for a while."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from typing import Any

from olafctl.targets.interface import Registers


@contextmanager
def configured(registers: Registers, spans: Sequence[tuple[int, int]], **values: Any) -> Iterator[None]:
    """Give the indices of ``spans``, each from its first to its last, other settings inside the context."""
    before = registers.settings()
    try:
        for part, (first, last) in product(before, spans):
            if part.first <= last and first <= part.last:
                settings = replace(part.settings, **values)
                registers.configure(max(part.first, first), min(part.last, last), settings)
        yield
    finally:
        for part in before:
            registers.configure(part.first, part.last, part.settings)
