"""What an operator sees of long work: each step, as it begins, on the standard error."""

import time

import click

_START = time.monotonic()


def tell(step: str) -> None:
    """Show a step with the seconds since the command began."""
    click.echo(f"{time.monotonic() - _START:6.1f} s  {step}", err=True)
