"""``olaflab train``: train LunarLander-v3 through a deployment."""

import sys
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from olafctl.targets.interface import of_root
from olaflab.verb import FOLDER, argument, option, verb
from olafswitch.console.output import print_json
from olafswitch.errors import BadInput, OlafError, Problem, importing

if TYPE_CHECKING:
    from olaf import ParameterServer

    from olafctl.targets.interface import Running
    from olafctl.testbed.model import Testbed
    from olaflab.training.admission import Admit
    from olaflab.training.journal import ClusterProgress, Journal
    from olaflab.training.learning import Learning
    from olaflab.training.live import Gather
    from olaflab.training.plan import ClusterFigures, TrainingPlan

_POLICIES = ("olaf", "plain")
_MOST_ACTORS = 1024
_ACTORS = "4"
"""Heads, if only --learners is given."""
_RAY = "pip install './lab[ray]'"
_ENGINE = ("in_updates", "merged", "replaced_worker", "dropped_full", "out_updates")


@verb("Print the figures and every update's reward as JSON.")
def command(
    as_json: bool,
    testbed: str | None = argument(None),
    virtual: bool = option(False, "In virtual time: exact to the cycle, repeats with its seed."),
    updates: int = option(100, "Updates of each worker.", least=1),
    episodes: int = option(1, "Episodes behind each update.", least=1),
    step_cost: float | None = option(
        None, "Seconds a worker takes for one environment step: in virtual time exactly, in wall time at"
        " least.  [default: 0.001 with --virtual, else 0]", least=0,
    ),
    policy: str = option(
        "olaf", "Rule by which an update moves the weights (docs/training.md).", choices=_POLICIES
    ),
    delta_t: float = option(
        0.4, "Transmission control: age in seconds at which feedback is obsolete.", least=0, above=True
    ),
    v: float | None = option(None, "Transmission control: v in 1/s.  [default: Δ_T's number]", least=0),
    no_control: bool = option(False, "Without transmission control: every update is sent."),
    seed: int = option(1, "Random seed.", least=0),
    out: Path | None = option(
        None, "Folder of the training in wall time.  [default: training-TESTBED]", type=FOLDER
    ),
    resume: bool = option(False, "Go on with the training in that folder."),
    report: float = option(5.0, "Seconds between two lines of progress in wall time.", least=0, above=True),
    ray: str | None = option(
        None, "Ray cluster that runs the workers as tasks, each on the node that has its address; with"
        " --actors the workers stay here, and their actors play there.", metavar="ADDRESS",
    ),
    actors: str | None = option(
        None, "Actors of every worker, which is then their head: each is a process that sleeps while its"
        " worker learns; of A to B as many as the gradient's noise asks for (docs/training.md).",
        metavar="N|A..B",
    ),
    block: int = option(128, "Steps that an actor plays for an update.", least=2, most=65536),
    grow: int | None = option(
        None, "Instead of by the noise, from A to B by one after so many updates.", least=1, metavar="UPDATES"
    ),
    learners: str | None = option(
        None, "Heads that learn at a time, or with auto as many as the network carries; each has 4 actors"
        " without --actors.  [default: all]", metavar="N|auto",
    ),
    seconds: float | None = option(
        None, "Seconds after which no update begins, in virtual or wall time.", least=0, above=True
    ),
    price: float = option(
        0.765, "$ of an hour of a learner, such as a machine's divided by the learners that fit.", least=0
    ),
    cold_cost: float = option(
        2.0, "With --virtual, seconds to start a learner; in wall time it starts with its worker.", least=0
    ),
    keep_alive: float = option(
        600.0, "With --virtual, seconds without rows after which a learner ends.", least=0
    ),
    learn_cost: float = option(
        0.0001, "With --virtual and --actors: seconds for learning from one step.", least=0
    ),
    start_cost: float = option(0.0, "With --virtual and --actors: seconds to wake an actor.", least=0),
) -> None:  # fmt: skip
    """Train LunarLander-v3 through the deployed TESTBED.

    Each cluster that is not of an iswitch mode trains a policy of its own. In wall time every worker is a
    process with kernel sockets in its host's namespace (olafctl deploy --hosts); Ctrl-C ends it, and --resume
    goes on. With --virtual every datagram crosses the twin's P4 and Verilog, in one simulation. Needs the SDK
    (pip install ./sdk) and the extra [train].
    """
    if virtual and (out is not None or resume or ray is not None):
        raise click.UsageError("--out, --resume and --ray are for training in wall time")
    with importing("training", "pip install ./sdk './lab[train]'"):
        from olafctl.control import serving
        from olaflab.training import shown
        from olaflab.training.head import Crew
        from olaflab.training.plan import Pace, TrainingPlan
    from olafctl.control.deploy import act_as_hosts, use_deployment
    from olafctl.control.store import pick_store

    several, auto = _read_learners(learners)
    if actors is None and learners is not None:
        actors = _ACTORS
    crew = None if actors is None else _read_range(actors)
    if crew is not None and ray == "local":
        raise click.UsageError("--actors play on this machine without Ray: leave --ray out")
    if crew is not None and ray is not None:
        _reach_ray(ray)
    if crew is None and grow is not None:
        raise click.UsageError("--grow is for --actors")
    if step_cost is None:
        step_cost = 0.001 if virtual else 0.0
    if virtual and step_cost == 0:
        raise click.UsageError("with --virtual, --step-cost must be above 0: nothing else takes time")
    make = serving.make_policy(policy, 0.001, {})
    pace = Pace(step_cost, learn=learn_cost, start=start_cost)
    plan = TrainingPlan(updates, episodes, pace, seed, make, v, delta_t, not no_control, seconds=seconds)
    if crew is not None:
        made = Crew(*crew, block, grow or 0, several, ray, auto, price / 3600)
        if virtual:
            made = replace(made, cold=cold_cost, keep_alive=keep_alive)
        plan = replace(plan, crew=made)
    store = pick_store(testbed)
    if virtual:
        with use_deployment(store) as (deployed, running):
            trained, learnt, spent = _train_virtual(deployed, running, plan)
            counted = of_root(running.queues).read_all()
    else:
        with act_as_hosts(store) as (deployed, running):
            folder = out or Path(f"training-{deployed.name}")
            trained, learnt, counted = _train_live(
                deployed, running, store.folder, plan, folder, resume, report, ray if crew is None else None
            )
            spent = None
    counters = {name: counted[name] for name in _ENGINE}
    if as_json:
        found = {"clusters": [shown.as_json(cluster) for cluster in trained], "engine": counters}
        found |= {"learning": learnt} if learnt else {}
        print_json({**found, "seconds": spent} if spent else found)
        return
    shown.show_results([cluster for cluster in trained if cluster.steps], "virtual" if virtual else "wall")
    click.echo("\nengine: " + ", ".join(f"{value} {name}" for name, value in counters.items()))
    if learnt:
        shown.show_costs(learnt)
    if spent:
        parts = f"{spent['engine']:.3f} s in P4 and queues, {spent['messages']:.3f} s for its messages"
        click.echo(f"engine's processor time: {parts}, of {spent['whole']:.1f} s")


def _read_learners(text: str | None) -> tuple[int, bool]:
    """Read how many learners, 0 for all, and whether they follow the network."""
    if text is None or text == "auto":
        return 0, text == "auto"
    if not text.isdecimal() or int(text) < 1:
        raise click.UsageError(f"--learners {text}: give a number of 1 or more, or auto")
    return int(text), False


def _reach_ray(ray: str) -> None:
    """Check that a cluster answers. Raises BadInput where none does, MissingTool without Ray."""
    from olaf.errors import OlafError as SdkError

    with importing("--ray", _RAY):
        from olaf.elastic.placed import reach
    try:
        reach(ray)
    except SdkError as error:
        raise BadInput(Problem(str(error), f"--ray {ray}")) from error


def _read_range(text: str) -> tuple[int, int]:
    low, dots, high = text.partition("..")
    try:
        found = int(low), int(high if dots else low)
    except ValueError:
        raise click.UsageError(f"--actors {text}: give a number, or a range such as 4..32") from None
    if not 1 <= found[0] <= found[1] <= _MOST_ACTORS:
        raise click.UsageError(
            f"--actors {text}: 1 or more, the first not above the last, at most {_MOST_ACTORS}"
        )
    return found


def _find_admissions(deployed: "Testbed") -> dict[str, "Admit"]:
    """Map each cluster with an objective to a check that the daemon, if one answers, proves it."""
    from olafctl.daemon.api.client import daemon_listens
    from olaflab.training.admission import Proven

    governed = [cluster.name for cluster in deployed.clusters if cluster.objective]
    return {name: Proven(deployed.name, name) for name in governed} if daemon_listens() else {}


def _make_learning(deployed: "Testbed", plan: "TrainingPlan", now: float = 0.0) -> "Learning | None":
    """Make the accounting of heads that learn, or None without heads."""
    from olafctl.control import serving
    from olaflab.training.learning import Learning

    return None if plan.crew is None else Learning(serving.served_clusters(deployed), plan.crew, now)


def _train_virtual(
    deployed: "Testbed", running: "Running", plan: "TrainingPlan"
) -> tuple[list["ClusterFigures"], dict[str, Any], dict[str, float]]:
    """Train in virtual time; return the outcome, what its learners cost, and processor time: the engine's,
    and ``whole`` with this process'."""
    from olafctl.control import serving
    from olaflab.training.cosim.medium import EngineMedium
    from olaflab.training.shown import ProgressLine
    from olaflab.training.virtual import train_virtual

    begin = time.process_time()
    learning = _make_learning(deployed, plan)
    line = ProgressLine(learning)
    with closing(running.virtual_time()) as engine:
        medium, server = EngineMedium(engine, deployed), serving.host_of(deployed, None)
        done = train_virtual(medium, deployed, server, plan, line, learning=learning)
        spent = asdict(engine.spent)
    learnt = learning.close(line.time) if learning is not None else {}
    return done, learnt, {**spent, "whole": time.process_time() - begin + sum(spent.values())}


def _train_live(
    deployed: "Testbed",
    running: "Running",
    state: Path,
    plan: "TrainingPlan",
    folder: Path,
    resume: bool,
    report: float,
    ray: str | None,
) -> tuple[list["ClusterFigures"], dict[str, Any], dict[str, int]]:
    """Train live; return the outcome, what its learners cost, and what the engine counted."""
    from olafctl.control import serving
    from olafctl.control.hosts.deployed import are_wanted, namespace_of
    from olaflab.training.journal import Journal
    from olaflab.training.live import Counting, count_lost, train_live
    from olaflab.training.team import WorkerProcesses

    gather: Gather = WorkerProcesses
    if ray is not None:
        with importing("--ray", _RAY):
            from olaflab.training.machines import Machines
        gather = partial(Machines, ray)
    server, clusters = serving.host_of(deployed, None), serving.served_clusters(deployed)
    hosts = [server, *(worker for cluster in clusters for worker in cluster.workers)]
    elsewhere = ray is not None and not are_wanted(state)
    namespaces = {host.name: None if elsewhere else namespace_of(state, host.name) for host in hosts}
    counting = Counting(of_root(running.queues))
    journal = Journal(folder, clusters, resume)
    learning, last = _make_learning(deployed, plan, journal.begin), journal.begin

    def show(found: "Mapping[str, ClusterProgress]", server: "ParameterServer") -> None:
        nonlocal last
        for name, figures in found.items():
            last = figures.time
            age = "unknown" if figures.age_of_model is None else f"{figures.age_of_model:.3f} s"
            text = (
                f"{figures.time:7.1f} s  {name}: {figures.updates} updates  reward {figures.reward:.0f}  "
                f"sent {figures.sent:.0%}  P_s {figures.probability:.2f}  AoM {age}"
            )
            if figures.actors is not None:
                text += (
                    f"  {figures.actors:.0f} actors awake  ring {figures.fill:.0%}  lag {figures.lag}  "
                    f"waited {figures.waited:.2f} s"
                )
            print(text, file=sys.stderr)
        if learning is not None:
            print(f"{'':9}  {learning.format_progress(last)}", file=sys.stderr)
        counted = counting.look()
        message = f"engine: {count_lost(counted)} frames lost" if found else "waiting for the first update"
        if not counting.answers:
            message = f"the engine does not answer: olafctl deploy {deployed.name}; the training goes on then"
        print(f"{'':9}  {message}", file=sys.stderr, flush=True)
        _tell_daemon(state, found, server)

    try:
        trained = train_live(
            deployed,
            server,
            plan,
            namespaces,
            journal,
            report,
            show,
            gather,
            _find_admissions(deployed),
            learning,
        )
        return trained, {} if learning is None else learning.close(last), counting.look()
    finally:
        _end_journal(journal, folder)


def _tell_daemon(state: Path, found: "Mapping[str, ClusterProgress]", server: "ParameterServer") -> None:
    """Show it through the daemon that keeps the deployment, or only here if none answers."""
    from olafctl.control import serving
    from olafctl.daemon.keeping import open_keeper

    heads = [vars(head) for figures in found.values() for head in figures.heads]
    with suppress(OlafError), open_keeper(state) as daemon:
        if daemon is not None:
            daemon.call("ReportAges", deployment=state.name, **serving.make_reports(server), heads=heads)


def _end_journal(journal: "Journal", folder: Path) -> None:
    """Write what is left to write; a training does not fail for want of its picture."""
    try:
        picture = journal.close()
    except OlafError as error:
        print(f"warning: {error}", file=sys.stderr)
        return
    if picture is not None:
        print(f"{picture}; tensorboard --logdir {folder}", file=sys.stderr)
