"""Options of ``olaflab bench synth`` that do not go together are refused by name."""

import pytest
from click import UsageError

from olaflab.cli.bench.synth import command


@pytest.mark.parametrize(
    "options, refused",
    [
        (["--macs", "2"], "--macs goes with --box"),
        (["--box", "--slots", "4"], "--slots goes without --box"),
        (["--box", "--macs", "2", "--beats", "24", "--indices", "8"], "--beats goes without --box"),
    ],
)
def test_options_that_would_do_nothing_are_refused(options: list[str], refused: str) -> None:
    with pytest.raises(UsageError, match=refused):
        command.main(options, standalone_mode=False)
