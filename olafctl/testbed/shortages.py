"""Settings that a testbed permits but that hardly anybody wants."""

from collections.abc import Iterator

from olafctl.testbed.model import Testbed


def find_shortages(testbed: Testbed) -> Iterator[str]:
    """Yield a line for each engine whose target lacks its shards, or that has fewer slots than a model's
    segments.

    Transmission control takes more active indices than slots for congestion (OLAF §5), and each segment has
    an index: P_s stays below 1 even where one worker trains alone.
    """
    for engine in testbed.engines:
        if engine.shards > testbed.shards_of(engine):
            yield (
                f"{engine.name} has shards, and the target {testbed.target} one thread: shards are left out; "
                "use the target software"
            )
        for cluster in testbed.clusters:
            if not engine.mode_of(cluster).sums and cluster.segments > engine.slots:
                share = engine.slots / cluster.segments
                yield (
                    f"{engine.name} has {engine.slots} slots, but the model of {cluster.name} "
                    f"{cluster.segments} segments: its workers send with P_s = {share:.2f}, also "
                    f"without congestion; give engine.slots {cluster.segments}, or workers control=False"
                )
