"""What every verb that talks to the daemon shares: how to reach it, and how to show its answers."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from google.protobuf.json_format import MessageToDict

from olafctl.daemon.api.client import ADDRESS, Client

_Command = Callable[..., Any]


def connection_options(command: _Command) -> _Command:
    """The options ``--daemon`` and ``--deployment``; the verb is given ``client`` and ``deployment``."""

    @click.option("--daemon", "address", metavar="ADDRESS", help=f"Where it listens.  [default: ${ADDRESS}]")
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


def as_dict(message: Any) -> dict[str, Any]:
    """A message as JSON has it, every field of its own included."""
    shown: dict[str, Any] = MessageToDict(
        message, preserving_proto_field_name=True, including_default_value_fields=True
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
