"""Each command, option, file and heading that a document names is there."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from olafctl import paths
from olafctl.cli.main import olafctl
from olafctl.errors import OlafError
from olafctl.targets import testbeds

ROOT = paths.sources()
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "sdk" / "README.md",
]
SCRIPTS = sorted((ROOT / "testbeds").glob("*.sh"))

COMMAND_LINE = re.compile(r"(?:^|[`(]|\$ |-- |&& |/bin/| {2}|[A-Z]=\S+ )olafctl (-?[a-z-][^`|&;#<>)]*)")
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def _command_lines(page: Path) -> Iterator[str]:
    """What follows `olafctl` where a page shows a command."""
    for line in page.read_text(encoding="utf-8").replace("\\\n", " ").splitlines():
        yield from COMMAND_LINE.findall(line)


def _problem(line: str) -> str | None:
    """What in a command line does not exist; None when all of it does."""
    words = iter(line.partition(" -- ")[0].split())
    command: click.Command = olafctl
    options = _options(command)
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
            command, options = below, _options(below)
    return None


def _options(command: click.Command) -> dict[str, click.Option]:
    options = [each for each in command.get_params(click.Context(command)) if isinstance(each, click.Option)]
    return {name: each for each in options for name in (*each.opts, *each.secondary_opts)}


def _anchors(page: Path) -> set[str]:
    """Those of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", CODE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*PAGES, *SCRIPTS], ids=lambda page: page.name)
def test_commands_and_options_exist(page: Path) -> None:
    problems = {line: problem for line in _command_lines(page) if (problem := _problem(line))}
    assert problems == {}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    dead = []
    for link in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        if "://" not in link and (not target.exists() or (anchor and anchor not in _anchors(target))):
            dead.append(link)
    assert dead == []


@pytest.mark.parametrize("section", ["", "engine", "clusters", "ports", "links", "hosts", "routes"])
def test_each_key_of_a_testbed_is_described(section: str, tmp_path: Path) -> None:
    """The error for an unknown key names all keys of its section."""
    wrong = "nobody_knows_this: 1"
    text = {"": wrong, "engine": f"engine: {{{wrong}}}"}.get(section, f"{section}: [{{{wrong}}}]")
    file = tmp_path / "bed.yaml"
    file.write_text(f"engines: [{{name: one}}]\n{text}" if section == "links" else text)
    with pytest.raises(OlafError) as refused:
        testbeds.load(file)
    (said,) = re.findall(r"nobody_knows_this: unknown key \(known here: (.*)\)", str(refused.value))
    page = (ROOT / "docs" / "testbeds.md").read_text(encoding="utf-8")
    assert [key for key in said.split(", ") if not re.search(rf"[`.{{ ]{key}[`:]", page)] == []


def test_what_the_checks_of_this_file_find() -> None:
    assert _problem("deploy --hosts laptop") is None
    assert _problem("--log-level info exec --deployment laptop ps -- ls --all") is None
    assert _problem("depoly laptop") == "no command depoly"
    assert _problem("deploy --host laptop") == "no option --host"
