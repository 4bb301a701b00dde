"""What ``olaflab train`` prints: progress, figures and costs."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from statistics import fmean
from typing import Any

from olaflab.training.head import Turnout
from olaflab.training.learning import Learning
from olaflab.training.plan import ClusterFigures, UpdateStep
from olafswitch.console.output import print_table


def as_json(trained: ClusterFigures) -> dict[str, Any]:
    return {
        "cluster": trained.cluster.name,
        "sent": trained.sent,
        "held": trained.held,
        "received": trained.received,
        "contained": trained.contained,
        "applied": trained.applied,
        "age_of_model": trained.age_of_model,
        "steps": [asdict(step) for step in trained.steps],
    }


def show_results(trained: list[ClusterFigures], time: str) -> None:
    heads = (
        "cluster",
        "first reward",
        "last reward",
        "sent",
        "held",
        "received",
        "in them",
        "applied",
        "P_s",
        "AoM s",
    )
    rows = [
        (
            one.cluster.name,
            round(fmean(step.reward for step in one.steps[: _mean_of_tenth(one)]), 1),
            round(fmean(step.reward for step in one.steps[-_mean_of_tenth(one) :]), 1),
            one.sent,
            one.held,
            one.received,
            one.contained,
            one.applied,
            round(fmean(step.probability for step in one.steps), 3),
            "unknown" if one.age_of_model is None else f"{one.age_of_model:.3f}",
        )
        for one in trained
    ]
    print_table(
        f"Training in {time} time: rewards are means over the first and last tenth of the updates",
        heads,
        rows,
    )
    crews = [
        (
            one.cluster.name,
            step.worker,
            f"{fmean(each.actors for each in its):.1f}",
            f"{fmean(each.blocks for each in its):.1f}",
            max(each.lag for each in its),
            f"{fmean(each.waited for each in its):.3f}",
            f"{its[-1].cpu:.1f}",
            f"{its[-1].gpu:.1f}",
        )
        for one in trained
        for step, its in _head_rows(one)
    ]
    if crews:
        names = (
            "cluster",
            "worker",
            "actors awake",
            "blocks",
            "lag",
            "waited s",
            "CPU s held",
            "learner s held",
        )
        print_table(
            "Heads: means over all updates, seconds of all their actors and of their learner", names, crews
        )


def _head_rows(trained: ClusterFigures) -> Iterator[tuple[UpdateStep, list[Turnout]]]:
    """Yield each head's last step, and all its turnouts."""
    for worker in dict.fromkeys(step.worker for step in trained.steps):
        steps = [step for step in trained.steps if step.worker == worker]
        turnouts = [step.turnout for step in steps if step.turnout is not None]
        if turnouts:
            yield steps[-1], turnouts


def _mean_of_tenth(trained: ClusterFigures) -> int:
    return max(1, len(trained.steps) // 10)


class ProgressLine:
    """Progress on standard error, a line each twentieth of the way."""

    def __init__(self, learning: Learning | None = None) -> None:
        self._steps: list[UpdateStep] = []
        self._learning = learning
        self.time = 0.0
        """Time of the last update."""

    def __call__(self, step: UpdateStep, done: int, total: int) -> None:
        self._steps.append(step)
        self.time = step.time
        if done * 20 // total == (done - 1) * 20 // total:
            return
        rewards = fmean(each.reward for each in self._steps)
        share = fmean(each.sent for each in self._steps)
        probability = fmean(each.probability for each in self._steps)
        text = (
            f"{step.time:8.2f} s of virtual time  {done}/{total} updates  mean reward {rewards:.0f}  "
            f"sent {share:.0%}  P_s {probability:.2f}"
        )
        if self._learning is not None:
            text += f"  {self._learning.format_progress(step.time)}"
        print(text, file=sys.stderr, flush=True)
        self._steps.clear()


def show_costs(learnt: Mapping[str, Any]) -> None:
    heads = ("may learn", "invocations", "learner s", "starting s", "kept s", "$ reserved", "$ invoked",
             "$ with starts and keep-alive")  # fmt: skip
    seconds = (round(learnt[name], 2) for name in ("busy", "cold", "idle"))
    costs = (f"{learnt[name]:.6f}" for name in ("reserved", "invoked", "whole"))
    row = (learnt["admitted"], learnt["invocations"], *seconds, *costs)
    print_table("Learners: every second that they had rows, and three ways to pay for it", heads, [row])
