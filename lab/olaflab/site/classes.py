"""A page for each module of the SDK, and for the classes that reach a daemon or a device."""

import ast
import inspect
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from olafswitch.errors import MissingTool, Problem

_PRODUCT = ("olafctl.daemon.api.client", "olafswitch.p4runtime.session", "olafswitch.p4runtime.dataplane")

_FRONT = "olaf"


def class_pages() -> Mapping[str, str]:
    """Return Markdown by the place of the page. Raises MissingTool where the SDK is not installed."""
    modules = [*sdk_modules(), *_PRODUCT]
    return {f"reference/python/{name}": _module_page(name, modules) for name in modules}


def sdk_modules() -> list[str]:
    """List every module of the package ``olaf`` with a docstring, the package first."""
    spec = find_spec("olaf")
    if spec is None or spec.origin is None:
        raise MissingTool(Problem("the site needs the SDK", "olaf", "pip install ./sdk"))
    home = Path(spec.origin).parent
    places = sorted(home.rglob("*.py"), key=lambda path: path.relative_to(home).with_suffix("").parts)
    names = {_module_name(home, path): path for path in places if path.name != "__main__.py"}
    return [name for name, path in sorted(names.items()) if _has_docstring(path)]


def _module_name(home: Path, path: Path) -> str:
    return ".".join(
        part for part in path.relative_to(home.parent).with_suffix("").parts if part != "__init__"
    )


def _has_docstring(path: Path) -> bool:
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) is not None


def _module_page(name: str, modules: Sequence[str]) -> str:
    # The front shows what the rooms' pages describe.
    options = ":show-inheritance:" if name == _FRONT else ":members:\n:show-inheritance:"
    if name in _PRODUCT:
        options += "\n:inherited-members: object"
    # What a package has under the name of one of its modules would be described twice under one name.
    if below := [each.rpartition(".")[2] for each in modules if each.rpartition(".")[0] == name]:
        options += f"\n:exclude-members: {', '.join(below)}"
    return inspect.cleandoc(
        """
        # {name}

        ```{{eval-rst}}
        .. automodule:: {name}
           {options}
        ```
        """
    ).format(name=name, options=options.replace("\n", "\n   "))
