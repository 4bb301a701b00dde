"""``olafctl test``: run the packet tests against a deployment."""

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from xml.etree import ElementTree

import click

from olafctl.cli import naming
from olafswitch.console.output import json_option, print_json

_USAGE_ERROR = 4
_NO_TESTS_RAN = 5
_OUTCOMES = {"failure": "failed", "error": "failed", "skipped": "skipped"}
"""JUnit's words for outcomes other than a pass, and ours."""


@click.command()
@naming.deployment_option
@click.option(
    "--junit", type=click.Path(dir_okay=False, path_type=Path), help="Write a JUnit XML report here."
)
@click.option("-k", "expression", help="Only the tests that match, as pytest -k does.")
@click.option("-v", "--verbose", is_flag=True, help="One line for each test.")
@json_option("Print JSON; what pytest says goes to standard error.")
@click.pass_context
def command(
    context: click.Context,
    deployment: str | None,
    junit: Path | None,
    expression: str | None,
    verbose: bool,
    as_json: bool,
) -> None:
    """Run the packet tests through a deployment.

    The tests fill and hold the queue for moments, so do not run them during a training. Exit code 1 when one
    fails.
    """
    from olafctl.control import child
    from olafctl.control.deploy import use_deployment
    from olafctl.control.hosts import deployed, distant
    from olafctl.control.store import pick_store
    from olafctl.paths import sources
    from olafswitch.errors import BadInput, OlafError, Problem

    if junit is not None:
        _check_writable(junit)
    store = pick_store(deployment)
    home = sources()
    if not (home / "tests" / "packets").is_dir():
        raise OlafError(Problem("the packet tests are not installed", str(home), "use a checkout of Olaf"))
    line = [sys.executable, "-m", "pytest", str(home / "tests" / "packets"), f"--rootdir={home}"]
    # The settings here are those of the project's own tests, which may name a plugin that is not installed.
    line += ["-p", "no:cacheprovider", "-rfE", "-Wignore::pytest.PytestConfigWarning"]
    line += ["-v"] if verbose else []
    line += [f"-k{expression}"] if expression else []  # one word, or pytest takes -x for an option of its own
    environment = {**settings_from_elsewhere(os.environ), "OLAF_TEST_DEPLOYMENT": store.folder.name}
    with TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.xml"
        line += [f"--junit-xml={report}"]
        with use_deployment(store) as (bed, _):
            quiet = distant.pause_during(bed) if bed.machines else deployed.pause_during(store.folder)
            output = sys.stderr if as_json else None
            with quiet:
                code = child.run_child(line, folder=home, environment=environment, output=output)
        if code == _USAGE_ERROR:
            raise BadInput(Problem("pytest cannot run this", expression or "", "see what it says above"))
        if code == _NO_TESTS_RAN:
            raise BadInput(Problem("no packet test matches", expression or "", "see olafctl test -v"))
        if junit is not None and report.is_file():
            _save_report(report, junit)
        if as_json:
            print_json(_read_report(report))
    context.exit(1 if code else 0)


def settings_from_elsewhere(environment: Mapping[str, str]) -> dict[str, str]:
    """Return ``environment`` with the paths in Olaf's settings absolute, for another folder."""
    from olafswitch import paths

    changed = {"OLAF_STATE": str(paths.state().resolve()), "OLAF_CACHE": str(paths.cache().resolve())}
    if certificates := environment.get("OLAF_CERTS"):
        changed["OLAF_CERTS"] = str(Path(certificates).resolve())
    if (card := environment.get("OLAF_CARD", "")) and Path(card).exists():
        changed["OLAF_CARD"] = str(Path(card).resolve())
    if (daemon := environment.get("OLAF_DAEMON", "")).startswith("unix:"):
        changed["OLAF_DAEMON"] = f"unix:{Path(daemon.removeprefix('unix:')).resolve()}"
    return {**environment, **changed}


def _check_writable(junit: Path) -> None:
    """Raise BadInput, before minutes of tests, when their report could not be written."""
    from olafswitch.errors import BadInput, Problem

    try:
        junit.parent.mkdir(parents=True, exist_ok=True)
        new = not junit.exists()
        junit.open("ab").close()
        if new:
            junit.unlink()
    except OSError as error:
        what = f"cannot be written: {error.strerror}"
        raise BadInput(Problem(what, str(junit), "choose another file for --junit")) from None


def _save_report(report: Path, junit: Path) -> None:
    from olafswitch.errors import OlafError, Problem

    try:
        shutil.copyfile(report, junit)
    except OSError as error:
        what = f"cannot be written: {error.strerror}"
        raise OlafError(Problem(what, str(junit), "choose another file for --junit")) from None


def _read_report(report: Path) -> dict[str, Any]:
    """Return a JUnit report as JSON: the number of each outcome, and every test with its seconds."""
    tests = []
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        verdict = next((part for part in case if part.tag in _OUTCOMES), None)
        tests.append(
            {
                "name": case.get("name"),
                "outcome": "passed" if verdict is None else _OUTCOMES[verdict.tag],
                "seconds": float(case.get("time", 0)),
                "message": "" if verdict is None else verdict.get("message", ""),
            }
        )
    counts = {
        outcome: sum(test["outcome"] == outcome for test in tests)
        for outcome in ("passed", *dict.fromkeys(_OUTCOMES.values()))
    }
    return {**counts, "tests": tests}
