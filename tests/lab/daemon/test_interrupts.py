"""Long commands that are interrupted at random moments leave no process, interface or half-written file."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from olafctl.control.destroy import destroy_deployment
from olafctl.control.store import RecordRole, Store, all_names, folder_of
from olafctl.network import interfaces
from olafctl.targets import processes, registry

COUNT = "OLAF_INTERRUPTS"
"""Environment variable: how many commands are interrupted, 6 without it."""
MARK = "OLAF_INTERRUPTED_BY"
"""In the environment of every process that a test starts, and so of what those start."""
PATIENCE = 60.0
NAME = "interrupted"
TESTBED = f"""
name: {NAME}
engine: {{indices: 16, slots: 4, beats: 24, address: 10.0.0.250, output_rate: 1 Gb/s}}
ports: [{{numbers: 1-3, name: p, transport: unix}}]
parameter_servers: [{{name: ps, port: 1, ip: 10.0.0.254}}]
clusters:
  - name: red
    period: 1 ms
    workers: [{{name: r0, port: 2, ip: 10.0.1.1}}, {{name: r1, port: 3, ip: 10.0.1.2}}]
"""
COMMANDS: Mapping[str, Sequence[str]] = {
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
STANDING: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(("test", "capture", "logs", "top", "graph", "shell", "worker", "destroy"), ("{bed}",)),
    **dict.fromkeys(("exec", "train"), ("{hosted}", "--hosts")),
}
"""What has to be deployed before a command."""


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Provide a folder with both testbeds, whose processes carry a mark; everything is destroyed at the
    end."""
    home = tmp_path_factory.mktemp("i")
    monkeypatch.setenv("OLAF_STATE", str(home / "s"))
    monkeypatch.setenv(MARK, str(home))
    (home / "interrupted.yaml").write_text(TESTBED)
    hosted = TESTBED.replace(f"name: {NAME}", "name: hosted").replace(", transport: unix", "")
    (home / "hosted.yaml").write_text(hosted)
    yield home
    for name in all_names():
        destroy_deployment(Store(folder_of(name)))


@pytest.mark.slow
def test_interrupted_commands_leave_nothing(home: Path) -> None:
    if missing := registry.get_target("twin").missing():
        pytest.skip(f"needs {', '.join(missing)}")
    chance = random.Random(3)
    places = {"folder": home, "bed": home / "interrupted.yaml", "hosted": home / "hosted.yaml"}
    for _ in range(int(os.environ.get(COUNT, "6"))):
        name = chance.choice(list(COMMANDS))
        how = chance.choice((signal.SIGINT, signal.SIGTERM))
        after = chance.choice((chance.uniform(0, 0.5), chance.uniform(0, 4)))
        if name in STANDING:
            begin_command(("olafctl", "deploy", *STANDING[name]), places).wait()
        left = left_by(begin_command(COMMANDS[name], places), how, after, home)
        assert left == [], f"{name}, {how.name} after {after:.2f} s"
    for name in all_names():
        destroy_deployment(Store(folder_of(name)))
    assert marked_processes(home) == []


def begin_command(words: Sequence[str], places: Mapping[str, Path]) -> subprocess.Popen[bytes]:
    line = [sys.executable, "-m", *(word.format_map(places) for word in words)]
    nothing = subprocess.DEVNULL
    return subprocess.Popen(line, start_new_session=True, stdin=nothing, stdout=nothing, stderr=nothing)


def left_by(command: subprocess.Popen[bytes], how: signal.Signals, after: float, home: Path) -> list[str]:
    """Interrupt a command and list what it leaves that belongs to no deployment."""
    time.sleep(after)  # a random moment: nothing is waited for
    # A terminal sends its signal to all of a command, any other sender to that process alone.
    if command.poll() is None:
        (os.killpg if how is signal.SIGINT else os.kill)(command.pid, how)
    try:
        command.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        command.kill()
        command.wait()
        return [f"did not end within {PATIENCE:g} s"]
    stores = [Store(folder_of(name)) for name in (NAME, "hosted")]
    standing = [store.folder for store in stores if store.record(RecordRole.RUNNING) is not None]
    own = {process.pid for folder in standing for process in processes.find_processes(folder)}
    # A shell that notes how an engine's process ends has it as its child.
    left = [each for each in marked_processes(home) if not own & {each.pid, *child_processes(each)}]
    psutil.wait_procs(left, 5)  # processes that were asked to end may need a moment
    found = [f"process {each}" for each in left if processes.is_running(each)]
    for folder in {store.folder for store in stores} - {*standing}:
        found += [f"interface {each}" for each in interfaces.left_of(folder)]
        found += [f"{path} stays" for path in folder.glob("*") if not path.name.startswith("olaf")]
    return found + [f"{path} is half written" for path in (home / "s").rglob("*.new")]


def marked_processes(home: Path) -> list[psutil.Process]:
    """Return the processes that the commands have started."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.pid != os.getpid() and process.environ().get(MARK) == str(home):
                found.append(process)
    return found


def child_processes(process: psutil.Process) -> list[int]:
    with suppress(psutil.Error):
        return [child.pid for child in process.children(recursive=True)]
    return []
