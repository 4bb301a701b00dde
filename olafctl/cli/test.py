"""``olafctl test``: the packet tests against what is deployed."""

import os
import sys
from pathlib import Path

import click

_USAGE_ERROR = 4
_NO_TESTS_RAN = 5


@click.command()
@click.argument("name", required=False)
@click.option(
    "--junit", type=click.Path(dir_okay=False, path_type=Path), help="Write a JUnit XML report here."
)
@click.option("-k", "expression", help="Only the tests that match, as pytest -k does.")
@click.option("-v", "--verbose", is_flag=True, help="One line for each test.")
@click.pass_context
def command(
    context: click.Context, name: str | None, junit: Path | None, expression: str | None, verbose: bool
) -> None:
    """Run the packet tests with real packets through deployment NAME (the only one, when left out).

    They fill and hold the queue for moments, so do not run them beside live training. Ends with 0 when
    all pass, 1 when one fails.
    """
    from olafctl import paths
    from olafctl.control import child
    from olafctl.control.deploy import using
    from olafctl.control.store import pick
    from olafctl.errors import BadInput, OlafError, Problem

    store = pick(name)
    home = paths.sources()
    if not (home / "tests" / "packets").is_dir():
        raise OlafError(Problem("the packet tests are not installed", str(home), "use a checkout of Olaf"))
    line = [sys.executable, "-m", "pytest", str(home / "tests" / "packets"), f"--rootdir={home}"]
    line += ["-p", "no:cacheprovider", "-rs"]
    line += ["-v"] if verbose else []
    line += ["-k", expression] if expression else []
    line += [f"--junit-xml={junit.resolve()}"] if junit else []
    environment = {**os.environ, "OLAF_TEST_DEPLOYMENT": store.folder.name}
    with using(store):
        code = child.run(line, folder=home, environment=environment)
    if code == _USAGE_ERROR:
        raise BadInput(Problem("pytest cannot run this", expression or "", "see what it says above"))
    if code == _NO_TESTS_RAN:
        raise BadInput(Problem("no packet test matches", expression or "", "see olafctl test -v"))
    context.exit(1 if code else 0)
