"""``olafctl bench stellaris``: rules against staleness, compared with as many optimiser steps."""

from dataclasses import asdict

import click

from olafctl.cli.output import json_option, log_progress, print_json, table


@click.command()
@click.option("--environment", default="Hopper-v5", show_default=True, help="Of Gymnasium; continuous.")
@click.option("--learners", type=click.IntRange(1), default=8, show_default=True, help="Side by side.")
@click.option("--rounds", type=click.IntRange(1), default=20, show_default=True,
              help="Of 4096 steps and 40 gradients.")  # fmt: skip
@click.option("--seeds", type=click.IntRange(1), default=10, show_default=True, help="Of each rule.")
@click.option("--rule", "only", multiple=True, help="Only this one; may be given again.")
@json_option("Print JSON: every run.")
def command(
    environment: str, learners: int, rounds: int, seeds: int, only: tuple[str, ...], as_json: bool
) -> None:
    """Compare Stellaris with async, SSP, SoftSync and synchrony on PPO.

    All make as many gradients of as many rows; learners, their times and costs are virtual, so a seed gives
    the same run on any machine. The reward is that of the last three rounds, with a 95 % interval over seeds.
    Needs PyTorch and MuJoCo: pip install ./sdk './lab[train]' 'gymnasium[mujoco]'.
    """
    from olafctl.errors import BadInput, MissingTool, Problem

    try:
        import gymnasium

        from olaflab.training.staleness import compare
    except ImportError as error:
        what = f"the bench needs {error.name}"
        remedy = "pip install ./sdk './lab[train]' 'gymnasium[mujoco]'"
        raise MissingTool(Problem(what, remedy=remedy)) from error
    known = {rule.name: rule for rule in compare.rules(learners, rounds)}
    if unknown := [name for name in only if name not in known]:
        raise BadInput(Problem(f"there is no rule {unknown[0]}", "--rule", f"take one of {', '.join(known)}"))
    found: dict[str, list[compare.Run]] = {name: [] for name in only or known}
    for seed in range(seeds):
        for name, runs in found.items():
            try:
                runs.append(compare.run(known[name], seed, rounds, environment))
            except gymnasium.error.Error as error:
                raise BadInput(Problem(str(error).splitlines()[0], "--environment")) from error
            log_progress(f"{name}, seed {seed}: reward {runs[-1].final:.1f}")
    if as_json:
        print_json([asdict(run) for runs in found.values() for run in runs])
        return
    rows = []
    for name, runs in found.items():
        mean, low, high = compare.interval([run.final for run in runs])
        first = runs[0]
        rows.append((name, f"{mean:.1f}", f"{low:.1f} … {high:.1f}", f"{first.steps}",
                     f"{first.staleness:.2f}", f"{first.small:.1%}", f"{first.seconds:.0f}",
                     f"{first.reserved:.4f}", f"{first.invoked:.4f}", f"{first.whole:.4f}"))  # fmt: skip
    heads = ["rule", "reward", "95 % interval", "steps", "staleness", "weights < 0.1", "seconds",
             "$ reserved", "$ invoked", "$ with cold and keep-alive"]  # fmt: skip
    table(f"{environment}, {learners} learners, {seeds} seeds; from steps on: seed 0", heads, rows)
