"""Which testbed an operator means: a path, or the name of one that is shipped."""

from pathlib import Path

from olafctl import paths
from olafctl.errors import BadInput, Problem


def locate(given: str) -> Path:
    """The file at path ``given``, else the shipped testbed of that name.

    Raises BadInput when there is neither.
    """
    path = Path(given)
    if path.exists():
        return path
    shipped = paths.sources() / "testbeds"
    if path.name == given and (found := shipped / f"{given.removesuffix('.yaml')}.yaml").is_file():
        return found
    names = ", ".join(sorted(file.stem for file in shipped.glob("*.yaml")))
    raise BadInput(Problem("no such file", given, f"`olafctl init` writes a testbed; shipped: {names}"))
