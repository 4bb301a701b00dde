"""``olafctl top``: the live state of the daemon's deployments."""

from typing import TYPE_CHECKING, Any

import click

from olafctl.cli.asking import as_dict, connection_options, mode_of
from olafswitch.console.output import json_option, make_grid, print_json, print_lines
from olafswitch.errors import BadInput, Problem
from olafswitch.terminal import escape_controls

if TYPE_CHECKING:
    from olafctl.control.store import Store
    from olafctl.daemon.api.client import DaemonClient

_SHOWN = 30
_HEAD = ("cluster", "awake", "blocks", "fill", "lag", "waited", "since")
_PLAYER = ("cluster", "version", "lag", "slow", "dead")


@click.command()
@click.option("--every", type=click.FloatRange(0.1), default=1.0, show_default=True, metavar="SECONDS",
              help="Between two looks.")  # fmt: skip
@click.option("--once", is_flag=True, help="Show it once, and end.")
@click.option("--web", type=click.IntRange(0, 65535), metavar="PORT",
              help="Serve it as a page at this port of loopback, where no daemon runs.")  # fmt: skip
@connection_options
@json_option("Print it once as JSON.")
def command(
    client: "DaemonClient", deployment: str, every: float, once: bool, web: int | None, as_json: bool
) -> None:
    """Show clusters, Age-of-Model and the queue as they change.

    With members, P_s and the updates merged, or dropped by cause. P_s is that of workers whose model is as
    fresh as they ask for: min(Q_max/N, 1). Age-of-Model, and how many versions old updates are in
    the mean and at most, is what `olafctl server` measures and reports. `olaflab train` reports
    each head's last update, too: actors awake, the ring's fill, lag, the learner's wait. A publisher of
    weights reports its players: version, versions behind, age. Ends with Ctrl-C.
    """
    import time
    from contextlib import suppress

    from rich.console import Console
    from rich.live import Live

    if web is not None:
        from olafctl.daemon.keeping import LocalClient

        if not isinstance(client, LocalClient):
            what, remedy = "a daemon keeps it", "start the daemon with --web: it serves the page"
            raise BadInput(Problem(what, deployment, remedy))
        serve_page(client.store, web)
        return
    if as_json:
        print_json([_as_json(each) for each in _read_status(client, deployment)])
        return
    before = _read_status(client, deployment)
    if once:
        Console(highlight=False).print(_draw_screen(before, before, 0.0))
        return
    with suppress(KeyboardInterrupt), Live(_draw_screen(before, before, 0.0), screen=True) as live:
        since = time.monotonic()
        while True:
            time.sleep(every)
            now, at = _read_status(client, deployment), time.monotonic()
            live.update(_draw_screen(before, now, at - since))
            before, since = now, at


def serve_page(store: "Store", port: int) -> None:
    """Serve the page of a deployment that no daemon keeps, until Ctrl-C. Raises OlafError."""
    from olafctl.daemon.operate.audit import default_path
    from olafctl.daemon.web.look import Unkept
    from olafctl.daemon.web.looks import Looks
    from olafctl.daemon.web.server import Web
    from olafswitch import main_thread

    name, watched = store.folder.name, Unkept(store)
    web = Web(Looks(lambda: {name: watched}, default_path()), f"127.0.0.1:{port}")
    main_thread.serve(lambda: print_lines(f"{name} at http://{web.address}/; Ctrl-C ends it"), web.stop)


def _read_status(client: "DaemonClient", deployment: str) -> list[dict[str, Any]]:
    """Return each deployment with its ``queues`` by engine, ``messages`` and ``ages`` (ns) by name."""
    found = []
    for each in client.call("GetStatus", deployment=deployment).deployments:
        answer = client.call("GetQueues", deployment=each.name)
        found.append(
            {
                "status": each,
                "queues": {
                    queue.engine: {count.name: count.value for count in queue.registers}
                    for queue in answer.queues
                },
                "messages": {count.name: count.value for count in answer.messages},
                "ages": {count.name: count.value for count in answer.ages},
                "staleness": {each.cluster: _format_staleness(each) for each in answer.staleness},
                "heads": {
                    each.worker: {name: getattr(each, name) for name in _HEAD} for each in answer.heads
                },
                "players": {
                    each.worker: {name: getattr(each, name) for name in _PLAYER}
                    | {"age": each.age if each.HasField("age") else None}
                    for each in answer.players
                },
            }
        )
    return found


def _as_json(each: dict[str, Any]) -> dict[str, Any]:
    shown = as_dict(each["status"])
    return {
        **shown,
        "queues": {
            engine: {"send_probability": _send_probability(registers), "registers": registers}
            for engine, registers in each["queues"].items()
        },
        "ages_of_model": each["ages"],
        "staleness": each["staleness"],
        "heads": each["heads"],
        "players": each["players"],
        "messages": each["messages"],
    }


def _send_probability(registers: dict[str, int]) -> float | None:
    from olafctl.daemon.operate.metrics import send_probability

    return send_probability(registers) if "slots" in registers else None


def _draw_screen(before: list[dict[str, Any]], now: list[dict[str, Any]], seconds: float) -> Any:
    from rich.console import Group

    earlier = {each["status"].name: each for each in before}
    parts: list[Any] = []
    for each in now:
        parts += _draw_deployment(earlier.get(each["status"].name, each), each, seconds)
    return Group(*parts)


def _draw_deployment(before: dict[str, Any], now: dict[str, Any], seconds: float) -> list[Any]:
    from rich.text import Text

    status, queues = now["status"], now["queues"]
    state = "ready" if status.ready else status.problem or f"follows {status.leader or 'no one at present'}"
    parts: list[Any] = [Text(escape_controls(f"{status.name}: {state}"), style="bold")]
    for engine, registers in queues.items():
        share = _send_probability(registers)
        text = (
            f"queue {registers['occupancy']} of {registers['slots']} slots, N {registers['active_clusters']}"
        )
        place = f"{engine}: " if len(queues) > 1 else ""
        parts.append(Text(escape_controls(f"{place}{text}, P_s {share:.2f}")))
    members: dict[str, int] = {}
    for worker in status.workers:
        members[worker.cluster] = members.get(worker.cluster, 0) + 1
    clusters = [
        [each.name, members.get(each.name, 0), mode_of(as_dict(each)), each.threshold or "all",
         "halted" if each.halted else "", _format_ms(now["ages"].get(each.name)),
         _format_lag(now["staleness"].get(each.name)), each.objective]
        for each in status.clusters
    ]  # fmt: skip
    columns = ["cluster", "members", "mode", "H", "", "AoM ms", "stale", "objective"]
    parts += _first_of(columns, clusters, "clusters")
    heads = [
        [worker, head["cluster"], head["awake"], head["blocks"], f"{head['fill']:.0%}", head["lag"],
         f"{head['waited']:.2f}", f"{head['since']:.1f}"]
        for worker, head in sorted(now["heads"].items())
    ]  # fmt: skip
    columns = ["head", "cluster", "awake", "blocks", "ring", "lag", "waited s", "last update s ago"]
    parts += _first_of(columns, heads, "heads") if heads else []
    players = [
        [worker, player["cluster"], player["version"], player["lag"],
         "" if player["age"] is None else f"{player['age']:.1f}",
         "dead" if player["dead"] else "slow" if player["slow"] else ""]
        for worker, player in sorted(now["players"].items())
    ]  # fmt: skip
    columns = ["player", "cluster", "version", "behind", "age s", ""]
    parts += _first_of(columns, players, "players") if players else []
    for engine, registers in queues.items():
        earlier = before["queues"].get(engine, {})
        causes = [
            [name, value, _format_rate(value - earlier.get(name, value), seconds)]
            for name, value in registers.items()
            if name in ("in_updates", "out_updates", "appended", "merged")
            or (name.startswith(("replaced_", "dropped_")) and value)
        ]
        place = f" at {engine}" if len(queues) > 1 else ""
        parts.append(make_grid([f"updates{place}", "in all", "per second"], causes))
    messages = [
        [name, value, _format_rate(value - before["messages"].get(name, value), seconds)]
        for name, value in sorted(now["messages"].items())
    ]
    if messages:
        parts.append(make_grid(["control messages", "in all", "per second"], messages))
    return parts


def _first_of(columns: list[str], rows: list[list[Any]], what: str) -> list[Any]:
    """Return the rows that fit a screen."""
    from rich.text import Text

    parts: list[Any] = [make_grid(columns, rows[:_SHOWN])]
    return parts if len(rows) <= _SHOWN else [*parts, Text(f"and {len(rows) - _SHOWN} more {what}")]


def _format_ms(age: int | None) -> str:
    return "" if age is None else f"{age / 1e6:.1f}"


def _format_lag(staleness: dict[str, Any] | None) -> str:
    """Return the mean and the largest staleness, in versions."""
    return (
        ""
        if staleness is None or staleness["mean"] is None
        else f"{staleness['mean']:.1f} ≤ {staleness['max']}"
    )


def _format_staleness(reported: Any) -> dict[str, Any]:
    """Return the staleness as `olafctl server` reports it."""
    bounds = (0, *(1 << bit for bit in range(len(reported.bins))))
    return {
        "mean": reported.total / reported.updates if reported.updates else None,
        "max": reported.largest,
        "merged": reported.merged,
        "oldest": reported.oldest,
        "histogram": {str(bound): count for bound, count in zip(bounds, reported.bins, strict=False)},
    }


def _format_rate(change: int, seconds: float) -> str:
    return f"{change / seconds:.0f}" if seconds else ""
