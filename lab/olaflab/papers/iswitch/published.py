"""iSwitch's evaluation: its four workloads, and their measurements (its tables 1, 3, 4, 5).

The tensors are those of the networks in the code that the paper names as its own's origin; they make the
model sizes that it prints, in 2^20 and 2^10 bytes: 6.41 MB, 3.31 MB, 157.5 KB. PPO's make 39.5 KB there, and
40.02 KB in the paper, which is taken as one vector.
"""

from collections.abc import Sequence
from dataclasses import dataclass

WORKERS = 4
SHARES = (0.499, 0.832)
"""The least and the greatest part of an iteration that aggregation takes, over all workloads, with a
parameter server and with all-reduce (iSwitch §2.3, figure 4)."""
REDUCTION = (0.816, 0.858)
"""Shares by which iSwitch's aggregation is shorter than a server's, over all workloads (iSwitch §6.1)."""
REDUCTION_RING = (0.634, 0.879)
"""Shares by which it is shorter than all-reduce's."""


@dataclass(frozen=True)
class Baselines:
    """Figures of a parameter server and all-reduce."""

    server: float
    """Hours until the end."""
    ring: float
    ring_speedup: float
    server_async: float
    """ms an iteration."""
    iterations_async: float
    rewards: tuple[float, float, float]
    """At the end: server, ring, asynchronous server."""


@dataclass(frozen=True)
class SwitchFigures:
    """Figures of iSwitch; never an input of a prediction."""

    hours: float
    speedups: tuple[float, float]
    """Over the server, synchronous and asynchronous."""
    period_async: float
    """ms an iteration."""
    iterations_async: float
    rewards: tuple[float, float]


@dataclass(frozen=True)
class Workload:
    """One of the paper's benchmarks, with four workers."""

    name: str
    tensors: Sequence[int]
    """Values of each of the network's tensors."""
    vectors: Sequence[int]
    """Bytes of each gradient vector: one for each network."""
    iterations: float
    """Synchronous, of all approaches."""
    baselines: Baselines
    switch: SwitchFigures

    def iteration_period(self, hours: float) -> float:
        """Return the ms of a synchronous iteration."""
        return hours * 3_600_000 / self.iterations

    @property
    def speedups(self) -> tuple[float, float, float]:
        """Speedups over the server as iSwitch table 3 prints them: all-reduce, iSwitch, and asynchronous."""
        return self.baselines.ring_speedup, *self.switch.speedups


def _vector_sizes(*networks: Sequence[int]) -> tuple[int, ...]:
    return tuple(4 * sum(values) for values in networks)


def _convolution_sizes(*shapes: tuple[int, int, int]) -> tuple[int, ...]:
    """Return the numbers of weights and biases of layers of (inputs, outputs, width)."""
    return tuple(each for i, o, w in shapes for each in (i * o * w * w, o))


def _layer_sizes(*shapes: tuple[int, int]) -> tuple[int, ...]:
    return tuple(each for i, o in shapes for each in (i * o, o))


_DQN = _convolution_sizes((1, 32, 8), (32, 64, 4), (64, 64, 3)) + _layer_sizes((3136, 512), (512, 6))
_A2C = _convolution_sizes((4, 32, 8), (32, 64, 4), (64, 32, 3)) + _layer_sizes(
    (1568, 512), (512, 1), (512, 6)
)
_PPO = (*_layer_sizes((11, 64), (64, 64), (11, 64), (64, 64), (64, 1), (64, 3)), 3)
_ACTOR = (*_layer_sizes((17, 128)), 128, 128, *_layer_sizes((128, 128)), 128, 128, *_layer_sizes((128, 6)))
_CRITIC = (*_layer_sizes((17, 128)), 128, 128, *_layer_sizes((134, 128)), 128, 128, *_layer_sizes((128, 1)))

WORKLOADS = (
    Workload(
        "DQN",
        _DQN,
        _vector_sizes(_DQN),
        1.40e6,
        Baselines(31.72, 16.08, 1.97, 24.88, 6.30e6, (20.00, 19.94, 19.10)),
        SwitchFigures(8.66, (3.66, 3.71), 12.07, 3.50e6, (20.00, 19.82)),
    ),
    Workload(
        "A2C",
        _A2C,
        _vector_sizes(_A2C),
        2.00e5,
        Baselines(2.87, 1.78, 1.62, 13.13, 1.20e6, (13491.73, 13478.39, 13402.83)),
        SwitchFigures(1.12, (2.55, 3.14), 12.53, 4.00e5, (13489.22, 13505.46)),
    ),
    Workload(
        "PPO",
        _PPO,
        (round(40.02 * 2**10 / 4) * 4,),
        8.00e4,
        Baselines(0.39, 0.42, 0.91, 3.40, 5.40e5, (3090.24, 3093.18, 3083.67)),
        SwitchFigures(0.22, (1.72, 1.92), 7.99, 1.20e5, (3091.61, 3084.23)),
    ),
    Workload(
        "DDPG",
        _ACTOR + _CRITIC,
        _vector_sizes(_ACTOR, _CRITIC),
        7.50e5,
        Baselines(8.07, 9.01, 0.90, 11.58, 3.00e6, (2476.75, 2487.43, 2421.89)),
        SwitchFigures(4.40, (1.83, 1.56), 14.89, 1.50e6, (2479.62, 2485.35)),
    ),
)
