"""Environments of their own: what an operator is told, and what is left, when one cannot be installed."""

import os
from pathlib import Path

import pytest

from olafctl import environments
from olafctl.environments import Environment
from olafctl.errors import OlafError


def test_without_a_package_index_it_is_said_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLAF_CACHE", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    told: list[str] = []
    wanted = Environment("some-shell", ("some-shell-of-nobody==1",))
    with pytest.raises(OlafError) as failed:
        environments.python(wanted, told.append)
    assert told == ["installing some-shell into an environment of its own, once"]
    assert str(failed.value).startswith("some-shell: cannot be installed: Could not find a version")
    assert "where pip reaches a package index" in str(failed.value)
    assert "\n" not in str(failed.value)
    assert [path for path in tmp_path.rglob("*") if not path.name.startswith(".")] == [
        tmp_path / "environments"
    ]
