"""ARTOS' tables and figures in the cost model, beside what the paper prints."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from olaf.elastic import Schedule

from olaflab.papers.artos.model import ModelCosts, ModelOutcome, average_outcomes, model_artos, model_ray

SEEDS = 20
T6 = ModelCosts(slower=1.1)
"""Then pipelined transfers take as long as Ray's, by the latencies of table 6; figure 15a gives 1.21."""
NOISE = 0.03
"""Relative deviation of an iteration's time."""


INPUT, PREDICTED, MEASURED = "input", "predicted", "measured"


@dataclass(frozen=True)
class ModelLine:
    """One figure."""

    where: str
    what: str
    unit: str
    paper: float
    here: float
    basis: str = PREDICTED
    """An input is what a cost of the model was taken from: that it agrees says nothing."""


def model_lines(costs: ModelCosts = T6, noise: float = NOISE) -> Iterator[ModelLine]:
    """Yield results of the cost model; ``noise`` is the deviation of an iteration's time."""
    yield from _model_shares(costs)
    yield from _model_prewarming(costs, noise)
    yield from _model_elastic(costs, noise)
    yield from _model_held(costs, noise)


def _average_artos(
    costs: ModelCosts, schedule: Schedule, updates: int, noise: float, *, prewarm: bool = True
) -> ModelOutcome:
    return average_outcomes(
        [model_artos(costs, schedule, updates, noise, seed, prewarm=prewarm) for seed in range(SEEDS)]
    )


def _fixed_schedule(actors: int) -> Schedule:
    return Schedule(actors, actors, 1, 1)


def _model_shares(costs: ModelCosts) -> Iterator[ModelLine]:
    """Model the shares of transfers in an iteration of Ray."""
    share = 32 * costs.transfer / costs.ray_iteration(32)
    yield ModelLine("figure 4", "Ray, transfer of 32 actors × 512 steps", "%", 49.97, 100 * share, INPUT)
    long = ModelCosts(play=2 * costs.play, transfer=2 * costs.transfer, learn=2 * costs.learn)
    share = 16 * long.transfer / long.ray_iteration(16)
    yield ModelLine("figure 4b", "Ray, transfer of 16 actors × 1024 steps", "%", 34.67, 100 * share, INPUT)
    saved = costs.overlapped_learning / (costs.transfer * costs.slower)
    yield ModelLine("figure 15a", "pipelining, of the transfer", "%", -11.76, -100 * saved)


def _model_prewarming(costs: ModelCosts, noise: float) -> Iterator[ModelLine]:
    without = _average_artos(costs, _fixed_schedule(16), 200, noise, prewarm=False).update
    with_it = _average_artos(costs, _fixed_schedule(16), 200, noise).update
    yield ModelLine("table 5", "16 actors, update without pre-warming", "s", 5.505, without)
    yield ModelLine("table 5", "with it (both: means of the two games)", "s", 5.085, with_it)
    yield ModelLine("table 5", "change", "%", -7.63, 100 * (with_it / without - 1), INPUT)
    on_time = _average_artos(costs, Schedule(4, 32, 4, 25), 200, noise).on_time
    yield ModelLine("figure 15b", "invocations that wait < 0.05 s, 4 → 32 actors", "%", 92.75, 100 * on_time)


_SAC = ((8700.0, 5000.0), (10062.0, 5088.0))
"""Table 4's seconds of SAC with Ray and with ARTOS: Breakout, Pong."""
_TABLE_6: Sequence[tuple[int, int, tuple[float, ...]]] = (
    (200, 25, (1094.36, 1053.15, 22687.47, 12012.05, 1094.36, 512.49)),
    (40, 5, (245.63, 208.25, 5148.55, 2329.51, 245.63, 101.91)),
)


def _model_elastic(costs: ModelCosts, noise: float) -> Iterator[ModelLine]:
    for updates, every, paper in _TABLE_6:
        schedule = Schedule(4, 32, 4, every)
        one, other = model_ray(costs, schedule, updates), _average_artos(costs, schedule, updates, noise)
        where = f"table 6, {updates} updates"
        yield ModelLine(where, "Ray, latency", "s", paper[0], one.seconds, INPUT)
        yield ModelLine(where, "ARTOS, latency", "s", paper[1], other.seconds, INPUT)
        yield ModelLine(where, "Ray, core-seconds held", "s", paper[2], one.cpu)
        yield ModelLine(
            where, "core-seconds", "%", 100 * (paper[3] / paper[2] - 1), 100 * (other.cpu / one.cpu - 1)
        )
        yield ModelLine(
            where, "GPU-seconds", "%", 100 * (paper[5] / paper[4] - 1), 100 * (other.gpu / one.gpu - 1)
        )


def _model_held(costs: ModelCosts, noise: float) -> Iterator[ModelLine]:
    """Model PPO with as many actors from beginning to end: the two phases are disjoint."""
    one, other = (
        model_ray(costs, _fixed_schedule(16), 200),
        _average_artos(costs, _fixed_schedule(16), 200, noise),
    )
    cpu, gpu = 100 * other.cpu / one.cpu, 100 * other.gpu / one.gpu
    yield ModelLine("figure 14", "PPO, core-seconds of Ray's", "%", 55.12, cpu)
    yield ModelLine("figure 14", "PPO, GPU-seconds of Ray's", "%", 45.97, gpu)
    yield ModelLine("figure 14", "sum: disjoint phases give 100 and the starts", "%", 101.09, cpu + gpu)
    remains = 100 * sum(ours / theirs for theirs, ours in _SAC) / len(_SAC)
    yield ModelLine("figure 14", "SAC, both: the mean of what remains in table 4", "%", 54.02, remains, INPUT)
