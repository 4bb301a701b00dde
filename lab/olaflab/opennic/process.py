"""A simulated card's process: ``python -m olaflab.opennic.process STATE``."""

import threading
from pathlib import Path

import click

from olafctl.errors import OlafError
from olafctl.targets import deployment, main_thread
from olafctl.targets.opennic.process import read_settings
from olafctl.targets.processes import say_ready
from olaflab.opennic.card import SimulatedCard
from olaflab.opennic.front import open_front


@click.command()
@click.argument("state", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--ready-fd", type=int)
def main(state: Path, ready_fd: int | None) -> None:
    """Run the simulated card of the deployment in STATE."""
    recorded = deployment.load(state)
    if recorded is None:
        raise click.ClickException(f"{state} holds no deployment")
    try:
        fronts = [open_front(port, state) for port in recorded.ports]
        card = SimulatedCard(read_settings(state).build, fronts, state)
    except (OlafError, OSError) as error:
        raise click.ClickException(str(error)) from error

    def run() -> None:
        try:
            card.run()
        except OlafError as error:
            # As a card that is gone: its sockets close, and the agent says so.
            print(error, flush=True)
        card.close()

    simulation = threading.Thread(target=run, name="box")
    simulation.start()

    def close() -> None:
        card.stop()
        simulation.join()

    main_thread.serve(lambda: say_ready(ready_fd, None), close)


if __name__ == "__main__":
    main()
