"""Options and output of every verb that talks to the daemon."""

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

import click
from google.protobuf.json_format import MessageToDict

from olafctl.cli import naming
from olafctl.control.store import all_names, pick_store
from olafctl.daemon.api.client import ADDRESS, DaemonClient, daemon_listens
from olafctl.daemon.keeping import open_keeper
from olafswitch.console.output import json_option, show_result

if TYPE_CHECKING:
    from olafctl.daemon.keeping import LocalClient

_Command = Callable[..., Any]
_Decorator = Callable[[_Command], Any]
Call = Callable[..., Any]
"""Calls the daemon, or its local replacement, with a call's name and the fields of its request."""
Caller = Union[DaemonClient, "LocalClient"]
"""A caller of a daemon, or of this process."""


def connection_options(command: _Command) -> _Command:
    """Add the options ``--daemon`` and ``--deployment``; the verb gets ``client`` and ``deployment``."""

    @click.option(
        "--daemon",
        "address",
        metavar="ADDRESS",
        help=f"Where the daemon listens.  [default: ${ADDRESS}, else the one that keeps the deployment; where"
        " none does, the command does it itself]",
    )
    @naming.deployment_option
    @functools.wraps(command)
    def connected(*args: Any, address: str | None, deployment: str | None, **options: Any) -> Any:
        with reach_deployment(address, deployment or "") as (client, name):
            return command(*args, client=client, deployment=name, **options)

    return connected


def add_verb(
    group: click.Group,
    *parameters: _Decorator,
    json_help: str,
    name: str | None = None,
    text: Callable[[Any], str] | None = None,
) -> _Decorator:
    """Return a decorator for a verb of ``group`` with these parameters and those of each verb of the daemon.

    The verb gets ``call``, which calls the daemon about the deployment. The message that it returns is
    printed: as JSON, which ``json_help`` describes, else as ``text`` formats it (by default, all fields).
    """

    def verb(command: _Command) -> click.Command:
        @functools.wraps(command)
        def perform(*args: Any, client: Caller, deployment: str, as_json: bool, **options: Any) -> None:
            call = functools.partial(client.call, deployment=deployment)
            message = command(*args, call=call, **options)
            document = as_dict(message)
            show_result(
                document, text(message) if text else f"{message.name}: {describe_row(document)}", as_json
            )

        decorated: _Command = perform
        for parameter in reversed((*parameters, connection_options, json_option(json_help))):
            decorated = parameter(decorated)
        return group.command(name)(decorated)

    return verb


@contextmanager
def reach_deployment(address: str | None, deployment: str) -> Iterator[tuple[Caller, str]]:
    """Yield a caller for a deployment, and its name; without a daemon the caller acts in this process.

    Raises OlafError.
    """
    if address or ADDRESS in os.environ or (not deployment and len(all_names()) > 1 and daemon_listens()):
        with DaemonClient(address) as client:
            yield client, deployment
        return
    from olafctl.daemon.keeping import LocalClient

    store = pick_store(deployment or None)
    with open_keeper(store.folder) as daemon:
        yield daemon or LocalClient(store), store.folder.name


def etcd_options(command: _Command) -> _Command:
    """Add the options ``--etcd`` and ``--etcd-certs``, given as ``endpoints`` and ``etcd_certs``."""
    command = click.option(
        "--etcd-certs",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="Folder with ca.pem, client.pem and client.key for etcd; needed beyond loopback.",
    )(command)
    meaning = "The etcd by which controllers share it.  [default: this machine's own store]"
    return click.option("--etcd", "endpoints", metavar="HOST:PORT,...", help=meaning)(command)


def as_dict(message: Any) -> dict[str, Any]:
    """Return a message as JSON, with every field; a cluster's mode and reward rule are None where each
    engine's own apply."""
    shown: dict[str, Any] = MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
    _complete_fields(shown)
    return shown


def _complete_fields(shown: Any) -> None:
    """Write enumerations in lower case, and absent fields as None, in a message and those inside it."""
    for value in shown.values() if isinstance(shown, dict) else shown:
        if isinstance(value, dict | list):
            _complete_fields(value)
    if not isinstance(shown, dict):
        return
    for name in ("mode", "kind"):
        if isinstance(shown.get(name), str):
            shown[name] = shown[name].lower()
    if shown.get("mode") == "engine_mode":
        shown["mode"] = None
    if "reward_off" in shown:
        off = shown.pop("reward_off")
        shown["reward_threshold"] = "off" if off else shown.get("reward_threshold")
        shown.setdefault("staleness_bound", None)


def mode_of(cluster: dict[str, Any]) -> str:
    """Return a cluster's mode for people."""
    return cluster["mode"] or "the engine's"


def describe_row(row: dict[str, Any]) -> str:
    """Return a message's fields on one line, without fields that are empty or off."""
    off = ("values", "threshold", "period", "lease", "worker_id")
    return ", ".join(
        name if value is True else f"{name} {value}"
        for name, value in row.items()
        if value not in ("", None)
        and value is not False
        and not (name in off and not float(value))
        and name != "name"
    )
