"""The console and Python blocks of the pages, and the sessions of ``tests/sessions`` that run them.

A session is a shell script. A line ``#: PAGE: FIRST`` in it stands for the commands of the page's block that
begins with FIRST; ``#: PAGE: FIRST -> FILE`` writes the block into a file. Other lines describe the commands
that begin with COMMAND, from there on:

``#exit 1: COMMAND``          it ends with this exit code
``#interrupt TEXT: COMMAND``  Ctrl-C ends it once it has printed this pattern, or what the page shows
``#leave REASON: COMMAND``    it is not run

``#internet`` says that the session fetches something, ``#exact`` that the page's figures are what is printed.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted(ROOT.glob("*/README.md")),
]
SESSIONS = sorted((ROOT / "tests" / "sessions").glob("*.sh"))
FENCED = re.compile(r"^```(console|sh|bash|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INCLUDED = re.compile(r"#: (?P<page>\S+): (?P<first>.*?)(?: -> (?P<file>\S+))?")
RULE = re.compile(r"#(?P<verb>exit|interrupt|leave) ?(?P<what>.*): (?P<command>.*)")
HEREDOC = re.compile(r"<<'(\w+)'")
VARIES = re.compile(r"[0-9a-f.]*[0-9][0-9a-f.]*")


@dataclass(frozen=True)
class Command:
    """A command as a shell takes it, and the output that the page shows."""

    text: str
    shown: str = ""
    code: int = 0
    until: str | None = None
    """The pattern of the output after which Ctrl-C ends the command."""

    def pattern(self, exact: bool) -> str:
        """Return a pattern of the shown output: ``…`` is anything, and a number any number unless exact."""
        lines = []
        for line in self.shown.splitlines():
            words = re.split(r"(\s+|─+|…)", line.strip())
            pattern = "".join(self._word_pattern(word, exact) for word in words)
            lines.append(r"[\s\S]*?" if pattern == ".*" else pattern)
        return r"\s+".join(lines)

    @staticmethod
    def _word_pattern(word: str, exact: bool) -> str:
        if word == "…":
            return ".*"
        if word.isspace():
            return r"\s+"
        if word.startswith("─"):
            return "─+"
        literal = VARIES.split(word)
        return re.escape(word) if exact else r"[0-9a-f.]+".join(map(re.escape, literal))


@dataclass(frozen=True)
class PageBlock:
    """A fenced block of a page."""

    page: str
    language: str
    text: str

    @property
    def first(self) -> str:
        """The block's first line; with the page it names the block."""
        return self.text.partition("\n")[0].removeprefix("$ ")

    def commands(self) -> list[Command]:
        """Return the commands behind ``$``, with the text that each reads; other lines are output."""
        found: list[Command] = []
        end = None
        for line in self.text.splitlines():
            if end is None and line.startswith("$ "):
                found.append(Command(line[2:]))
                heredoc = HEREDOC.search(line)
                end = heredoc and heredoc[1]
            elif end is None:
                found[-1] = replace(found[-1], shown=f"{found[-1].shown}{line}\n")
            else:
                found[-1] = replace(found[-1], text=f"{found[-1].text}\n{line}")
                end = None if line == end else end
        return found


def read_blocks() -> list[PageBlock]:
    """Return all blocks of all pages."""
    return [
        PageBlock(str(page.relative_to(ROOT)), language, text)
        for page in PAGES
        for language, text in FENCED.findall(page.read_text(encoding="utf-8"))
    ]


def find_block(page: str, first: str) -> PageBlock:
    """Return the block of a page whose first line begins with ``first``."""
    found = [each for each in read_blocks() if each.page == page and each.first.startswith(first)]
    assert len(found) == 1, f"{page} has {len(found)} blocks that begin with {first!r}"
    return found[0]


@dataclass(frozen=True)
class PageSession:
    """A script that runs blocks."""

    path: Path
    commands: list[Command] = field(default_factory=list)
    blocks: list[PageBlock] = field(default_factory=list)

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @property
    def exact(self) -> bool:
        return "#exact\n" in self.text

    @property
    def internet(self) -> bool:
        return "#internet\n" in self.text


def read_session(path: Path) -> PageSession:
    """Return the blocks that a script runs, and its commands with the blocks' in their places."""
    session = PageSession(path)
    rules: list[re.Match[str]] = []
    own = ""
    for line in session.text.splitlines():
        if rule := RULE.fullmatch(line):
            rules.append(rule)
        elif included := INCLUDED.fullmatch(line):
            session.commands.append(Command(own))
            own = ""
            block = find_block(included["page"], included["first"])
            session.blocks.append(block)
            if included["file"]:
                (session.commands.append(Command(f"cat > {included['file']} <<'BLOCK'\n{block.text}BLOCK")))
            else:
                session.commands.extend(_apply_rules(block, rules))
        else:
            own += f"{line}\n"
    session.commands.append(Command(own))
    return session


def _apply_rules(block: PageBlock, rules: list[re.Match[str]]) -> Iterator[Command]:
    assert block.language != "python", f"{block.page}: a Python block needs a file"
    for command in block.commands():
        for rule in rules:
            if not command.text.startswith(rule["command"]):
                continue
            if rule["verb"] == "leave":
                break
            if rule["verb"] == "exit":
                command = replace(command, code=int(rule["what"]))
            else:
                until = rule["what"] or command.pattern(exact=False)
                assert until, f"{block.page}: what ends {command.text!r}?"
                command = replace(command, until=until)
        else:
            yield command
