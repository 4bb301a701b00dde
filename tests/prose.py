"""Check prose and names: ``python tests/prose.py [FOLDER ...]`` prints a line for each fault.

A docstring, or the help of an option, does not begin with one of `_BEGINNINGS`; that of a function begins
with a verb of `verbs.txt`, unless it is a property; a class name occurs at most twice in the tree, and a
function name at most 15 times, unless it is a method of a protocol.
"""

import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_BEGINNINGS = re.compile(r"(Of|By|Those|So|Such|And|Whose|What is|Which)\b")
_WORDS = {"help", "short_help"}
_VERBS = frozenset((ROOT / "tests" / "verbs.txt").read_text().split())
_FIRST_WORD = re.compile(r"([A-Z][a-z]+)[,;:]?\s")
_CLASSES, _FUNCTIONS = 2, 15
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_NOT_OURS = re.compile(r"_pb2|(^|/)\.|/build/|egg-info")
_CALLED_BY_FRAMEWORKS = {"main", "command", "forward"}
"""The names of click's callbacks, of entry points and of torch's modules."""


def find_sources(folders: Sequence[Path]) -> Iterator[Path]:
    """Yield the Python files of ``folders`` that people write."""
    for folder in folders:
        for path in sorted(folder.rglob("*.py")) if folder.is_dir() else [folder]:
            if not _NOT_OURS.search(str(path.relative_to(ROOT))):
                yield path


def find_texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield every docstring, attribute docstring and literal help of an option, with its line."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(node, _DOCUMENTED) and isinstance(body, list):
            for each in body:
                match each:
                    case ast.Expr(value=ast.Constant(value=str(text))):
                        yield each.lineno, text
        if isinstance(node, ast.keyword) and node.arg in _WORDS and isinstance(node.value, ast.Constant):
            yield node.value.lineno, str(node.value.value)
        match node:
            case ast.Call(func=ast.Name(id="option"), args=[_, ast.Constant(value=str(text)), *_]):
                yield node.lineno, text


def find_function_docstrings(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """Yield line, name and docstring of each function that does something: no property, test or dunder."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (text := ast.get_docstring(node)):
            is_property = any("property" in ast.unparse(each) for each in node.decorator_list)
            if not is_property and not node.name.startswith(("__", "test_")):
                yield node.lineno, node.name, text


def prose_faults(paths: Iterable[Path]) -> list[str]:
    """Return a line for each docstring or help that begins as a fragment, and a function's without a verb."""
    found = []
    for path in paths:
        place, tree = path.relative_to(ROOT), ast.parse(path.read_text())
        for line, text in find_texts(tree):
            if _BEGINNINGS.match(text.strip()):
                found.append(f"{place}:{line}: begins with a fragment: {text.strip()[:60]!r}")
        found += [
            f"{place}:{line}: {name} does not begin with a verb: {text[:60]!r}"
            for line, name, text in find_function_docstrings(tree)
            if not ((word := _FIRST_WORD.match(text)) and word[1] in _VERBS)
        ]
    return found


def name_faults(paths: Iterable[Path]) -> list[str]:
    """Return a line for each class or function name that is defined too often, with its places."""
    classes, functions = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    protocol_methods: set[str] = set()
    for path in paths:
        place = path.relative_to(ROOT)
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                classes[node.name].append(f"{place}:{node.lineno}")
                if any("Protocol" in ast.unparse(base) or "ABC" in ast.unparse(base) for base in node.bases):
                    protocol_methods |= {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
            elif isinstance(node, ast.FunctionDef) and not node.name.startswith("__"):
                functions[node.name].append(f"{place}:{node.lineno}")
    for name in protocol_methods | _CALLED_BY_FRAMEWORKS:
        functions.pop(name, None)
    limits = [("class", classes, _CLASSES), ("function", functions, _FUNCTIONS)]
    return [
        f"{kind} {name} is defined {len(places)} times (at most {limit}): {', '.join(places)}"
        for kind, found, limit in limits
        for name, places in sorted(found.items(), key=lambda each: -len(each[1]))
        if len(places) > limit
    ]


def one_word_names(paths: Iterable[Path]) -> Counter[bool]:
    """Count functions by whether their name is a single word; dunders and tests are not counted."""
    counts: Counter[bool] = Counter()
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and not node.name.startswith(("__", "test_")):
                counts["_" not in node.name.strip("_")] += 1
    return counts


def main() -> None:
    """Check the folders that are named, or the whole tree."""
    everything = [ROOT / name for name in ("switch", "olafctl", "sdk", "testkit", "lab", "tests")]
    chosen = [*find_sources([Path(name).resolve() for name in sys.argv[1:]] or everything)]
    inside = {str(path.relative_to(ROOT)) for path in chosen}
    faults = prose_faults(chosen)
    for each in name_faults(find_sources(everything)):
        if any(f"{place}:" in each for place in inside):
            faults.append(each)
    print(*faults, sep="\n")
    words = one_word_names(chosen)
    share = words[True] / max(words.total(), 1)
    print(f"{len(faults)} faults; {share:.0%} of {words.total()} functions have one word")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
