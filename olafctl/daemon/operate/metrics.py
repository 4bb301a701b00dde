"""Metrics of the daemon for Prometheus; ``templates/dashboard.json`` shows them in Grafana."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import accumulate
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from olafctl.daemon.api.calls import Owned
from olafctl.queue.registers import REGISTERS, Access
from olafctl.wire.layouts import Refusal
from olafswitch.errors import OlafError

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60)
_COUNTERS = frozenset(register.name for register in REGISTERS if register.access is Access.COUNTER)
_STATUS = frozenset(register.name for register in REGISTERS if register.access is Access.STATUS)
_GAUGE, _COUNTER, _HISTOGRAM = GaugeMetricFamily, CounterMetricFamily, HistogramMetricFamily
_FAMILIES = (
    ("ready", _GAUGE, "", "1: the devices hold what they should"),
    ("term", _GAUGE, "", "Term of this leader; 0: it follows"),
    ("revision", _GAUGE, "", "Newest revision of the membership"),
    ("waiting_changes", _GAUGE, "", "Changes that wait for their turn"),
    ("members", _GAUGE, "cluster", "Members of a cluster"),
    ("control_messages", _COUNTER, "outcome", "Control messages by what became of them"),
    ("queue", _COUNTER, "engine counter", "Counters of each engine's queue: olafctl/queue/registers.py"),
    ("queue_status", _GAUGE, "engine register", "Status of each engine's queue: olafctl/queue/registers.py"),
    ("refused_frames", _COUNTER, "engine reason", "Frames that VNP4₁ refused, by why: see docs/threats.md"),
    ("port_carrier", _GAUGE, "port", "1: the cable of a front port is up; 0: it has no carrier"),
    ("queue_slots", _GAUGE, "engine", "Slots of each engine's queue, Q_max"),
    (
        "send_probability", _GAUGE, "engine",
        "P_s = min(Q_max/N, 1) of workers whose model is as fresh as they ask for (OLAF §5)",
    ),
    (
        "age_of_model_seconds", _GAUGE, "cluster",
        "Average Age-of-Model, as the parameter server measures it (olafctl server)",
    ),
    (
        "update_staleness", _HISTOGRAM, "cluster",
        "Versions between the weights of an update and those it meets (olafctl server)",
    ),
    (
        "update_staleness_of_oldest", _COUNTER, "cluster",
        "Of these, updates in frames that carry only the oldest's staleness, which counts for all",
    ),
    ("head_actors_awake", _GAUGE, "cluster worker", "Actors that played for a head's last update at a time"),
    ("head_ring_fill", _GAUGE, "cluster worker", "Share of its ring that was filled when learning began"),
    ("head_lag", _GAUGE, "cluster worker", "Policy versions by which the oldest row was behind"),
    ("head_waited_seconds", _GAUGE, "cluster worker", "For which the learner waited for rows"),
    ("head_silent_seconds", _GAUGE, "cluster worker", "Since a head's last update"),
    ("player_version", _GAUGE, "cluster worker", "Version of the weights that a player plays"),
    ("player_lag", _GAUGE, "cluster worker", "Versions that it is behind the newest one"),
    ("player_age_seconds", _GAUGE, "cluster worker", "Since the version that it plays was published"),
    ("player_slow", _GAUGE, "cluster worker", "1: it is further behind than its publisher waits for"),
    ("player_dead", _GAUGE, "cluster worker", "1: its publisher has not heard of it for some seconds"),
)  # fmt: skip
"""Each family's name, kind, labels besides the deployment, and meaning."""


class Metrics:
    """Metrics that count calls as they end, and read the rest when it is requested."""

    def __init__(self, owned: Mapping[str, Owned]) -> None:
        self._owned = owned
        self._registry = CollectorRegistry()
        self._calls = Counter(
            "olaf_calls", "Calls of the API by how they ended", ["call", "outcome"], registry=self._registry
        )
        self._seconds = Histogram(
            "olaf_call_seconds", "How long calls took", ["call"], buckets=_SECONDS, registry=self._registry
        )
        self._strangers = Counter(
            "olaf_failed_logins", "Requests without the right token", registry=self._registry
        )
        self._registry.register(self)

    def count_call(self, call: str, outcome: str, seconds: float) -> None:
        """Count a call of the API that has ended."""
        self._calls.labels(call, outcome).inc()
        self._seconds.labels(call).observe(seconds)

    def count_stranger(self) -> None:
        """Count a request that came without the right token."""
        self._strangers.inc()

    def expose_metrics(self) -> bytes:
        """Return all metrics in Prometheus' format."""
        return bytes(generate_latest(self._registry))

    def collect(self) -> Iterator[Metric]:
        """Yield the current values. Called by the registry."""
        made: dict[str, Any] = {
            name: kind(f"olaf_{name}", meaning, labels=["deployment", *labels.split()])
            for name, kind, labels, meaning in _FAMILIES
        }

        def add(family: str, *labels: str, **value: Any) -> None:
            made[family].add_metric(labels, **value)

        for name, each in list(self._owned.items()):
            status = each.controller.status()
            add("ready", name, value=status.ready)
            add("term", name, value=status.term)
            add("revision", name, value=status.revision)
            add("waiting_changes", name, value=each.controller.waiting_changes)
            sizes = {cluster["name"]: 0 for cluster in status.clusters}
            for member in status.members:
                sizes[member["cluster"]] += 1
            for cluster, size in sizes.items():
                add("members", name, cluster, value=size)
            for cluster, nanoseconds in each.ages.recent_reports().items():
                add("age_of_model_seconds", name, cluster, value=nanoseconds / 1e9)
            for cluster, found in each.staleness.recent_reports().items():
                bounds = ["0", *(str(1 << bit) for bit in range(len(found.bins) - 1))]
                buckets = [*zip(bounds, accumulate(found.bins), strict=True), ("+Inf", found.updates)]
                add("update_staleness", name, cluster, buckets=buckets, sum_value=found.total)
                add("update_staleness_of_oldest", name, cluster, value=found.oldest)
            for worker, head in each.heads.recent_reports().items():
                for figure, value in (
                    ("actors_awake", head.awake), ("ring_fill", head.fill), ("lag", head.lag),
                    ("waited_seconds", head.waited), ("silent_seconds", head.since),
                ):  # fmt: skip
                    add(f"head_{figure}", name, head.cluster, worker, value=value)
            for worker, player in each.players.recent_reports().items():
                for figure in ("version", "lag", "slow", "dead"):
                    add(f"player_{figure}", name, player.cluster, worker, value=getattr(player, figure))
                if player.HasField("age"):
                    add("player_age_seconds", name, player.cluster, worker, value=player.age)
            for outcome, count in dict(each.messages).items():
                add("control_messages", name, outcome, value=count)
            queues: Mapping[str, Mapping[str, int]] = {}
            with suppress(OlafError):
                queues = each.controller.southbound.queue_registers()
            carriers: Mapping[int, bool] = {}
            with suppress(OlafError):
                carriers = each.controller.southbound.read_carriers()
            for port, up in carriers.items():
                add("port_carrier", name, str(port), value=up)
            refusals: Mapping[str, Mapping[Refusal, int]] = {}
            with suppress(OlafError):
                refusals = each.controller.southbound.frames_refused()
            for place, reasons in refusals.items():
                for reason, packets in reasons.items():
                    add("refused_frames", name, place, reason.name.lower(), value=packets)
            for place, registers in queues.items():
                for register, value in registers.items():
                    if register in _COUNTERS:
                        add("queue", name, place, register, value=value)
                    elif register in _STATUS:
                        add("queue_status", name, place, register, value=value)
                if "slots" in registers:
                    add("queue_slots", name, place, value=registers["slots"])
                    add("send_probability", name, place, value=send_probability(registers))
        yield from made.values()


def send_probability(registers: Mapping[str, int]) -> float:
    """Return P_s of OLAF §5 without its term for freshness, which only workers know."""
    return min(registers["slots"] / max(registers["active_clusters"], 1), 1.0)
