"""Whether a training script learns as fast through Olaf as alone, where nothing is congested.

The script is the SDK's example of a single-file PPO, as it is: alone, and with the few lines that attach its
optimiser to a parameter server. Several of the latter train together through the twin in virtual time. Both
spend the same number of environment steps in all.
"""

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import olaf
from olaf.policies import Plain
from olaf.transport.virtual import VirtualNetwork

from olafctl import paths
from olafctl.control.serving import parameter_server
from olafctl.membership.model import Member
from olafctl.targets.interface import Progress, of_root
from olafctl.wire.modes import Mode
from olaflab.papers.curves import COLUMNS, list_points
from olaflab.papers.olaf.lab import TrainingLab, TwinRun, run_lab_twin
from olaflab.papers.runs import Runs, final_reward, mean_reward
from olaflab.papers.summary import Summary, compare_seeds, estimate_mean
from olaflab.training.cosim.medium import EngineMedium, Script, address_of
from olafswitch.errors import BadInput, Problem

if TYPE_CHECKING:
    from olaf.torch.link import Link

WORKERS = 4
VALUES = 9797
SLOTS = 16
BATCH = 2048
"""Environment steps of an iteration: the script's own 8 environments of 256 steps."""
ITERATION = 0.25
"""Seconds of virtual time for an iteration; with ``JITTER`` of it drawn again for each."""
JITTER = 0.2
_BEGIN = 0.01
"""Seconds from one script's begin to the next's."""
_SCRIPT = Path("sdk") / "examples" / "ppo_lunarlander.py"
_OLAFS = re.compile(r"\b(olaf|link)\b")
"""In the lines that attach the script's optimiser."""
_LINE = re.compile(r"iteration \d+ .* return (-?[\d.]+|nan)")


def figure(iterations: int, seeds: int, folder: Path, progress: Progress) -> Summary:
    """Compare the lone script, one attached, and WORKERS attached: each with ``iterations`` in all.

    Raises BadInput where the SDK's examples are not at hand, OlafError.
    """
    runs = Runs(TwinRun, folder, progress)
    numbers = {"alone": 0, "one through the twin": 1, f"{WORKERS} through the twin": WORKERS}
    curves: dict[str, list[TwinRun]] = {name: [] for name in numbers}
    settings = {"iterations": iterations, "seconds": ITERATION, "jitter": JITTER}
    with run_lab_twin("script", 1, WORKERS, SLOTS, progress, VALUES) as twin, _keep_arguments():
        for seed in range(1, seeds + 1):
            for name, workers in numbers.items():
                make = (
                    partial(_train_attached, twin, workers, iterations, seed)
                    if workers
                    else partial(_train_alone, iterations, seed)
                )
                made_with = {**settings, "workers": workers}
                curves[name].append(runs.run_of(f"script{workers}", seed, made_with, make))
    alone, one, several = curves.values()
    same_steps = estimate_mean(mean_reward(one) - mean_reward(alone))
    shared_steps = estimate_mean(mean_reward(several) - mean_reward(alone))
    quarter = iterations // WORKERS
    begun = np.array([np.mean(run.rewards[:quarter]) for run in alone])
    same_time = estimate_mean(mean_reward(several) - begun)
    rows = [
        (
            name,
            estimate_mean(mean_reward(found)),
            estimate_mean(final_reward(found)),
            round(found[0].seconds[-1], 1),
        )
        for name, found in curves.items()
    ]
    return Summary(
        f"{BATCH * iterations} environment steps in all",
        {
            **settings,
            "seeds": seeds,
            "steps": BATCH * iterations,
            "one - alone": str(same_steps),
            f"{WORKERS} - alone, equal steps in all": str(shared_steps),
            f"{WORKERS} - alone, equal time": str(same_time),
        },
        ("script", "mean return", "end return", "seconds"),
        rows,
        dict(
            (
                compare_seeds("one attached learns more slowly", mean_reward(alone), mean_reward(one)),
                compare_seeds(
                    f"{WORKERS} attached learn more slowly in equal time", begun, mean_reward(several)
                ),
                compare_seeds(
                    f"{WORKERS} attached learn more slowly with equal steps in all",
                    mean_reward(alone),
                    mean_reward(several),
                ),
            )
        ),
        COLUMNS,
        list(list_points(curves)),
    )


def _train_alone(iterations: int, seed: int) -> TwinRun:
    said: list[float] = []
    module = _load_script(said.append, attached=False)
    _call_script(module, iterations, seed)
    return _make_run(said, [ITERATION * (number + 1) for number in range(iterations)])


def _train_attached(twin: TrainingLab, workers: int, iterations: int, seed: int) -> TwinRun:
    of_root(twin.running.queues).write("mode", Mode.OLAF.number)
    (cluster,) = twin.testbed.clusters
    said: list[tuple[float, float]] = []
    with closing(twin.running.virtual_time()) as engine:
        network = VirtualNetwork(EngineMedium(engine, twin.testbed))
        listen = address_of(twin.testbed.parameter_servers[0])
        where = f"{listen[0]}:{listen[1]}"
        server = parameter_server(twin.testbed, where, Plain, port=network.port(listen))
        random = np.random.default_rng(seed)
        scripts = []
        for number, worker in enumerate(cluster.workers[:workers]):
            pause = partial(random.uniform, ITERATION * (1 - JITTER), ITERATION * (1 + JITTER))

            def program(
                script: Script,
                number: int = number,
                worker: Member = worker,
                pause: Callable[[], float] = pause,
            ) -> None:
                module = _load_script(lambda mean: said.append((network.time, mean)), attached=True)
                with _attach_script(script, pause, network.port(address_of(worker)), cluster.segments):
                    _call_script(
                        module, iterations // workers, _worker_seed(seed, workers, number), "--server", where
                    )

            scripts.append(Script(network, program))
            scripts[-1].begin(_BEGIN * number)
        network.run(stop=lambda: all(script.done for script in scripts))
        counted, age = server.counters(cluster.name), server.age_of_model(cluster.name)
    lost = of_root(twin.running.queues).read_all()["dropped_full"]
    run = _make_run([mean for _, mean in said], [time for time, _ in said])
    return replace(
        run, received=counted.received, contained=counted.updates, lost=lost, age_of_model=age or 0.0
    )


def _worker_seed(seed: int, workers: int, number: int) -> int:
    """Return a worker's seed; a single worker has the lone script's."""
    return seed if workers == 1 else 100 * seed + number


@contextmanager
def _attach_script(script: Script, pause: Callable[[], float], port: Any, segments: int) -> Iterator[None]:
    """Attach this script by ``olaf.attach``: at its place in the testbed, each exchange after computing."""
    attach = olaf.attach

    def attached(optimizer: Any, server: str, **options: Any) -> "Link":
        vars(olaf)["attach"] = attach  # the next script has its own
        link: Link = attach(optimizer, server, port=port, segments=segments, **options)
        exchange = link.exchange

        def later() -> None:
            script.sleep(pause())
            exchange()

        vars(link)["exchange"] = later
        return link

    vars(olaf)["attach"] = attached
    try:
        yield
    finally:
        vars(olaf)["attach"] = attach


@contextmanager
def _keep_arguments() -> Iterator[None]:
    """Restore this program's arguments afterwards."""
    before = sys.argv
    try:
        yield
    finally:
        sys.argv = before


def _load_script(said: Callable[[float], None], *, attached: bool) -> ModuleType:
    """Load the script as a module of its own; its lines about iterations go to ``said``. Raises BadInput."""
    path = paths.sources() / _SCRIPT
    if not path.is_file():
        raise BadInput(Problem("the SDK's examples are not here", str(path), "run it in a checkout"))
    lines = path.read_text().splitlines(keepends=True)
    text = "".join(line for line in lines if attached or not _OLAFS.search(line))
    module = ModuleType(path.stem)

    def heard(line: str, **options: Any) -> None:
        found = _LINE.match(line)
        if found is not None:
            said(float(found[1]))

    vars(module)["print"] = heard
    exec(compile(text, str(path), "exec"), vars(module))
    return module


def _call_script(module: ModuleType, iterations: int, seed: int, *arguments: str) -> None:
    """Run the script, which reads its arguments at once: another script may replace them afterwards."""
    sys.argv = [module.__name__, "--total-steps", str(BATCH * iterations), "--seed", str(seed), *arguments]
    module.main()


def _make_run(returns: list[float], seconds: list[float]) -> TwinRun:
    """Make a run; an iteration in which no episode ended has the return of the one before."""
    filled = np.array(returns)
    for place in range(1, len(filled)):
        if np.isnan(filled[place]):
            filled[place] = filled[place - 1]
    known = np.nan_to_num(filled, nan=float(filled[np.isfinite(filled)][0]))
    return TwinRun(known.tolist(), seconds, 0, 0, 0, 0, 0, 0, 0.0)
