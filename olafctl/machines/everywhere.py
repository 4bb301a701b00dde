"""A deployment's machines as one target: each does its share, at the same time as the others."""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from olafctl.machines.client import Agent, Unreachable
from olafctl.machines.running import Found, RunningEverywhere
from olafctl.targets.interface import Build, Progress
from olafctl.testbed.model import Machine, Testbed
from olafswitch import cache
from olafswitch.errors import BadInput, OlafError, Problem

_AT_ONCE = 32
_PIPELINES = "pipelines"
_STARTING = 180.0
_T = TypeVar("_T")


class Everywhere:
    """See :class:`olafctl.targets.interface.Target`: the target ``name`` on the machines of a testbed."""

    def __init__(self, name: str) -> None:
        self.name = name

    def missing(self) -> Sequence[str]:
        """Nothing here: what a machine lacks is among its problems."""
        return []

    def build(self, testbed: Testbed, progress: Progress) -> Build:
        """Each machine builds what it does not have; the key stands for all of it. Raises OlafError."""
        said = partial(_say, progress)
        found = _each(
            agents(testbed),
            lambda agent: agent.call("Prepare", said(agent), None, **_part(testbed, agent.machine)),
        )
        keys = {name: answer["key"] for name, answer in sorted(found.items())}

        def write(folder: Path) -> None:
            (folder / "keys.json").write_text(json.dumps(keys, indent=1) + "\n")

        folder, _ = cache.build_once("machines", cache.digest([json.dumps(keys)]), write)
        return Build(folder, folder.name, any(answer["fresh"] for answer in found.values()))

    def problems(self, testbed: Testbed, state: Path) -> Sequence[Problem]:
        """What keeps each machine from its share, and every machine that cannot be reached."""

        def of(agent: Agent) -> Sequence[Problem]:
            try:
                found = agent.call("Problems", **_part(testbed, agent.machine))
            except Unreachable as error:
                return error.problems
            return [
                Problem(each["what"], f"{agent.machine.name}: {each['where']}", each["remedy"])
                for each in found
            ]

        return [problem for each in _each(agents(testbed), of).values() for problem in each]

    def start(self, testbed: Testbed, build: Build, state: Path, progress: Progress) -> RunningEverywhere:
        """Every machine's share; one that runs already is left alone. Where one fails, those that were
        started now are ended. Raises OlafError."""
        known = agents(testbed)
        before = _each(known, lambda agent: agent.call("Find"))
        said = partial(_say, progress)
        try:
            found = _each(
                known,
                lambda agent: agent.call("Start", said(agent), _STARTING, **_part(testbed, agent.machine)),
            )
        except BaseException:
            fresh = {name: agent for name, agent in known.items() if before[name] is None}
            _each(fresh, _stop_quietly)
            raise
        return self._running(testbed, known, found, state)

    def find(self, testbed: Testbed, state: Path) -> RunningEverywhere | None:
        """What runs, or None when some machine's share does not. Raises Unreachable, naming each machine."""
        known = agents(testbed)
        found = _each(known, lambda agent: agent.call("Find"))
        if any(part is None or not part["devices"] for part in found.values()):
            return None
        return self._running(testbed, known, found, state)

    def stop(self, state: Path) -> None:
        """Nothing runs here, see :func:`stop`."""

    def _running(
        self, testbed: Testbed, known: Mapping[str, Agent], found: Mapping[str, Found], state: Path
    ) -> RunningEverywhere:
        folder = state.resolve() / _PIPELINES
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name, part in found.items():
            for device in part["devices"]:
                for digest in (device["p4info"], device["config"]):
                    _fetch(known[name], digest, folder / digest)
        return RunningEverywhere(testbed, known, found, folder)


def agents(testbed: Testbed) -> Mapping[str, Agent]:
    """The agents of the machines on which ``testbed`` has engines, by machine. Raises BadInput."""
    used = {engine.machine for engine in testbed.engines}
    return {each.name: Agent(each, testbed.name) for each in testbed.machines if each.name in used}


def conditions(testbed: Testbed) -> Mapping[str, Found]:
    """What each machine says of its share; of one that is away, ``away`` says why."""

    def of(agent: Agent) -> Found:
        try:
            return agent.call("Find") or {}
        except OlafError as error:
            return {"away": error.problems[0].what}

    return _each(agents(testbed), of)


def stop(testbed: Testbed, but: Sequence[Machine] = ()) -> None:
    """End every machine's share, except on some. Raises OlafError with each that could not; the others are
    ended."""
    addresses = {machine.address for machine in but}
    _each(
        {name: each for name, each in agents(testbed).items() if each.machine.address not in addresses},
        lambda agent: agent.call("Stop", seconds=_STARTING),
    )


def _part(testbed: Testbed, machine: Machine) -> dict[str, Any]:
    return {"testbed": testbed.text, "machine": machine.name}


def _say(progress: Progress, agent: Agent) -> Callable[[Any], None]:
    return lambda step: progress(f"{agent.machine.name}: {step}")


def _each(known: Mapping[str, Agent], act: Callable[[Agent], _T]) -> Mapping[str, _T]:
    """What ``act`` gives for every machine, done at once. Raises OlafError with the problems of all,
    Unreachable where machines are away and nothing else is wrong."""
    if not known:
        return {}
    found: dict[str, _T] = {}
    errors: list[OlafError] = []
    with ThreadPoolExecutor(min(len(known), _AT_ONCE), "machines") as pool:
        for name, future in [(name, pool.submit(act, agent)) for name, agent in known.items()]:
            try:
                found[name] = future.result()
            except OlafError as error:
                errors.append(error)
    if errors:
        problems = [problem for error in errors for problem in error.problems]
        kinds = {type(error) for error in errors}
        kind = kinds.pop() if len(kinds) == 1 else OlafError
        raise (kind if kind in (Unreachable, BadInput) else OlafError)(*problems)
    return found


def _stop_quietly(agent: Agent) -> None:
    try:
        agent.call("Stop", seconds=_STARTING)
    except OlafError:
        return  # what kept it from starting is reported


def _fetch(agent: Agent, digest: str, to: Path) -> None:
    """A file of a pipeline, unless it is here. Raises OlafError when it is not what it is named after."""
    if to.exists():
        return
    data = base64.b64decode(agent.call("Pipeline", digest=digest))
    if cache.digest([data]) != digest:
        raise OlafError(Problem("sent a damaged pipeline", agent.machine.name, "deploy again"))
    new = to.with_suffix(".new")
    new.write_bytes(data)
    new.replace(to)
