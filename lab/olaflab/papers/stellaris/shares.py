"""Figure 14: the parts of a round's time, measured on this machine one after the other."""

import pickle
from collections.abc import Callable
from statistics import median
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np
from olaf.elastic import Ledger
from olaf.policies import Update

from olaflab import pictures
from olaflab.papers.figure import Points, decide_statements
from olaflab.papers.stellaris.rules import RATE, Scale, make_stellaris
from olaflab.papers.summary import Summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

WORK = ("playing", "gradients")
"""Parts that are not overhead."""


def measure_shares(environment: str, learners: int, rounds: int, scale: Scale, repeats: int) -> Summary:
    """Measure the processor seconds of one round by part; medians of ``repeats``."""
    import torch
    from olaf.torch import flat
    from olaf.torch.importance import clipped, truncated

    from olaflab.papers.play import make_games, play_steps, weights_of

    torch.set_num_threads(1)
    torch.manual_seed(0)
    actors = make_games(environment, scale.actors, 0)
    try:
        agent = actors.agent()
        played = [
            _cpu_seconds(lambda: play_steps(actors, agent, scale.steps)) for _ in range(min(repeats, 3))
        ]
        rows, _ = play_steps(actors, agent, scale.steps)
    finally:
        actors.close()
    gradients = scale.epochs * scale.parts
    part = rows.select_rows(torch.arange(scale.rows // scale.parts))
    policy = make_stellaris(learners, rounds, scale).make(weights_of(agent), rate=RATE, optimizer="adam")
    parameters, weights = list(agent.parameters()), weights_of(agent)
    gradient = np.zeros_like(weights)
    ledger = Ledger(1.0, learners)

    def learn() -> None:
        ratio = truncated(agent.log_prob(part), part.behaviour, (), 1.0)
        error = (agent.values(part.observations) - part.returns).square().mean()
        agent.zero_grad()
        (clipped(ratio, part.advantages) + 0.5 * error).backward()
        flat.read([parameter.grad for parameter in parameters])

    def look_at_others() -> None:
        for _ in range(learners - 1):
            flat.write(parameters, weights)
            with torch.no_grad():
                agent.log_prob(part)

    def aggregate() -> None:
        policy.take(Update(gradient, 1, 0.0, ("10.0.0.1", 1), range(1), [0]), 0.0)

    def invoke() -> None:
        ledger.begin(0, 0.0).end = 0.0

    def each(what: Callable[[], Any]) -> float:
        return median(_cpu_seconds(what) for _ in range(repeats))

    found = {
        "playing": median(played),
        "gradients": gradients * each(learn),
        "truncation over all learners": gradients * each(look_at_others),
        "threshold, weights and the optimiser": gradients * each(aggregate),
        "weights to learners": gradients * each(lambda: pickle.loads(pickle.dumps(weights, 5))),
        "gradients to the server": gradients * each(lambda: pickle.loads(pickle.dumps(gradient, 5))),
        "rows into the cache and out": scale.epochs * each(lambda: _pass_through(rows)),
        "invocations": gradients * each(invoke),
    }
    whole = sum(found.values())
    lines = [(name, round(1e3 * seconds, 2), f"{seconds / whole:.2%}") for name, seconds in found.items()]
    over = {name: seconds / whole for name, seconds in found.items() if name not in WORK}
    holds = {f"{name} takes less than 5 % of a round": share < 0.05 for name, share in over.items()}
    holds[f"all overheads together take less than 5 % of a round: {sum(over.values()):.1%}"] = (
        sum(over.values()) < 0.05
    )
    settings = {"environment": environment, "learners": learners, "values": len(weights), "repeats": repeats}

    heads = ("what", "ms a round", "share")
    title = f"Figure 14: processor time of a round on {environment}, {learners} learners"
    return Summary(title, settings, heads, lines, decide_statements(holds), heads, lines)


def draw_shares(points: Points, drawing: "Drawing") -> None:
    """Draw each part's share of a round."""
    axes = drawing.subplots(1, 1)
    names = [row[0] for row in points["rows"]]
    colours = [pictures.GREYS[0] if name in WORK else pictures.SUBJECT for name in names]
    axes.barh(names, [float(row[2].rstrip("%")) / 100 for row in points["rows"]], color=colours)
    axes.axvline(0.05, color="grey", lw=0.8)
    axes.invert_yaxis()
    axes.set(xlabel="share of a round's processor time")


def _pass_through(rows: Any) -> None:
    for column in vars(rows).values():
        pickle.loads(pickle.dumps(column.numpy(), 5))


def _cpu_seconds(what: Callable[[], Any]) -> float:
    began = process_time()
    what()
    return process_time() - began
