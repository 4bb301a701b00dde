"""Jinja2 as Olaf uses it: an undefined variable is an error, and line ends stay as written."""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olafctl import paths

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def _environment(folder: Path) -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    # The rendered files are P4 and Verilog, never HTML.
    return Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        autoescape=False,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def fill(template: str, /, **values: Any) -> str:
    """Return the template of that name below ``templates/``, filled with ``values``."""
    return fill_in(paths.sources() / "templates", template, **values)


def fill_in(folder: Path, template: str, /, **values: Any) -> str:
    """Return the template of that name below ``folder``, filled with ``values``."""
    return _environment(folder).get_template(template).render(**values)
