"""Report skipped tests, one line a reason; with everything installed only some reasons are allowed.

This is a plug-in of both suites: ``tests/conftest.py`` names it, and ``make`` gives it to the SDK's by
``-p``.
"""

import os
import re
from collections import defaultdict
from pathlib import Path

import pytest

RECORD = "OLAF_SKIPPED_TO"
"""The environment variable with a file for skipped tests, a test or file to a line, for another run."""
STRICT = "OLAF_TEST_ALL"
"""The variable set where everything is installed: a skip for a reason that is not allowed fails the run."""
LEFT = "takes long: make test-all"
"""The reason for which a test with the marker ``slow`` skips elsewhere."""
ALLOWED = {
    "the reference compiler and switch, which no registry has": r"p4c-bm2-ss|simple_switch_grpc",
    "players' engines, which bring gigabytes of CUDA or a trainer's stack": r"^needs (vLLM|TRL)\b",
    "a card": r"^the target (opennic|corundum) cannot run it here",
    "a checkout of another project": (
        r"checkout of (open-nic-shell|corundum|p4lang/tutorials|p4c|behavioral-model)$|"
        r"^the target corundum-sim cannot run it here: .*: no checkout of Corundum is named"
    ),
    "what this machine's kernel cannot do": (
        r"^the kernel |^this kernel|^making interfaces is not allowed|namespaces|^only one processor$|"
        r"^a small disk cannot be mounted"
    ),
    "a test of every shape of testbed, transport and target, where it has nothing to say of one": (
        r"^needs ((\d+|a|two) (clusters?|testbed|slots?|model)|members)\b|^this target has virtual time$|"
        r"^is about (the slots of )?one queue,|^at a UNIX socket only|"
        r"^an update that waits is of the cluster that its worker leaves$"
    ),
}
"""The reasons for which a test may skip although everything is installed, and their texts.

Programs of pip or apt-get do not belong here, nor root's rights: ``make test-all`` asks for all of these.
"""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"slow: {LEFT}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if STRICT not in os.environ:
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.skip(reason=LEFT))


def _by_reason(reporter: pytest.TerminalReporter) -> dict[str, list[str]]:
    """Return node identifiers of the tests, and of the files that skipped as a whole, by reason."""
    found = defaultdict(list)
    for report in reporter.stats.get("skipped", []):
        if isinstance(report.longrepr, tuple):
            found[str(report.longrepr[2]).removeprefix("Skipped: ")].append(report.nodeid)
    return found


def allows_reason(reason: str) -> bool:
    """Return whether a test may skip for ``reason`` although everything is installed."""
    return any(re.search(pattern, reason) for pattern in ALLOWED.values())


def _forbidden_skips(reporter: pytest.TerminalReporter) -> dict[str, list[str]]:
    if STRICT not in os.environ:
        return {}
    return {reason: nodes for reason, nodes in _by_reason(reporter).items() if not allows_reason(reason)}


def _find_reporter(config: pytest.Config) -> pytest.TerminalReporter | None:
    """Return the terminal's reporter; None in a process of pytest-xdist."""
    if hasattr(config, "workerinput"):
        return None
    found: pytest.TerminalReporter | None = config.pluginmanager.get_plugin("terminalreporter")
    return found


def pytest_sessionfinish(session: pytest.Session) -> None:
    if (reporter := _find_reporter(session.config)) is None:
        return
    if path := os.environ.get(RECORD):
        nodes = (node for nodes in _by_reason(reporter).values() for node in nodes)
        Path(path).write_text("".join(f"{node}\n" for node in nodes))
    if session.exitstatus == pytest.ExitCode.OK and _forbidden_skips(reporter):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    by_reason = _by_reason(terminalreporter)
    if by_reason and not terminalreporter.hasopt("s"):  # -rs lists every test
        terminalreporter.section("skipped")
        for reason, nodes in sorted(by_reason.items(), key=lambda item: -len(item[1])):
            files = sum("::" not in node for node in nodes)
            counts = {"test": len(nodes) - files, "file": files}
            text = " and ".join(f"{n} {what}{'s' * (n > 1)}" for what, n in counts.items() if n)
            terminalreporter.write_line(f"{text} skipped: {reason}")
    for reason, nodes in _forbidden_skips(terminalreporter).items():
        terminalreporter.section(f"must not skip with everything installed: {reason}", red=True)
        terminalreporter.write_line("\n".join(nodes))
