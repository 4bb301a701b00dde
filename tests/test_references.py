"""References in docstrings name what there is."""

import ast
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("switch/olafswitch", "olafctl", "sdk/olaf", "testkit/olaftest", "lab/olaflab", "tests")
REFERENCE = re.compile(r":(?:func|class|meth|mod|attr):`~?([\w.]+)`")


def test_each_reference_names_what_its_module_knows_or_a_whole_path() -> None:
    """A reader, or an editor, that follows a reference arrives somewhere."""
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py") if "_pb2" not in path.name]
    astray = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in paths
        if (referred := REFERENCE.findall(text := path.read_text()))
        for known in [set(_find_names(ast.parse(text)))]
        for name in referred
        if not known.issuperset(name.split(".")) and not _is_there(name)
    ]
    assert len(paths) > 1000
    assert not astray, "\n".join(astray)


def _find_names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield name
            case ast.alias():
                yield node.asname or node.name


def _is_there(path: str) -> bool:
    """Look our own names up without an import: their modules may need packages that are optional."""
    package, *rest = path.split(".")
    home = next((ROOT / folder for folder in FOLDERS if Path(folder).name == package), None)
    if home is None:
        return _can_be_imported(path)
    while rest and ((home / rest[0]).is_dir() or (home / f"{rest[0]}.py").is_file()):
        home /= rest.pop(0)
    module = home / "__init__.py" if home.is_dir() else home.with_suffix(".py")
    return set(rest) <= {*_find_names(ast.parse(module.read_text()))}


def _can_be_imported(path: str) -> bool:
    try:
        pkgutil.resolve_name(path)
    except (ImportError, AttributeError):
        return False
    return True
