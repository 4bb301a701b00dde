"""``olafctl train``: train LunarLander-v3 through a deployment."""

import sys
from contextlib import closing
from statistics import fmean
from typing import TYPE_CHECKING, Any

import click

from olafctl.cli.output import json_option, print_json, table
from olafctl.errors import MissingTool, Problem

if TYPE_CHECKING:
    from olafctl.train.virtual import Step, Trained

_POLICIES = ("olaf", "plain")
_ENGINE = ("in_updates", "merged", "replaced_worker", "dropped_full", "out_updates")


@click.command()
@click.argument("testbed", required=False)
@click.option("--virtual", is_flag=True, help="In virtual time: exact to the cycle, repeats with its seed.")
@click.option("--updates", type=click.IntRange(1), default=100, show_default=True, help="Of each worker.")
@click.option("--episodes", type=click.IntRange(1), default=1, show_default=True, help="Behind each update.")
@click.option(
    "--step-cost",
    type=click.FloatRange(0, min_open=True),
    default=0.001,
    show_default=True,
    help="A worker's seconds of virtual time for one environment step.",
)
@click.option("--policy", type=click.Choice(_POLICIES), default="olaf", show_default=True)
@click.option(
    "--delta-t",
    type=click.FloatRange(0, min_open=True),
    default=0.4,
    show_default=True,
    help="Transmission control: feedback older than so many seconds is obsolete.",
)
@click.option(
    "--v", type=click.FloatRange(0), help="Transmission control: v in 1/s.  [default: Δ_T's number]"
)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True)
@json_option("Print the figures and every update's reward as JSON.")
def command(
    testbed: str | None,
    virtual: bool,
    updates: int,
    episodes: int,
    step_cost: float,
    policy: str,
    delta_t: float,
    v: float | None,
    seed: int,
    as_json: bool,
) -> None:
    """Train LunarLander-v3 on the deployed TESTBED: its workers, its engine, its parameter server.

    Needs the SDK (pip install ./sdk) and the extra [train]. Each cluster that is not of mode iswitch trains a
    policy of its own. With --virtual every datagram crosses the twin's P4 and Verilog, in one simulation.
    """
    if not virtual:
        raise click.UsageError(
            "only --virtual can train so far; over real ports, use olafctl server and the SDK"
        )
    try:
        from olafctl.train import serving
        from olafctl.train.virtual import Pace, Plan, train
    except ImportError as error:
        raise MissingTool(
            Problem(f"training needs a package: {error}", remedy="pip install ./sdk 'olafctl[train]'")
        ) from error
    from olafctl.control.deploy import using
    from olafctl.control.store import pick

    plan = Plan(updates, episodes, Pace(step_cost), seed, serving.policy(policy, 0.001, {}), v, delta_t)
    with using(pick(testbed)) as (deployed, running):
        server = serving.host_of(deployed, None)
        with closing(running.virtual_time()) as engine:
            trained = train(engine, deployed, server, plan, _Line())
        counted = running.registers.read_all()
    counters = {name: counted[name] for name in _ENGINE}
    if as_json:
        print_json({"clusters": [_as_json(cluster) for cluster in trained], "engine": counters})
        return
    _show(trained)
    click.echo("\nengine: " + ", ".join(f"{value} {name}" for name, value in counters.items()))


def _as_json(trained: "Trained") -> dict[str, Any]:
    return {
        "cluster": trained.cluster.name,
        "sent": trained.sent,
        "held": trained.held,
        "received": trained.received,
        "contained": trained.contained,
        "applied": trained.applied,
        "age_of_model": trained.age_of_model,
        "steps": [vars(step) for step in trained.steps],
    }


def _show(trained: list["Trained"]) -> None:
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
            round(fmean(step.reward for step in one.steps[: _tenth(one)]), 1),
            round(fmean(step.reward for step in one.steps[-_tenth(one) :]), 1),
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
    table(
        "Training in virtual time: rewards are means over the first and last tenth of the updates",
        heads,
        rows,
    )


def _tenth(trained: "Trained") -> int:
    return max(1, len(trained.steps) // 10)


class _Line:
    """Progress on standard error, a line each twentieth of the way."""

    def __init__(self) -> None:
        self._steps: list[Step] = []

    def __call__(self, step: "Step", done: int, total: int) -> None:
        self._steps.append(step)
        if done * 20 // total == (done - 1) * 20 // total:
            return
        rewards = fmean(each.reward for each in self._steps)
        share = fmean(each.sent for each in self._steps)
        probability = fmean(each.probability for each in self._steps)
        text = (
            f"{step.time:8.2f} s of virtual time  {done}/{total} updates  mean reward {rewards:.0f}  "
            f"sent {share:.0%}  P_s {probability:.2f}"
        )
        print(text, file=sys.stderr, flush=True)
        self._steps.clear()
