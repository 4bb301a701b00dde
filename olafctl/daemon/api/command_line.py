"""What every verb that talks to the daemon shares: how to reach it, and how to show its answers."""

import functools
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from google.protobuf.json_format import MessageToDict

from olafctl.daemon.api.client import ADDRESS, Client
from olafctl.errors import OlafError

_Command = Callable[..., Any]
_COMPLETION_SECONDS = 2.0


def connection_options(command: _Command) -> _Command:
    """The options ``--daemon`` and ``--deployment``; the verb is given ``client`` and ``deployment``."""

    @click.option(
        "--daemon",
        "address",
        metavar="ADDRESS",
        help=f"Where the daemon listens.  [default: ${ADDRESS}, else on this machine]",
    )
    @click.option("--deployment", metavar="NAME", default="", help="The deployment, when it owns several.")
    @functools.wraps(command)
    def connected(*args: Any, address: str | None, **options: Any) -> Any:
        with Client(address) as client:
            return command(*args, client=client, **options)

    return connected


def etcd_options(command: _Command) -> _Command:
    """The options ``--etcd`` and ``--etcd-certs``, given as ``endpoints`` and ``etcd_certs``."""
    command = click.option(
        "--etcd-certs",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="Folder with ca.pem, client.pem and client.key for etcd; needed beyond loopback.",
    )(command)
    meaning = "The etcd by which controllers share it.  [default: this machine's own store]"
    return click.option("--etcd", "endpoints", metavar="HOST:PORT,...", help=meaning)(command)


def cluster_names(context: click.Context, argument: click.Parameter, begun: str) -> list[str]:
    """Clusters whose names begin so, for the shell to complete."""
    return _completed("clusters", begun)


def worker_names(context: click.Context, argument: click.Parameter, begun: str) -> list[str]:
    """Workers whose names begin so, for the shell to complete."""
    return _completed("workers", begun)


def _completed(kind: str, begun: str) -> list[str]:
    # Without a daemon nothing is completed, and no error is shown in the middle of a command line.
    with suppress(OlafError), Client(timeout=_COMPLETION_SECONDS) as client:
        rows = [row for each in client.call("GetStatus").deployments for row in getattr(each, kind)]
        return sorted(row.name for row in rows if row.name.startswith(begun))
    return []


def as_dict(message: Any) -> dict[str, Any]:
    """A message as JSON has it, every field of its own included."""
    shown: dict[str, Any] = MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
    for name in ("mode", "kind"):
        if isinstance(shown.get(name), str):
            shown[name] = shown[name].lower()
    return shown


def line(row: dict[str, Any]) -> str:
    """A message's fields on one line, without what is empty."""
    return ", ".join(
        f"{name} {value}" for name, value in row.items() if value not in ("", None) and name != "name"
    )
