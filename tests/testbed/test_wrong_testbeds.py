"""Files that are no testbeds, or stand for far too much; `tests/cli/test_wrong_testbeds.py` has others."""

import os
import time
from pathlib import Path

import pytest

from olafctl.targets import testbeds
from olafswitch.errors import BadInput
from tests.testbed.wrong_testbeds import RIGHT


@pytest.mark.parametrize(
    ("content", "errors"),
    [
        (b"name: \xff\n", "1: byte 6 is not UTF-8 (save it as UTF-8)"),
        (b"#\nname: \x00\n", "2: is not YAML: unacceptable character #x0000: "),
        (b"#" * (4 << 20) + b"##", " is larger than 4 MB (a testbed is a short YAML file)"),
    ],
    ids=["not-utf8", "nul", "huge"],
)
def test_a_file_that_is_not_text_is_refused(content: bytes, errors: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_bytes(content)
    with pytest.raises(BadInput) as caught:
        testbeds.load_testbed(path)
    assert str(caught.value).startswith(f"{path}:{errors}")


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such file"):
        testbeds.load_testbed(tmp_path / "absent.yaml")
    with pytest.raises(BadInput, match="is a folder"):
        testbeds.load_testbed(tmp_path)


def test_a_file_that_is_not_regular_is_refused_at_once(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for path in (fifo, Path("/dev/zero")):
        with pytest.raises(BadInput, match="is not a regular file"):
            testbeds.load_testbed(testbeds.locate_testbed(str(path)))


@pytest.mark.parametrize("given", ["x" * 5000, "a\0b", "deep/" * 2000], ids=["long", "nul", "deep"])
def test_a_path_that_can_be_no_file_is_one_short_line(given: str) -> None:
    with pytest.raises(BadInput) as caught:
        testbeds.locate_testbed(given)
    assert len(caught.value.problems) == 1
    assert len(str(caught.value)) < 500
    with pytest.raises(BadInput):
        testbeds.load_testbed(given)


def test_a_path_that_may_not_be_looked_at_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "stat", refuse)
    with pytest.raises(BadInput, match="cannot be read: Permission denied"):
        testbeds.locate_testbed(str(tmp_path / "closed" / "bed.yaml"))


def test_aliases_to_aliases_do_not_explode(tmp_path: Path) -> None:
    path = tmp_path / "laughs.yaml"
    layers = [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 12)]
    path.write_text("\n".join(["l0: &l0 [lol]", *layers, RIGHT]))
    with pytest.raises(BadInput) as caught:
        testbeds.load_testbed(path)
    assert len(caught.value.problems) == 12


def bomb(name: str) -> str:
    """Return a testbed whose few lines stand for millions."""
    head = RIGHT[: RIGHT.index("clusters:\n")]
    worker = "{port: 2, ip: 10.0.1.1}"
    cluster = f"&c {{workers: [&w {worker}, {', '.join(['*w'] * 2999)}]}}"
    match name:
        case "clusters":
            return f"{head}clusters: [{cluster}, {', '.join(['*c'] * 2999)}]\n"
        case "clusters-of-one-index":
            return f"{head}clusters: [{cluster.replace('{w', '{index: 0, w')}, {', '.join(['*c'] * 2999)}]\n"
        case "ports-of-a-cluster":
            return f"{head}clusters: [{{workers: 1, ip: 10.0.1.1, ports: [{'1-3, ' * 200_000}]}}]\n"
        case "front-ports":
            return f"ports: [&p {{numbers: 1-499}}, {', '.join(['*p'] * 200_000)}]\nclusters: []\n"
        case _:
            hosts = "".join(f"  - {{port: 1, ip: 10.0.0.254, name: h{n}}}\n" for n in range(3000))
            return f"{head}clusters: []\nhosts:\n{hosts}"


@pytest.mark.parametrize(
    "name", ["clusters", "clusters-of-one-index", "ports-of-a-cluster", "front-ports", "hosts"]
)
def test_a_file_that_stands_for_millions_is_refused_soon(name: str) -> None:
    text = bomb(name)
    started = time.process_time()
    with pytest.raises(BadInput) as caught:
        testbeds.load_testbed(Path("bomb.yaml"), text)
    assert time.process_time() - started < 60  # instead of hours
    assert len(caught.value.problems) <= 101


def test_what_is_not_shown_of_many_problems_is_counted() -> None:
    with pytest.raises(BadInput) as caught:
        testbeds.load_testbed(Path("bed.yaml"), RIGHT + "".join(f"key{n}: 1\n" for n in range(250)))
    assert len(caught.value.problems) == 101
    assert str(caught.value.problems[-1]) == "bed.yaml: … and 150 more (fix these first)"
