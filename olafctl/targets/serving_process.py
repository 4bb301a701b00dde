"""The command line of a deployment's process."""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import click

from olafctl.targets.processes import say_ready
from olafswitch import log, main_thread
from olafswitch.console.output import print_error
from olafswitch.errors import EXIT_FAILED, OlafError


def run_process(serving: Callable[[Path], AbstractContextManager[Any]]) -> None:
    """Run ``python -m MODULE STATE``, which serves the deployment in STATE inside ``serving`` and reports its
    value to the process that waits for this one to be ready."""

    @click.command()
    @click.argument("state", type=click.Path(path_type=Path, exists=True, file_okay=False))
    @click.option("--ready-fd", type=int)
    def main(state: Path, ready_fd: int | None) -> None:
        log.configure()
        with ExitStack() as stack:
            try:
                document = stack.enter_context(serving(state))
            except (OlafError, OSError) as error:
                print_error(error if isinstance(error, OlafError) else OlafError(str(error)))
                sys.exit(EXIT_FAILED)
            main_thread.serve(lambda: say_ready(ready_fd, document), lambda: None)

    main()
