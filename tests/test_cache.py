"""The store of build results."""

from pathlib import Path

import pytest

from olafctl import cache
from olafctl.errors import OlafError


def test_a_cache_folder_that_cannot_be_written_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLAF_CACHE", str(tmp_path))

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    with pytest.raises(OlafError) as caught:
        cache.build_once("p4", "key", lambda _: None)
    assert str(caught.value) == (
        f"{tmp_path / 'p4'}: cannot be used: Permission denied (make it writable, or set OLAF_CACHE)"
    )


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
