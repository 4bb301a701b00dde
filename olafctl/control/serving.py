"""The SDK's parameter server for a testbed's clusters."""

import inspect
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from olaf import ParameterServer
from olaf.errors import OlafError as SdkError
from olaf.policies import POLICIES, Policy, PolicyMaker
from olaf.transport.port import Port

from olafctl.membership.model import Cluster, Host, Kind
from olafctl.testbed.model import Testbed
from olafctl.wire.geometry import slot_values
from olafswitch.errors import BadInput, MissingTool, Problem


def make_policy(name: str, rate: float, options: Mapping[str, float | str | None]) -> PolicyMaker:
    """Return the policy ``name`` with γ = ``rate`` and those of ``options`` that are not None.

    Raises BadInput for a policy that does not exist, an option of another policy, and values that the policy
    refuses.
    """
    if name not in POLICIES:
        raise BadInput(Problem("does not exist", f"--policy {name}", f"choose one of {', '.join(POLICIES)}"))
    given: dict[str, Any] = {option: value for option, value in options.items() if value is not None}
    for option in given:
        if option not in _policy_parameters(name):
            owners = [other for other in POLICIES if option in _policy_parameters(other)]
            what = f"is of the policy {' or '.join(owners)}"
            raise BadInput(Problem(what, f"--{option}", f"add --policy {owners[0]}"))
    if name == "periodic" and not given:
        raise BadInput(Problem("has no period", "--policy periodic", "give --updates, --seconds or both"))
    make: Callable[..., Policy] = partial(POLICIES[name], rate=rate, **given)
    try:
        make(np.zeros(1, np.float32))
    except ValueError as error:
        raise BadInput(Problem(str(error), f"--policy {name}")) from error
    except ImportError as error:
        raise MissingTool(Problem(f"an optimiser needs {error.name}", remedy="pip install torch")) from error
    return make


def _policy_parameters(name: str) -> Set[str]:
    return inspect.signature(POLICIES[name]).parameters.keys()


def served_clusters(testbed: Testbed) -> tuple[Cluster, ...]:
    """Return the clusters that need a parameter server: those of players, and those whose updates an engine
    sums, do not."""
    return tuple(
        cluster
        for cluster in testbed.clusters
        if not testbed.mode_of(cluster).sums and all(each.kind is not Kind.PLAYER for each in cluster.workers)
    )


def host_of(testbed: Testbed, name: str | None) -> Host:
    """Return the testbed's parameter server ``name``; without a name, its only one. Raises BadInput."""
    servers = {server.name: server for server in testbed.parameter_servers}
    if name is None and len(servers) == 1:
        return testbed.parameter_servers[0]
    if name is None or name not in servers:
        what = (
            "there are several parameter servers"
            if name is None
            else f"parameter server {name} does not exist"
        )
        raise BadInput(Problem(what, testbed.name, f"give --name: {', '.join(servers)}"))
    return servers[name]


def parameter_server(
    testbed: Testbed | None,
    listen: str,
    make: PolicyMaker,
    *,
    port: Port | None = None,
    checkpoint: Path | None = None,
    every: float = 30.0,
) -> ParameterServer:
    """Return a parameter server at ``listen`` (or ``port``) for a testbed's clusters behind its engine.

    Without a testbed it serves any worker, all as one cluster, and no engine copies its ACKs. Raises
    BadInput for an address that cannot be used or a checkpoint that cannot be continued from.
    """
    behind: dict[str, Any] = {}
    if testbed is not None:
        members, epochs, divisions = read_membership(served_clusters(testbed))
        behind = {"members": members, "epochs": epochs, "divisions": divisions, "multicast": True}
        behind["slot"] = slot_values(testbed.beats)
    try:
        return ParameterServer(listen, policy=make, checkpoint=checkpoint, every=every, port=port, **behind)
    except SdkError as error:
        raise BadInput(Problem(str(error), "server")) from error
    except OSError as error:
        what = error.strerror or str(error)
        raise BadInput(Problem(what, "server", "give --listen an address of this machine")) from error


def read_membership(clusters: Sequence[Cluster]) -> tuple[dict[str, str], dict[str, int], dict[str, int]]:
    """Return the cluster of each worker by its address, and each cluster's epoch and segments."""
    members = {str(worker.ip): cluster.name for cluster in clusters for worker in cluster.workers}
    epochs = {cluster.name: cluster.epoch for cluster in clusters}
    return members, epochs, {cluster.name: cluster.segments for cluster in clusters}


def read_figures(server: ParameterServer, cluster: str) -> dict[str, Any]:
    """Return the counts of a cluster's frames, their staleness, its versions, and its Age-of-Model in
    seconds."""
    versions, counters = server.versions(cluster), server.counters(cluster)
    return {
        "cluster": cluster,
        **vars(counters),
        "staleness": counters.staleness.figures(),
        "versions": versions,
        "age_of_model": server.age_of_model(cluster),
    }


def make_reports(server: ParameterServer) -> dict[str, Any]:
    """Return the clusters' figures for a daemon: the fields of ReportAges."""
    ages, staleness = [], []
    for cluster in server.clusters:
        with suppress(KeyError):  # it was deleted just now
            age, stale = server.age_of_model(cluster), server.counters(cluster).staleness
            ages += [] if age is None else [{"name": cluster, "value": round(age * 1e9)}]
            staleness.append({"cluster": cluster, **vars(stale)})
    return {"ages": ages, "staleness": staleness}
