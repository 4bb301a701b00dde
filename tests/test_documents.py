"""Each command, option, file and heading that a document names exists."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from olafctl import paths
from olafctl.cli.main import olafctl
from olafctl.targets import testbeds
from olaflab.main import olaflab
from olafswitch.cli.main import olafswitch
from olafswitch.errors import OlafError
from tests.packets import rule

ROOT = paths.sources()
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "sdk" / "README.md",
    ROOT / "switch" / "README.md",
]
SCRIPTS = sorted((ROOT / "testbeds").glob("*.sh"))

COMMANDS: dict[str, click.Command] = {"olafctl": olafctl, "olaflab": olaflab, "olafswitch": olafswitch}
COMMAND_LINE = re.compile(
    r"(?:^|[`(]|\$ |-- |&& |/bin/| {2}|[A-Z]=\S+ )(olafctl|olaflab|olafswitch) (-?[a-z-][^`|&;#<>)]*)"
)
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def _command_lines(page: Path) -> Iterator[tuple[str, str]]:
    """Yield each command that a page shows, and the words after it."""
    for line in page.read_text(encoding="utf-8").replace("\\\n", " ").splitlines():
        yield from COMMAND_LINE.findall(line)


def _find_problem(command: click.Command, line: str) -> str | None:
    """Return the part of a command line that does not exist; None when all of it does."""
    words = iter(line.partition(" -- ")[0].split())
    options = _command_options(command)
    for word in words:
        name = word.partition("=")[0]
        if re.match(r"--?[a-z]", name):
            if name not in options:
                return f"no option {name}"
            if not options[name].is_flag and "=" not in word:
                next(words, None)
        elif isinstance(command, click.Group):
            below = command.get_command(click.Context(command), word)
            if below is None:
                return f"no command {word}"
            command, options = below, _command_options(below)
    return None


def _command_options(command: click.Command) -> dict[str, click.Option]:
    options = [each for each in command.get_params(click.Context(command)) if isinstance(each, click.Option)]
    return {name: each for each in options for name in (*each.opts, *each.secondary_opts)}


def _page_anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", CODE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*PAGES, *SCRIPTS], ids=lambda page: page.name)
def test_commands_and_options_exist(page: Path) -> None:
    found = {line: _find_problem(COMMANDS[name], line) for name, line in _command_lines(page)}
    problems = {line: problem for line, problem in found.items() if problem}
    assert problems == {}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    dead = []
    for link in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        if "://" not in link and (not target.exists() or (anchor and anchor not in _page_anchors(target))):
            dead.append(link)
    assert dead == []


@pytest.mark.parametrize("section", ["", "engine", "clusters", "ports", "links", "hosts", "routes"])
def test_each_key_of_a_testbed_is_described(section: str, tmp_path: Path) -> None:
    """The error for an unknown key names all keys of its section."""
    wrong = "unknown_key: 1"
    text = {"": wrong, "engine": f"engine: {{{wrong}}}"}.get(section, f"{section}: [{{{wrong}}}]")
    file = tmp_path / "bed.yaml"
    file.write_text(f"engines: [{{name: one}}]\n{text}" if section == "links" else text)
    with pytest.raises(OlafError) as refused:
        testbeds.load_testbed(file)
    (output,) = re.findall(r"unknown_key: unknown key \(known here: (.*)\)", str(refused.value))
    page = (ROOT / "docs" / "testbeds.md").read_text(encoding="utf-8")
    assert [key for key in output.split(", ") if not re.search(rf"[`.{{ ]{key}[`:]", page)] == []


def test_the_threat_model_shows_the_rule_that_tests_ask_for() -> None:
    page = (ROOT / "docs" / "threats.md").read_text(encoding="utf-8")
    for table in rule.markdown().split("\n\n"):
        assert table in page


def test_what_the_checks_of_this_file_find() -> None:
    assert _find_problem(olafctl, "deploy --hosts laptop") is None
    assert _find_problem(olafctl, "--log-level info exec --deployment laptop ps -- ls --all") is None
    assert _find_problem(olafctl, "depoly laptop") == "no command depoly"
    assert _find_problem(olafctl, "deploy --host laptop") == "no option --host"
