"""The laboratory's verb next to the operator's, and without the laboratory."""

import pkgutil

import pytest

import olaflab.verbs
from olafctl.cli import main
from tests.cli.conftest import Run

VERBS = sorted(module.name for module in pkgutil.iter_modules(olaflab.verbs.__path__))


def test_help_says_which_verb_is_the_laboratorys(run: Run) -> None:
    product, _, laboratory = run("--help").out.partition("Laboratory:\n")
    assert [line.split()[0] for line in laboratory.splitlines()] == VERBS
    assert not {line.split()[0] for line in product.splitlines() if line.strip()} & set(VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_without_the_laboratory_a_verb_says_what_to_install(
    verb: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(main, "entry_points", lambda group: ())
    ended = run(verb, "--no-such-option")
    assert ended.code == 3
    assert ended.err == (
        f"error: {verb} is a verb of the laboratory, which is not installed"
        " (pip install ./lab in a checkout)\n"
    )
    assert run("no-such-verb").code == 2
