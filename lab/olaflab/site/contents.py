"""Pages of the site in their order, and the folder that Sphinx reads them from."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from olafctl import paths
from olaflab.site import classes, commands, daemon_api, p4runtime
from olaflab.sources import opennic, queue, wire_page

FRONT = "index"
PATTERNS = (
    f"{FRONT}.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "docs/**.md",
    "sdk/README.md",
    "switch/README.md",
    "reference/**",
)
_COPIED = ("CONTRIBUTING.md", "CHANGELOG.md", "sdk/README.md", "switch/README.md", "docs")
_LINKED = ("lab", "olafctl", "packaging", "sdk/examples", "templates", "testbeds", "testkit", "tests")
"""Where files lie that pages offer. The pages are copies: Sphinx resolves links before it compares places."""
_HAND_WRITTEN: Mapping[str, Sequence[str]] = {
    "Use": (
        "docs/install", "docs/testbeds", "docs/software", "switch/README", "docs/p4", "docs/drop-in",
        "docs/json",
    ),
    "Train": (
        "sdk/README", "docs/training", "docs/replica", "docs/experience", "docs/staleness",
        "docs/traces", "docs/simulate", "docs/verify",
    ),
    "Operate": (
        "docs/operations", "docs/daemon", "docs/threats",
        "docs/opennic", "docs/corundum",
    ),
    "Results": (
        "docs/equal-terms", "docs/figures", "docs/papers/olaf", "docs/papers/iswitch",
        "docs/papers/stellaris", "docs/papers/artos", "docs/papers/marl", "docs/papers/departures",
        "docs/formal",
    ),
    "Formats": ("docs/wire-format", "docs/registers", "docs/opennic-registers", "docs/segments"),
    "Develop": ("docs/architecture", "CONTRIBUTING", "docs/glossary", "docs/papers", "CHANGELOG"),
}  # fmt: skip


def write_sources(folder: Path) -> None:
    """Make ``folder``: the documents, the generated pages, and the front page with the list of both."""
    home = paths.sources()
    made = {
        "Commands": commands.command_pages(),
        "Python": classes.class_pages(),
        "Interfaces": {**daemon_api.api_pages(), **p4runtime.table_pages()},
    }
    folder.mkdir(parents=True)
    for name in _COPIED:
        (folder / name).parent.mkdir(exist_ok=True)
        (shutil.copytree if (home / name).is_dir() else shutil.copy)(home / name, folder / name)
    for name in _LINKED:
        (folder / name).symlink_to(home / name)
    for pages in (queue.pages(), opennic.pages(), wire_page.pages(), *made.values()):
        for name, text in pages.items():
            place = folder / f"{name}.md"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
    listed = {**_hand_written(home), **{title: tuple(pages) for title, pages in made.items()}}
    front = (home / "README.md").read_text(encoding="utf-8")
    (folder / f"{FRONT}.md").write_text("\n".join([front, *_navigation_trees(listed)]), encoding="utf-8")


def _hand_written(home: Path) -> Mapping[str, Sequence[str]]:
    """Return the documents by title; one that has no place yet is the last of the first title."""
    placed = {name for names in _HAND_WRITTEN.values() for name in names}
    others = {f"docs/{path.stem}" for path in (home / "docs").glob("*.md")} - placed
    first = next(iter(_HAND_WRITTEN))
    return {**_HAND_WRITTEN, first: [*_HAND_WRITTEN[first], *sorted(others)]}


def _navigation_trees(listed: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield the navigation: a list of pages for each title, shown beside every page and not on the front
    page."""
    for title, names in listed.items():
        yield "\n".join(
            ["", "```{toctree}", ":hidden:", f":caption: {title}", ":maxdepth: 1", "", *names, "```"]
        )
