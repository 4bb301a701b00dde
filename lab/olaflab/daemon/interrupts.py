"""The product's long commands, interrupted at random moments: what they leave behind."""

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
_TESTBED = """
name: interrupted
engine: {indices: 16, slots: 4, beats: 24, address: 10.0.0.250, output_rate: 1 Gb/s}
ports: [{numbers: 1-3, name: p, transport: unix}]
parameter_servers: [{name: ps, port: 1, ip: 10.0.0.254}]
clusters:
  - {name: red, period: 1 ms, workers: [{name: r0, port: 2, ip: 10.0.1.1}, {name: r1, port: 3, ip: 10.0.1.2}]}
"""
_COMMANDS: Mapping[str, Sequence[str]] = {
    "build": ("build", "{bed}"),
    "deploy": ("deploy", "{bed}"),
    "deploy another target": ("deploy", "{bed}", "--target", "software"),
    "dry run": ("deploy", "{bed}", "--dry-run"),
    "destroy": ("destroy", "--all"),
    "daemon": ("daemon", "{bed}", "--listen", "unix:{folder}/api.sock"),
    "server": ("server", "--listen", "127.0.0.1:0"),
    "test": ("test", "-k", "test_multicast"),
    "capture": ("capture", "p1", "-w", "{folder}/frames.pcapng"),
    "logs": ("logs", "-f"),
    "top": ("top",),
    "graph": ("graph", "--seconds", "60", "--text"),
    "worker": ("worker", "join", "red", "10.0.1.9", "--port", "3", "--name", "late"),
    "verify": ("verify", "nine-clusters", "--period", "9us", "--objective", "peak<=11us", "--timeout", "60"),
}
"""Commands by a name, with ``{bed}`` for the testbed and ``{folder}`` for a folder of their own."""
_STANDING = ("test", "capture", "logs", "top", "graph", "worker", "destroy")
"""Commands that need a deployment."""


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
        bed = home / "interrupted.yaml"
        bed.write_text(_TESTBED)
        try:
            for number in range(count):
                name = chance.choice(list(_COMMANDS))
                how = chance.choice((signal.SIGINT, signal.SIGTERM))
                after = chance.choice((chance.uniform(0, 0.5), chance.uniform(0, 4)))
                progress(f"{number + 1} of {count}: {name}, {how.name} after {after:.2f} s")
                if name in _STANDING:
                    _olafctl("deploy", str(bed)).wait(_PATIENCE)
                words = [word.format(bed=bed, folder=home) for word in _COMMANDS[name]]
                report.interrupted[f"{name} {how.name}"] += 1
                what = f"{name}, {how.name} after {after:.2f} s"
                report.left += [f"{what}: {each}" for each in _interrupted(words, how, after, home)]
        finally:
            for name in all_names():
                destroy(Store(folder_of(name)))
        report.left += [f"at the end: {each}" for each in _marked(scratch)]
    return report


def _olafctl(*words: str) -> subprocess.Popen[bytes]:
    line = [sys.executable, "-m", "olafctl", *words]
    nothing = subprocess.DEVNULL
    return subprocess.Popen(line, start_new_session=True, stdin=nothing, stdout=nothing, stderr=nothing)


def _interrupted(words: Sequence[str], how: signal.Signals, after: float, home: Path) -> list[str]:
    """What is left of a command that is interrupted ``after`` seconds and does not belong to a deployment."""
    command = _olafctl(*words)
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
    store = Store(folder_of("interrupted"))
    stands = store.record(Role.RUNNING) is not None
    own = {process.pid for process in processes.of(store.folder)} if stands else set[int]()
    # A shell that notes how an engine's process ends has it as its child.
    left = [each for each in _marked(str(home)) if not own & {each.pid, *_children(each)}]
    psutil.wait_procs(left, 5)  # processes that were told to end may need a moment
    found = [f"process {each.pid} {_line(each)}" for each in left if processes.runs(each)]
    if not stands:
        found += [f"interface {each}" for each in interfaces.left_of(store.folder)]
        found += [f"{path} stays" for path in store.folder.glob("*") if not path.name.startswith("olaf")]
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
