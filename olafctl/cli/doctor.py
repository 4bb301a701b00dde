"""``olafctl doctor``: the SDK's ``olaf-doctor``, on a host that has both."""

import click

from olafswitch.errors import importing


@click.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="SERVER [OPTIONS]")
@click.pass_context
def command(context: click.Context, words: tuple[str, ...]) -> None:
    """Find out why a worker on this host cannot train with SERVER.

    As the SDK's olaf-doctor (pip install ./sdk), which a worker's host has without olafctl.
    """
    with importing("the doctor"):
        from olaf.doctor.__main__ import main
    context.exit(main(words))
