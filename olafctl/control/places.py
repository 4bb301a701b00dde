"""Hosts that move: until they have, VNP4₁ believes their addresses at the old port and at the new one."""

from collections.abc import Hashable, Iterator
from dataclasses import replace

from olafctl.control.pipeline import ASSIGN, ELSEWHERE, PARAMETER_SERVERS, VNP4_1, WORKERS, block_of
from olafctl.control.state import DeviceState, PipelineState
from olafctl.wire.layouts import ANY_PORT
from olafswitch.p4runtime.entities import TableEntry


def believe_both(actual: PipelineState, wanted: PipelineState) -> PipelineState:
    """Return ``wanted``, with moving addresses believed at their old place, too.

    A worker that goes to another engine stays known at its old engine, if it is in the same job.
    """
    jobs = {(key, _job_of(entry)) for _, key, entry in _placed_entries(wanted) if entry.action == ASSIGN}
    devices = dict(wanted.devices)
    for name, key, entry in _placed_entries(wanted):
        known = actual.devices.get(name, DeviceState()).entries.get(key)
        if known is None or known.params["port"] == entry.params["port"]:
            continue
        if known.action == entry.action != ELSEWHERE:
            kept = replace(entry, params={**entry.params, "port": ANY_PORT})
        elif known.action == ASSIGN and (key, _job_of(known)) in jobs:
            kept = known
        else:
            continue
        devices[name] = replace(devices[name], entries={**devices[name].entries, key: kept})
    return replace(wanted, devices=devices)


def _placed_entries(state: PipelineState) -> Iterator[tuple[str, Hashable, TableEntry]]:
    """Yield every entry that gives an address's place, with its device and key."""
    for name, device in state.devices.items():
        if block_of(name) == VNP4_1:
            for key, entry in device.entries.items():
                if entry.table in (WORKERS, PARAMETER_SERVERS):
                    yield name, key, entry


def _job_of(entry: TableEntry) -> tuple[tuple[str, int], ...]:
    """Return a worker's entry without its port."""
    return tuple(sorted((name, value) for name, value in entry.params.items() if name != "port"))
