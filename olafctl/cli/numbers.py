"""Numbers and quantities that options take."""

import math

import click

from olafctl import quantities
from olafswitch.errors import BadInput, Problem

LONGEST = 10**15
"""The longest duration in ns: eleven days."""


def check_finite(context: click.Context, option: click.Parameter, value: float | None) -> float | None:
    """Refuse nan and inf, which a range of click's accepts."""
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"{value} is not a finite number", context, option)
    return value


def read_quantity(option: str, text: str, reader: quantities.Reader[quantities.V]) -> quantities.V:
    """Return the value that ``reader`` reads from ``text``. Raises BadInput that names the option."""
    try:
        return reader(text.strip())
    except quantities.Unreadable as error:
        raise BadInput(Problem(error.what, option, error.remedy)) from error
