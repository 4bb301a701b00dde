"""The store of build results."""

import errno
import os
from pathlib import Path

import pytest

from olafswitch import cache
from olafswitch.errors import OlafError


def test_a_cache_folder_that_cannot_be_written_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLAF_CACHE", str(tmp_path))

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    with pytest.raises(OlafError) as caught:
        cache.build_once("p4", "key", lambda _: None)
    (problem,) = caught.value.problems
    assert problem.where == str(tmp_path / "p4")
    assert "Permission denied" in problem.what
    assert "OLAF_CACHE" in problem.remedy


def test_a_lock_that_cannot_be_opened_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLAF_CACHE", str(tmp_path))
    (tmp_path / "p4" / ".key.lock").mkdir(parents=True)
    with pytest.raises(OlafError, match="cannot be used"):
        cache.build_once("p4", "key", lambda _: None)


def test_what_a_build_raises_is_not_the_caches_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLAF_CACHE", str(tmp_path))

    def fail(_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    with pytest.raises(PermissionError):
        cache.build_once("p4", "key", fail)


def _write_file(folder: Path) -> None:
    (folder / "inner").mkdir()
    (folder / "inner" / "library.so").write_bytes(b"machine code")


def test_a_result_is_built_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLAF_CACHE", str(tmp_path))
    first, second = (cache.build_once("p4", "key", _write_file) for _ in range(2))
    assert (first[0], first[1], second[1]) == (second[0], True, False)


@pytest.mark.parametrize("lost", ["a file", "a file's content", "its list of files", "that list's content"])
def test_a_result_that_lost_something_is_built_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    monkeypatch.setenv("OLAF_CACHE", str(tmp_path))
    folder, _ = cache.build_once("p4", "key", _write_file)
    library = folder / "inner" / "library.so"
    damaged = library if "a file" in lost else folder / cache.SIZES
    if "content" in lost:
        damaged.write_bytes(b"")
    else:
        damaged.unlink()
    assert cache.build_once("p4", "key", _write_file) == (folder, True)
    assert library.read_bytes() == b"machine code"
    assert cache.build_once("p4", "key", _write_file) == (folder, False)


def test_a_full_disk_is_named_with_its_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLAF_CACHE", str(tmp_path))

    def build(folder: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(OlafError, match="No space left on device") as failed:
        cache.build_once("kind", "key", build)
    (problem,) = failed.value.problems
    assert (problem.where, "OLAF_CACHE" in problem.remedy) == (str(tmp_path / "kind"), True)
