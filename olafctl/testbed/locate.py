"""Find the testbed that an operator means: a path, or the name of a shipped testbed."""

from pathlib import Path

from olafctl import paths
from olafctl.quantities import brief
from olafctl.testbed import limits
from olafswitch.errors import BadInput, Problem


def locate_testbed(given: str) -> Path:
    """Return the file at path ``given``, else the shipped testbed of that name.

    Raises BadInput when neither exists, or it cannot be read.
    """
    path = Path(given)
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return _shipped_testbeds(path, given)
    except OSError as error:
        what = f"cannot be read: {error.strerror}"
        raise BadInput(
            Problem(what, brief(given, limits.SHOWN_PATH), "check the path and its permissions")
        ) from None
    return path


def _shipped_testbeds(path: Path, given: str) -> Path:
    shipped = paths.sources() / "testbeds"
    if (
        path.name == given
        and given.isprintable()
        and (found := shipped / f"{given.removesuffix('.yaml')}.yaml").is_file()
    ):
        return found
    names = ", ".join(sorted(file.stem for file in shipped.glob("*.yaml")))
    raise BadInput(
        Problem(
            "no such file",
            brief(given, limits.SHOWN_PATH),
            f"`olafctl init` writes a testbed; shipped: {names}",
        )
    )
