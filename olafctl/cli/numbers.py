"""Numbers that options take."""

import math

import click


def finite(context: click.Context, option: click.Parameter, value: float | None) -> float | None:
    """A click callback: refuses nan and inf, which a range lets through."""
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"{value} is not a finite number", context, option)
    return value
