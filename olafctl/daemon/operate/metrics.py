"""Metrics of the daemon for Prometheus; ``templates/dashboard.json`` shows it in Grafana."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import accumulate

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from olafctl.daemon.api.calls import Owned
from olafctl.errors import OlafError
from olafctl.queue.registers import REGISTERS, Access
from olafctl.wire.layouts import Refusal

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60)
_COUNTERS = frozenset(register.name for register in REGISTERS if register.access is Access.COUNTER)
_STATUS = frozenset(register.name for register in REGISTERS if register.access is Access.STATUS)


class Metrics:
    """Counts calls as they end, and reads the rest when it is asked for."""

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

    def called(self, call: str, outcome: str, seconds: float) -> None:
        """A call of the API has ended."""
        self._calls.labels(call, outcome).inc()
        self._seconds.labels(call).observe(seconds)

    def stranger(self) -> None:
        """A request came without the right token."""
        self._strangers.inc()

    def exposition(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return bytes(generate_latest(self._registry))

    def collect(self) -> Iterator[Metric]:
        """The current values. Called by the registry."""
        deployment, engine = ["deployment"], ["deployment", "engine"]
        ready = GaugeMetricFamily("olaf_ready", "1: the devices hold what they should", labels=deployment)
        term = GaugeMetricFamily("olaf_term", "Term of this leader; 0: it follows", labels=deployment)
        revision = GaugeMetricFamily("olaf_revision", "Newest revision of the membership", labels=deployment)
        waiting = GaugeMetricFamily(
            "olaf_waiting_changes", "Changes that wait for their turn", labels=deployment
        )
        members = GaugeMetricFamily("olaf_members", "Members of a cluster", labels=["deployment", "cluster"])
        counted = CounterMetricFamily(
            "olaf_control_messages",
            "Control messages by what became of them",
            labels=["deployment", "outcome"],
        )
        queue = CounterMetricFamily(
            "olaf_queue",
            "Counters of each engine's queue: see docs/registers.md",
            labels=["deployment", "engine", "counter"],
        )
        now = GaugeMetricFamily(
            "olaf_queue_status",
            "Status of each engine's queue: see docs/registers.md",
            labels=["deployment", "engine", "register"],
        )
        refused = CounterMetricFamily(
            "olaf_refused_frames",
            "Frames that VNP4₁ refused, by why: see docs/threats.md",
            labels=["deployment", "engine", "reason"],
        )
        slots = GaugeMetricFamily("olaf_queue_slots", "Slots of each engine's queue, Q_max", labels=engine)
        share = GaugeMetricFamily(
            "olaf_send_probability",
            "P_s = min(Q_max/N, 1) of workers whose model is as fresh as they ask for (OLAF §5)",
            labels=engine,
        )
        age = GaugeMetricFamily(
            "olaf_age_of_model_seconds",
            "Average Age-of-Model, as the parameter server measures it (olafctl server)",
            labels=["deployment", "cluster"],
        )
        staleness = HistogramMetricFamily(
            "olaf_update_staleness",
            "Versions between the weights of an update and those it meets (olafctl server)",
            labels=["deployment", "cluster"],
        )
        for name, each in list(self._owned.items()):
            status = each.controller.status()
            ready.add_metric([name], status.ready)
            term.add_metric([name], status.term)
            revision.add_metric([name], status.revision)
            waiting.add_metric([name], each.controller.waiting)
            sizes = {cluster["name"]: 0 for cluster in status.clusters}
            for member in status.members:
                sizes[member["cluster"]] += 1
            for cluster, size in sizes.items():
                members.add_metric([name, cluster], size)
            for cluster, nanoseconds in each.ages.known().items():
                age.add_metric([name, cluster], nanoseconds / 1e9)
            for cluster, told in each.staleness.known().items():
                bounds = ["0", *(str(1 << bit) for bit in range(len(told.bins) - 1))]
                buckets = [*zip(bounds, accumulate(told.bins), strict=True), ("+Inf", told.updates)]
                staleness.add_metric([name, cluster], buckets, told.total)
            for outcome, count in dict(each.messages).items():
                counted.add_metric([name, outcome], count)
            queues: Mapping[str, Mapping[str, int]] = {}
            with suppress(OlafError):
                queues = each.controller.southbound.queue_registers()
            refusals: Mapping[str, Mapping[Refusal, int]] = {}
            with suppress(OlafError):
                refusals = each.controller.southbound.frames_refused()
            for place, reasons in refusals.items():
                for reason, packets in reasons.items():
                    refused.add_metric([name, place, reason.name.lower()], packets)
            for place, registers in queues.items():
                for register, value in registers.items():
                    if register in _COUNTERS:
                        queue.add_metric([name, place, register], value)
                    elif register in _STATUS:
                        now.add_metric([name, place, register], value)
                if "slots" in registers:
                    slots.add_metric([name, place], registers["slots"])
                    share.add_metric([name, place], send_probability(registers))
        yield from (ready, term, revision, waiting, members, counted, queue, now, refused, slots, share)
        yield from (age, staleness)


def send_probability(registers: Mapping[str, int]) -> float:
    """P_s of OLAF §5 without its term for freshness, which only workers know."""
    return min(registers["slots"] / max(registers["active_clusters"], 1), 1.0)
