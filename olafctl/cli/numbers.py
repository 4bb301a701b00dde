"""Numbers and quantities that options take."""

import math

import click

from olafctl import quantities
from olafswitch.errors import BadInput, Problem

LONGEST = 10**15
"""ns, of any duration: eleven days."""


def check_finite(context: click.Context, option: click.Parameter, value: float | None) -> float | None:
    """Return a click callback: refuses nan and inf, which a range lets through."""
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"{value} is not a finite number", context, option)
    return value


def read_quantity(option: str, text: str, reader: quantities.Reader[quantities.V]) -> quantities.V:
    """Return what ``text`` says by ``reader``. Raises BadInput that names the option."""
    try:
        return reader(text.strip())
    except quantities.Unreadable as error:
        raise BadInput(Problem(error.what, option, error.remedy)) from error
