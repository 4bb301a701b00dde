"""The agent's process of a deployment: ``python -m olafctl.targets.opennic.process STATE``."""

import json
from dataclasses import asdict
from pathlib import Path

import click

from olafctl import log
from olafctl.errors import OlafError
from olafctl.p4runtime import address as addresses
from olafctl.targets import main_thread
from olafctl.targets.opennic.service import CardService, Settings
from olafctl.targets.processes import say_ready
from olafctl.targets.queue_process import SOCKET

SETTINGS = "card.json"
GRPC_SOCKET = "p4runtime.sock"


def write_settings(state: Path, settings: Settings) -> None:
    """Write down what the process of the deployment in ``state`` is to serve."""
    (state / SETTINGS).write_text(json.dumps(asdict(settings), default=str, indent=1) + "\n")


def read_settings(state: Path) -> Settings:
    """What :func:`write_settings` wrote."""
    found = json.loads((state / SETTINGS).read_text())
    return Settings(
        found["card"], Path(found["build"]), Path(found["drivers"]), found["ports"], found["interface"]
    )


@click.command()
@click.argument("state", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--ready-fd", type=int)
def main(state: Path, ready_fd: int | None) -> None:
    """Serve the card of the deployment in STATE."""
    log.configure()
    try:
        service = CardService(
            read_settings(state), addresses.of_socket(state.resolve() / GRPC_SOCKET), state / SOCKET
        )
    except (OlafError, OSError) as error:
        raise click.ClickException(str(error)) from error
    main_thread.serve(lambda: say_ready(ready_fd, service.address), service.close)


if __name__ == "__main__":
    main()
