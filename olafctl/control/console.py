"""What an operator sees of long work: each step, as it begins, on the standard error."""

import time
from contextlib import suppress

import click

_START = time.monotonic()


def tell(step: str) -> None:
    """Show a step with the seconds since the command began.

    Nobody listening any more (a closed pipe, a full disk) is no reason to stop half-way.
    """
    with suppress(OSError):
        click.echo(f"{time.monotonic() - _START:6.1f} s  {step}", err=True)
