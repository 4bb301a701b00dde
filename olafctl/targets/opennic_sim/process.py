"""A simulated card's process: ``python -m olafctl.targets.opennic_sim.process STATE``."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from olafctl.targets import deployment, serving_process
from olafctl.targets.opennic.process import read_settings
from olafctl.targets.opennic_sim.card import OpennicSimulation, SimulatedCard, Simulation
from olafctl.targets.opennic_sim.front import open_front
from olafswitch.console.output import print_error
from olafswitch.errors import OlafError


@contextmanager
def serve_simulation(
    state: Path, simulate: Callable[[Path, int], Simulation] = OpennicSimulation
) -> Iterator[None]:
    """Run the simulated card of the deployment in ``state``, made of its build and its number of ports.

    Raises OlafError or OSError.
    """
    fronts = [open_front(port, state) for port in deployment.require_deployment(state).ports]
    build = read_settings(state).build
    card = SimulatedCard(simulate(build, len(fronts)), build, fronts, state)

    def run_card() -> None:
        try:
            card.move_frames()
        except OlafError as error:
            # This is how a failed card behaves: its sockets close, and the agent reports it.
            print_error(error)
        finally:
            card.close()

    simulation = threading.Thread(target=run_card, name="box")
    simulation.start()
    try:
        yield
    finally:
        card.stop()
        simulation.join()


if __name__ == "__main__":
    serving_process.run_process(serve_simulation)
