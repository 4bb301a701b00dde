"""The agent's process of a deployment: ``python -m olafctl.targets.opennic.process STATE``."""

import json
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path

from olafctl.network.claims import Claims
from olafctl.targets import deployment, serving_process
from olafctl.targets.opennic.service import CardService, Settings
from olafctl.targets.queue_process import SOCKET
from olafswitch.p4runtime import address as addresses

SETTINGS = "card.json"
GRPC_SOCKET = "p4runtime.sock"


def write_settings(state: Path, settings: Settings) -> None:
    """Write down the settings of the process of the deployment in ``state``."""
    (state / SETTINGS).write_text(json.dumps(asdict(settings), default=str, indent=1) + "\n")


def read_settings(state: Path) -> Settings:
    """Return what :func:`write_settings` wrote."""
    found = json.loads((state / SETTINGS).read_text())
    return Settings(**{**found, "build": Path(found["build"])})


def claim_of(card: str) -> str:
    """Return the name of a card among the resources that only one deployment at a time may have."""
    return f"card {os.path.realpath(card) if os.sep in card else card}"


def undo_deployment(state: Path) -> None:
    """See :func:`olafctl.targets.deployment.undo_deployment`."""
    deployment.undo_deployment(state)
    (state / SETTINGS).unlink(missing_ok=True)


@contextmanager
def serve_card(state: Path) -> Iterator[str]:
    """Serve the card of the deployment in ``state``, and yield where it serves P4Runtime. Raises OlafError or
    OSError."""
    address = addresses.of_socket(state.resolve() / GRPC_SOCKET)
    settings = read_settings(state)
    claims = Claims()
    claims.take([claim_of(settings.card)])
    with closing(CardService(settings, address, state / SOCKET)) as service:
        yield service.address


if __name__ == "__main__":
    serving_process.run_process(serve_card)
