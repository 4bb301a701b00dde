"""``olafctl status``: show a deployment, its state and its counts."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import click

from olafctl.cli import naming
from olafctl.cli.asking import etcd_options
from olafswitch.console.output import count_noun, json_option, print_json, print_lines, print_table


@click.command()
@naming.deployment_option
@etcd_options
@json_option("Print everything as JSON, every entry and counter.")
@click.pass_context
def command(
    context: click.Context,
    deployment: str | None,
    endpoints: str | None,
    etcd_certs: Path | None,
    as_json: bool,
) -> None:
    """Show a deployment: ports, tables, groups, queue and counters.

    Exit code 1 when it does not run, or is not as it was deployed.
    """
    from olafctl.control.status import is_healthy, read_status
    from olafctl.control.store import pick_store
    from olafctl.daemon.keeping import kept_by, kept_in, open_keeper

    store = pick_store(deployment)
    with open_keeper(store.folder) as daemon:
        if daemon is not None:
            report = read_status(store, kept_by(daemon, store.folder.name))
        else:
            report = read_status(store, kept_in(store, endpoints, etcd_certs) if endpoints else None)
    if as_json:
        print_json(report)
    else:
        _show_status(report)
    context.exit(0 if is_healthy(report) else 1)


def _show_status(report: dict[str, Any]) -> None:
    state = "runs" if report["running"] else "does not run"
    workers = sum(len(cluster["workers"]) for cluster in report["clusters"])
    servers = len(report["parameter_servers"])
    print_lines(f"{report['name']} ({report['testbed']}) {state} on {report['target']}")
    clusters = count_noun(len(report["clusters"]), "cluster")
    print_lines(f"{clusters}, {count_noun(workers, 'worker')}, {count_noun(servers, 'parameter server')}")
    if report["daemon"]:
        print_lines(f"the daemon at {report['daemon']} keeps its membership")
    if unread := report["membership_unread"]:
        kept = f"its membership is kept in {unread}, and no daemon runs here:"
        print_lines(f"the store cannot be read: {unread}" if report["daemon"] else kept)
        print_lines("whether the tables are equal to it is not known (olafctl daemon, or status --etcd)")
    if report["damaged"]:
        print_lines("what it wrote down about itself is damaged: olafctl deploy it again")
    if report["changing"]:
        print_lines("another olafctl is changing it right now")
    for machine in report["machines"]:
        if not machine["running"]:
            how = machine["away"] or "runs nothing of it"
            print_lines(f"machine {machine['name']} at {machine['address']}: {how}")
    for process in report["died"]:
        print_lines(f"died: {process}")
    for process in report["stopped"]:
        print_lines(f"stopped: {process}")
    if report["interrupted"]:
        print_lines("a deploy was interrupted: run it again, or destroy")
    if not report["running"]:
        return
    print_table(
        "processes",
        ("pid", "up", "command"),
        [(p["pid"], str(timedelta(seconds=p["uptime_seconds"])), p["command"]) for p in report["processes"]],
    )
    print_table(
        "P4Runtime devices",
        ("device", "id", "address"),
        [(name, held["device_id"], held["address"]) for name, held in report["devices"].items()],
    )
    print_table(
        "ports", ("port", "name", "transport", "host side", "frames in", "out", "dropped"), _port_rows(report)
    )
    for port, how in report["steering"].items():
        print_lines(f"port {port}: the card gives shards their frames {how}")
    for engine, shards in report["shards"].items():
        spent = [(each["counters"], each["processor_seconds"]) for each in shards]
        rows = [(number, of["in_updates"], of["out_updates"], f"{seconds:.1f} s")
                for number, (of, seconds) in enumerate(spent)]  # fmt: skip
        print_table(f"shards of {engine}", ("shard", "updates in", "out", "processor time"), rows)
    if report["links"]:
        ends = ("from", "port", "to", "port", "frames up", "frames down", "dropped upwards")
        print_table("links between engines", ends, [_link_row(link) for link in report["links"]])
    if report["hosts"]:
        rows = [(host["name"], host["ip"], host["behind"], host["namespace"]) for host in report["hosts"]]
        print_table("hosts", ("host", "address", "behind", "namespace"), rows)
    print_table("tables", ("device", "table", "entries", "of", "packets", "missed"), _table_rows(report))
    if refused := _refused_rows(report):
        print_table("refused frames", ("device", "reason", "frames"), refused)
    print_table("groups", ("device", "groups", "replicas"), _group_rows(report))
    for engine, queue in report["queues"].items():
        place = f"{engine}/" if len(report["queues"]) > 1 else ""
        _show_queue(place, queue["registers"], _index_rows(queue["indices"], report["clusters"]))
    for line in report["unplugged"]:
        print_lines(line)
    for line in report["drift"]:
        print_lines(f"differs from what was deployed: {line}")


def _show_queue(engine: str, registers: dict[str, int], indices: list[tuple[Any, ...]]) -> None:
    from olafctl.control.show import show_register

    shown = [
        (name, show_register(name, value))
        for name, value in registers.items()
        if value or not _is_counter(name)
    ]
    print_table(f"{engine}queue", ("register", "value"), shown)
    print_table(f"{engine}indices", ("indices", "cluster", "segments", "settings"), indices)


def _link_row(link: dict[str, Any]) -> tuple[Any, ...]:
    count = link["counters"]
    frames = [count.get(name, "") for name in ("tx_frames", "rx_frames", "tx_dropped")]
    return (link["from"], link["port"], link["to"], link["peer"], *frames)


def _port_rows(report: dict[str, Any]) -> list[tuple[Any, ...]]:
    rows = []
    for port in report["ports"]:
        where = f"{port['path']} in {port['namespace']}" if port["namespace"] else port["path"]
        count = port["counters"]
        dropped = count.get("rx_dropped", 0) + count.get("tx_dropped", 0) if count else ""
        frames = (count.get("rx_frames", ""), count.get("tx_frames", ""), dropped)
        rows.append((port["number"], port["name"], port["transport"], where, *frames))
    return rows


def _table_rows(report: dict[str, Any]) -> list[tuple[Any, ...]]:
    rows = []
    for device, held in report["devices"].items():
        for name, content in held["tables"].items():
            counts = [entry["packets"] for entry in content["entries"]]
            packets = "-" if None in counts else sum(counts)
            missed = content["missed"]["packets"] if content["missed"] else "-"
            rows.append((device, name, len(content["entries"]), content["size"], packets, missed))
    return rows


def _refused_rows(report: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [
        (device, entry["key"].removeprefix("reason "), entry["packets"])
        for device, held in report["devices"].items()
        for entry in held["tables"].get("refusals", {"entries": ()})["entries"]
        if entry["packets"]
    ]


def _index_rows(indices: list[dict[str, Any]], clusters: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return a row for each cluster's indices, as they are; other indices are not in use."""
    from olafctl.control.show import show_indices, show_settings
    from olafctl.queue.settings import IndexRange

    parts = [IndexRange.from_json(part) for part in indices]
    rows = []
    for cluster in clusters:
        first, last = cluster["first"], cluster["first"] + cluster["segments"] - 1
        for part in parts:
            if part.first <= last and first <= part.last:
                begin, end = max(part.first, first), min(part.last, last)
                shown = show_indices(begin, end), cluster["name"], end - begin + 1
                rows.append((*shown, show_settings(part.settings)))
    return rows


def _group_rows(report: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [
        (device, len(held["groups"]), sum(len(replicas) for replicas in held["groups"].values()))
        for device, held in report["devices"].items()
        if held["groups"]
    ]


def _is_counter(name: str) -> bool:
    from olafctl.queue.registers import BY_NAME, Access

    return name in BY_NAME and BY_NAME[name].access is Access.COUNTER
