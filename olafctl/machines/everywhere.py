"""A deployment's machines as one target: each does its share, at the same time as the others."""

import base64
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

from olafctl.machines import builds
from olafctl.machines.client import MachineAgent, Unreachable, call_each
from olafctl.machines.running import Found, RunningEverywhere
from olafctl.targets import registry
from olafctl.targets.interface import Build, Progress
from olafctl.testbed.machines import without_machines
from olafctl.testbed.model import Testbed, TestbedMachine
from olafswitch import cache
from olafswitch.errors import BadInput, OlafError, Problem

_PIPELINES = "pipelines"
_STARTING = 180.0


class Everywhere:
    """The :class:`olafctl.targets.interface.Target` ``name`` on the machines of a testbed, except those
    ``away``."""

    def __init__(self, name: str, away: Collection[str] = ()) -> None:
        self.name = name
        self._away = away
        self._started: dict[str, MachineAgent] = {}
        self.is_first = False
        """Whether :meth:`start` refuses a testbed that runs already, started from elsewhere."""

    def missing(self) -> Sequence[str]:
        """Return nothing: the tools that a machine lacks are among its problems."""
        return []

    def build(self, testbed: Testbed, progress: Progress) -> Build:
        """Build on each machine what it does not have; the returned key stands for all. Raises OlafError."""
        said, give = partial(_report_step, progress), self._give_builds(testbed, progress)
        found = call_each(
            self._agents_of(testbed),
            lambda agent: agent.call(
                "Prepare", said(agent), None, give, **_part_fields(testbed, agent.machine)
            ),
        )
        keys = {name: answer["key"] for name, answer in sorted(found.items())}

        def write(folder: Path) -> None:
            (folder / "keys.json").write_text(json.dumps(keys, indent=1) + "\n")

        folder, _ = cache.build_once("machines", cache.digest([json.dumps(keys)]), write)
        return Build(folder, folder.name, any(answer["fresh"] for answer in found.values()))

    def _give_builds(self, testbed: Testbed, progress: Progress) -> Callable[[Any], Iterator[bytes]]:
        """Return a function that yields builds that machines lack; it builds all of them here, for the first
        machine."""
        lock, built = Lock(), list[bool]()

        def build() -> None:
            with lock:
                if not built:
                    progress("building for the machines")
                    registry.get_target(self.name).build(testbed, progress)
                    built.append(True)

        def give(asked: Any) -> Iterator[bytes]:
            try:
                yield from builds.give_archive(asked, build)
            except OlafError:  # a result that cannot be built here can be built there
                yield b""

        return give

    def problems(self, testbed: Testbed, state: Path) -> Sequence[Problem]:
        """List the problems of each machine's share, and every machine that cannot be reached. Raises
        Unreachable where nothing else is wrong."""

        away: list[Problem] = []

        def of(agent: MachineAgent) -> Sequence[Problem]:
            try:
                found = agent.call("Problems", **_part_fields(testbed, agent.machine))
            except Unreachable as error:
                away.extend(error.problems)
                return ()
            return [
                Problem(each["what"], f"{agent.machine.name}: {each['where']}", each["remedy"])
                for each in found
            ]

        problems = [problem for each in call_each(self._agents_of(testbed), of).values() for problem in each]
        if away and not problems:
            raise Unreachable(*away)
        return [*away, *problems]

    def start(self, testbed: Testbed, build: Build, state: Path, progress: Progress) -> RunningEverywhere:
        """Start every machine's share; a running one is left alone. Where one fails, those that were started
        now are ended. Raises OlafError."""
        known = self._agents_of(testbed)
        before = call_each(known, lambda agent: agent.call("Find"))
        said = partial(_report_step, progress)

        def begin(agent: MachineAgent) -> Found:
            name = agent.machine.name
            # An agent that is killed while it starts says nothing: a share that did not run before is ours.
            if before[name] is None and not self.is_first:
                self._started[name] = agent
            found: Found = agent.call("Start", said(agent), _STARTING, **_part_fields(testbed, agent.machine))
            if found.get("started", before[name] is None):
                self._started[name] = agent
            elif self.is_first:
                what = "was deployed from elsewhere meanwhile"
                remedy = "change it there, or take it over: olafctl deploy --take-over"
                raise OlafError(Problem(what, f"{name}: {testbed.name}", remedy))
            return found

        try:
            return self._running_of(testbed, known, call_each(known, begin), state)
        except BaseException:
            self.undo_start()
            raise

    def undo_start(self) -> None:
        """End what :meth:`start` has started, and nothing that was started from elsewhere."""
        call_each(self._started, _stop_quietly)
        self._started = {}

    def foresee(self, testbed: Testbed, state: Path) -> tuple[RunningEverywhere, Mapping[str, Sequence[str]]]:
        """Return the shares that :meth:`start` would leave running, and by machine the changes of its front
        ports, as lines of a diff. Raises OlafError."""
        known = self._agents_of(testbed)
        changes = call_each(
            known, lambda agent: agent.call("Foresee", **_part_fields(testbed, agent.machine))
        )
        staying = {name: agent for name, agent in known.items() if changes[name] is not None}
        found = call_each(staying, lambda agent: agent.call("Find"))
        return self._running_of(testbed, staying, found, state), {name: changes[name] for name in staying}

    def find(self, testbed: Testbed, state: Path) -> RunningEverywhere | None:
        """Return the running target, or None when some machine's share does not run. Raises Unreachable,
        naming each machine."""
        known = self._agents_of(testbed)
        found = call_each(known, lambda agent: agent.call("Find"))
        if any(part is None or not part["devices"] for part in found.values()):
            return None
        return self._running_of(testbed, known, found, state)

    def stop(self, state: Path) -> None:
        """Do nothing, as nothing runs here: see :func:`stop_everywhere`."""

    def _agents_of(self, testbed: Testbed) -> Mapping[str, MachineAgent]:
        return agents_of(without_machines(testbed, self._away))

    def _running_of(
        self, testbed: Testbed, known: Mapping[str, MachineAgent], found: Mapping[str, Found], state: Path
    ) -> RunningEverywhere:
        folder = state.resolve() / _PIPELINES
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name, part in found.items():
            for device in part["devices"]:
                for digest in (device["p4info"], device["config"]):
                    _fetch_pipeline(known[name], digest, folder / digest)
        return RunningEverywhere(without_machines(testbed, self._away), known, found, folder)


def agents_of(testbed: Testbed) -> Mapping[str, MachineAgent]:
    """Return the agents of the machines on which ``testbed`` has engines, by machine. Raises BadInput."""
    used = {engine.machine for engine in testbed.engines}
    return {each.name: MachineAgent(each, testbed.name) for each in testbed.machines if each.name in used}


def find_told_testbed(addresses: Sequence[str], name: str | None) -> tuple[str, str] | None:
    """Return the name and text of a testbed of which the first of ``addresses`` that answers has a share:
    ``name``, else its only one; None where it knows none. Raises OlafError."""
    errors: list[Problem] = []
    for address in addresses:
        try:
            return _ask_for_testbed(TestbedMachine("agent", address), name)
        except Unreachable as error:
            errors += error.problems
    raise Unreachable(*errors)


def _ask_for_testbed(machine: TestbedMachine, name: str | None) -> tuple[str, str] | None:
    if name is None:
        known = MachineAgent(machine, "").call("Describe")["deployments"]
        if len(known) != 1:
            what = f"the agent knows {len(known)} deployments"
            remedy = f"name one of them: {', '.join(known)}" if known else "olafctl deploy TESTBED"
            raise BadInput(Problem(what, machine.address, remedy))
        [name] = known
    found = MachineAgent(machine, name).call("Deployed")
    return None if found is None else (name, found["testbed"])


def find_unreachable(testbed: Testbed) -> Sequence[str]:
    """Return the machines that cannot be reached."""
    return [name for name, part in read_conditions(testbed).items() if part.get("away")]


def read_conditions(testbed: Testbed) -> Mapping[str, Found]:
    """Return each machine's description of its share; for a machine that is away, ``away`` is the reason."""

    def of(agent: MachineAgent) -> Found:
        try:
            return agent.call("Find") or {}
        except OlafError as error:
            return {"away": error.problems[0].what}

    return call_each(agents_of(testbed), of)


def find_alive(testbed: Testbed) -> Sequence[str]:
    """Return the machines on which the testbed runs."""
    return [name for name, part in read_conditions(testbed).items() if part.get("alive")]


def stop_everywhere(testbed: Testbed, but: Sequence[TestbedMachine] = ()) -> None:
    """End every machine's share, except on some. Raises OlafError with each failure; the others are ended."""
    addresses = {machine.address for machine in but}
    call_each(
        {name: each for name, each in agents_of(testbed).items() if each.machine.address not in addresses},
        lambda agent: agent.call("Stop", seconds=_STARTING),
    )


def _part_fields(testbed: Testbed, machine: TestbedMachine) -> dict[str, Any]:
    return {"testbed": testbed.text, "machine": machine.name}


def _report_step(progress: Progress, agent: MachineAgent) -> Callable[[Any], None]:
    return lambda step: progress(f"{agent.machine.name}: {step}")


def _stop_quietly(agent: MachineAgent) -> None:
    try:
        agent.call("Stop", seconds=_STARTING)
    except OlafError:
        return  # the reason why it did not start is reported


def _fetch_pipeline(agent: MachineAgent, digest: str, to: Path) -> None:
    """Store a file of a pipeline, unless it is here. Raises OlafError when it does not match its digest."""
    if to.exists():
        return
    data = base64.b64decode(agent.call("Pipeline", digest=digest))
    if cache.digest([data]) != digest:
        raise OlafError(Problem("sent a damaged pipeline", agent.machine.name, "deploy again"))
    new = to.with_suffix(".new")
    new.write_bytes(data)
    new.replace(to)
