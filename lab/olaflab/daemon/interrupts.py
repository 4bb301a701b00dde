"""Long commands, interrupted at random moments: what they leave behind."""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

import psutil

from olafctl.control.destroy import destroy
from olafctl.control.store import Role, Store, all_names, folder_of
from olafctl.network import interfaces
from olafctl.targets import processes

_MARK = "OLAF_INTERRUPTED_BY"
"""In the environment of every process that a sweep starts, and so of what those start."""
_PATIENCE = 60.0
_NAME = "interrupted"
_TESTBED = f"""
name: {_NAME}
engine: {{indices: 16, slots: 4, beats: 24, address: 10.0.0.250, output_rate: 1 Gb/s}}
ports: [{{numbers: 1-3, name: p, transport: unix}}]
parameter_servers: [{{name: ps, port: 1, ip: 10.0.0.254}}]
clusters:
  - name: red
    period: 1 ms
    workers: [{{name: r0, port: 2, ip: 10.0.1.1}}, {{name: r1, port: 3, ip: 10.0.1.2}}]
"""
_COMMANDS: Mapping[str, Sequence[str]] = {
    "build": ("olafctl", "build", "{bed}"),
    "deploy": ("olafctl", "deploy", "{bed}"),
    "deploy another target": ("olafctl", "deploy", "{bed}", "--target", "software"),
    "dry run": ("olafctl", "deploy", "{bed}", "--dry-run"),
    "hosts": ("olafctl", "deploy", "{hosted}", "--hosts"),
    "destroy": ("olafctl", "destroy", "--all"),
    "daemon": ("olafctl", "daemon", "{bed}", "--listen", "unix:{folder}/api.sock"),
    "server": ("olafctl", "server", "--listen", "127.0.0.1:0"),
    "test": ("olafctl", "test", "-k", "test_multicast"),
    "capture": ("olafctl", "capture", "p1", "-w", "{folder}/frames.pcapng"),
    "logs": ("olafctl", "logs", "-f"),
    "top": ("olafctl", "top"),
    "graph": ("olafctl", "graph", "--seconds", "60", "--text"),
    "shell": ("olafctl", "shell", "vnp4_1"),
    "exec": ("olafctl", "exec", "r0", "--", "sleep", "60"),
    "worker": ("olafctl", "worker", "join", "red", "10.0.1.9", "--port", "3", "--name", "late"),
    "verify": (
        *("olafctl", "verify", "nine-clusters", "--period", "9us", "--objective", "peak<=11us"),
        *("--timeout", "60"),
    ),
    "demo": ("olafctl", "demo", "--no-tests", "-o", "{folder}/demo"),
    "simulate": ("olaflab", "simulate", "{bed}", "--period", "1us", "--duration", "20ms"),
    "train": ("olaflab", "train", "{hosted}", "--updates", "50", "--out", "{folder}/training"),
    "train in virtual time": ("olaflab", "train", "{bed}", "--virtual", "--updates", "5"),
    "artos": ("olaflab", "reproduce", "artos", "asleep", "--trainings", "-o", "{folder}/artos"),
    "players": ("olaflab", "bench", "weights"),
    "control": ("olaflab", "bench", "control"),
    "replica": ("olaflab", "bench", "replica"),
}
"""Commands by a name, with ``{bed}`` and ``{hosted}`` for testbeds and ``{folder}`` for a folder."""
_STANDING: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(("test", "capture", "logs", "top", "graph", "shell", "worker", "destroy"), ("{bed}",)),
    **dict.fromkeys(("exec", "train"), ("{hosted}", "--hosts")),
}
"""What has to be deployed before a command."""


@dataclass
class Report:
    """What a sweep did, and found."""

    interrupted: Counter[str] = field(default_factory=Counter)
    """By command and signal."""
    left: list[str] = field(default_factory=list)
    """What was left, and after what."""


def sweep(count: int, seed: int, progress: Callable[[str], None]) -> Report:
    """Interrupt ``count`` commands, each by a signal and after a time that ``seed`` decides."""
    report, chance = Report(), random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="olaf-i") as scratch, mock.patch.dict(os.environ):
        home = Path(scratch)
        os.environ |= {"OLAF_STATE": str(home / "s"), _MARK: scratch}
        places = {"folder": home, "bed": home / "interrupted.yaml", "hosted": home / "hosted.yaml"}
        places["bed"].write_text(_TESTBED)
        hosted = _TESTBED.replace(f"name: {_NAME}", "name: hosted").replace(", transport: unix", "")
        places["hosted"].write_text(hosted)
        try:
            for number in range(count):
                name = chance.choice(list(_COMMANDS))
                how = chance.choice((signal.SIGINT, signal.SIGTERM))
                after = chance.choice((chance.uniform(0, 0.5), chance.uniform(0, 4)))
                progress(f"{number + 1} of {count}: {name}, {how.name} after {after:.2f} s")
                if name in _STANDING:
                    _begin(_filled(("olafctl", "deploy", *_STANDING[name]), places)).wait()
                words = _filled(_COMMANDS[name], places)
                report.interrupted[f"{name} {how.name}"] += 1
                what = f"{name}, {how.name} after {after:.2f} s"
                report.left += [f"{what}: {each}" for each in _interrupted(words, how, after, home)]
        finally:
            for name in all_names():
                destroy(Store(folder_of(name)))
        report.left += [f"at the end: {each}" for each in _marked(scratch)]
    return report


def _filled(words: Sequence[str], places: Mapping[str, Path]) -> list[str]:
    return [word.format_map(places) for word in words]


def _begin(words: Sequence[str]) -> subprocess.Popen[bytes]:
    line = [sys.executable, "-m", *words]
    nothing = subprocess.DEVNULL
    return subprocess.Popen(line, start_new_session=True, stdin=nothing, stdout=nothing, stderr=nothing)


def _interrupted(words: Sequence[str], how: signal.Signals, after: float, home: Path) -> list[str]:
    """What is left of a command that is interrupted ``after`` seconds and does not belong to a deployment."""
    command = _begin(words)
    time.sleep(after)  # a random moment: nothing is waited for
    # A terminal sends its signal to all of a command, any other sender to that process alone.
    send = os.killpg if how is signal.SIGINT else os.kill
    if command.poll() is None:
        send(command.pid, how)
    try:
        command.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        command.kill()
        command.wait()
        return [f"did not end within {_PATIENCE:g} s"]
    stores = [Store(folder_of(name)) for name in (_NAME, "hosted")]
    standing = [store.folder for store in stores if store.record(Role.RUNNING) is not None]
    own = {process.pid for folder in standing for process in processes.of(folder)}
    # A shell that notes how an engine's process ends has it as its child.
    left = [each for each in _marked(str(home)) if not own & {each.pid, *_children(each)}]
    psutil.wait_procs(left, 5)  # processes that were told to end may need a moment
    found = [f"process {each.pid} {_line(each)}" for each in left if processes.runs(each)]
    for folder in {store.folder for store in stores} - {*standing}:
        found += [f"interface {each}" for each in interfaces.left_of(folder)]
        found += [f"{path} stays" for path in folder.glob("*") if not path.name.startswith("olaf")]
    found += [f"{path} is half written" for path in (home / "s").rglob("*.new")]
    return found


def _marked(mark: str) -> list[psutil.Process]:
    """The processes of a sweep, without this one."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.environ().get(_MARK) == mark:
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found


def _children(process: psutil.Process) -> list[int]:
    try:
        return [child.pid for child in process.children(recursive=True)]
    except psutil.Error:
        return []


def _line(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline()[:5])
    except psutil.Error:
        return "that has ended"
