"""Console and Python blocks of the pages run unchanged, in a session or another test, or say why not."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.blocks import ROOT, SESSIONS, Command, find_block, read_blocks, read_session

WEIGHTS = "tests/daemon/test_weights_page.py::test_the_blocks_of_the_page_reach_a_player"
TESTS = {
    ("docs/weights.md", "pub = "): WEIGHTS,
    ("docs/weights.md", "sub = "): WEIGHTS,
    ("sdk/README.md", "pub = "): WEIGHTS,
    ("sdk/README.md", "sub = "): WEIGHTS,
    ("docs/papers.md", "import json"): (
        "tests/lab/papers/test_pages.py::test_the_archives_can_be_read_without_this_project"
    ),
    ("docs/experience.md", "from olaf.experience import GOES_ON"): (
        "sdk/tests/experience/test_document.py::test_four_actors_and_a_learner"
    ),
}
"""Blocks that another test reads from the page and runs."""
REASONS = {
    (
        "docs/operations.md",
        "@ray.remote",
    ): "it is of several machines of a Ray cluster",
    ("docs/p4-to-fpga.md", "python frames.py"): "its program is one of p4lang's tutorials",
    ("docs/testbeds.md", "olafctl capture"): "Wireshark opens a window",
}
"""The reasons why no test can run a block."""
ALONE = 'mount -t tmpfs netns /run/netns && exec "$@"'
"""A command that separates the names of a session's namespaces from those of the machine."""
LOOP = """set -m -o pipefail
trap 'failed=${{failed:-$?}}' ERR
while IFS= read -r -d "" -u {fd} text; do
    failed=
    eval "$text"
    printf "\\n%s %s\\n" "$MARK" "${{failed:-$?}}"
done"""
"""A loop that answers each text with the exit code of the first of its commands that failed."""


def test_each_block_is_run_or_says_why_not() -> None:
    entries = Counter(find_block(*name) for name in (*TESTS, *REASONS))
    entries.update(block for path in SESSIONS for block in read_session(path).blocks)
    assert [(block.page, block.first) for block, times in entries.items() if times > 1] == [], (
        "several entries"
    )
    assert [(block.page, block.first) for block in read_blocks() if block not in entries] == [], "no entry"


@pytest.mark.parametrize("name", sorted(set(TESTS.values())))
def test_a_test_that_runs_blocks_has_them_from_the_page(name: str) -> None:
    file, function = name.split("::")
    text = (ROOT / file).read_text(encoding="utf-8")
    assert f"def {function}(" in text
    assert [page for (page, _), test in TESTS.items() if test == name and Path(page).name not in text] == []


class Shell:
    """A shell in a folder, with its own home and network, that gets one command at a time."""

    def __init__(self, folder: Path, internet: bool) -> None:
        self._output = folder / "output"
        self._mark = uuid.uuid4().hex
        self._read = 0
        (folder / "home").mkdir()
        (folder / "work").mkdir()
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("OLAF_", "PYTEST_"))
        }
        environment = {
            **kept,
            "HOME": str(folder / "home"),
            "PATH": f"{Path(sys.executable).parent}:{kept['PATH']}",
            "PYTHONUNBUFFERED": "1",
            "MARK": self._mark,
            "ROOT": str(ROOT),
            # Compilations are the same everywhere, so they are shared.
            "OLAF_CACHE": os.environ.get("OLAF_CACHE", str(Path.home() / ".cache" / "olaf")),
        }
        self._network = "" if internet else f"olaf-blocks-{os.getpid()}"
        inside = []
        if self._network:
            subprocess.run(["ip", "netns", "add", self._network], check=True)
            subprocess.run(["ip", "-n", self._network, "link", "set", "lo", "up"], check=True)
            inside = ["ip", "netns", "exec", self._network, "bash", "-c", ALONE, "alone"]
        reader, self._commands = os.pipe()
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                [*inside, "bash", "-c", LOOP.format(fd=reader)],
                cwd=folder / "work", env=environment, pass_fds=[reader], start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            )  # fmt: skip
        os.close(reader)

    def run_command(self, command: Command, exact: bool) -> None:
        """Run a command to its end and compare its output."""
        if command.until is None:
            self._send(command.text)
            printed, code = self._await_end()
            assert code == command.code, f"{command.text}\n{printed}\nended with {code}"
            if command.shown and command.text.endswith("&"):
                printed += self._await_text(command.pattern(exact))
            assert re.search(command.pattern(exact), printed), f"{command.text}\n{printed}\nnot as shown"
        else:
            text = re.sub(r"\s+# .*$", "", command.text)
            self._send(f"{{ {text}; code=$?; printf '%s ended' $MARK; exit $code; }} &")
            self._await_end()
            printed = self._await_text(rf"(?:{command.until})|{self._mark} ended")
            assert not printed.endswith(" ended"), f"{text}\n{printed}\nnot as awaited"
            self._send("kill -INT %%; wait %%")
            printed, code = self._await_end()
            assert code in (0, 130), f"{command.text}\n{printed}\nended with {code}"

    def _send(self, text: str) -> None:
        os.write(self._commands, text.encode() + b"\0")

    def _await_end(self) -> tuple[str, int]:
        printed = self._await_text(rf"\n{self._mark} \d+\n")
        text, _, code = printed.rpartition(self._mark)
        return text, int(code)

    def _await_text(self, pattern: str) -> str:
        """Return the output since the last call, to the end of this pattern."""
        while True:
            printed = self._output.read_text(encoding="utf-8", errors="replace")[self._read :]
            if found := re.search(pattern, printed):
                self._read += found.end()
                return printed[: found.end()]
            assert self._process.poll() is None, f"the shell has ended:\n{printed}"
            time.sleep(0.1)

    def close(self) -> None:
        """End all processes that the session has left."""
        self._kill_processes(but=self._process.pid)
        self._send("olafctl destroy --all")
        os.close(self._commands)
        self._process.wait()
        self._kill_processes()
        if self._network:
            subprocess.run(["ip", "netns", "del", self._network], check=True)

    def _kill_processes(self, but: int = 0) -> None:
        """Kill the processes of the shell's session, whatever group they are in."""
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(ProcessLookupError):
                if os.getsid(pid := int(entry.name)) == self._process.pid and pid != but:
                    os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize(
    "text", ["false\ntrue", "false | cat\ntrue", "f() { false; }; f; true", "false &\nwait $!\ntrue"]
)
def test_a_session_fails_with_any_of_its_commands(text: str, tmp_path: Path) -> None:
    shell = Shell(tmp_path, internet=True)
    try:
        with pytest.raises(AssertionError, match="ended with 1"):
            shell.run_command(Command(text), exact=False)
        shell.run_command(Command("true"), exact=False)
    finally:
        shell.close()


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_no_session_hides_a_failure_before_others(path: Path) -> None:
    """Bash neither ends nor traps where the first of two commands joined by && fails."""
    assert "&&" not in path.read_text(encoding="utf-8")


@pytest.fixture
def shell(request: pytest.FixtureRequest) -> Iterator[Shell]:
    # Its path is short, because of the UNIX sockets below it.
    folder = Path(tempfile.mkdtemp(prefix="blocks-"))
    shell = Shell(folder, read_session(request.getfixturevalue("path")).internet)
    yield shell
    shell.close()
    print((folder / "output").read_text(encoding="utf-8", errors="replace"))
    shutil.rmtree(folder)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root's rights")
@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_a_session_runs_as_it_stands(path: Path, shell: Shell) -> None:
    session = read_session(path)
    for command in session.commands:
        shell.run_command(command, session.exact)
