"""Separate environments: the operator's error, and the remains, when one cannot be installed."""

import os
from pathlib import Path

import pytest

from olafctl import environments
from olafctl.environments import Environment
from olafswitch.errors import OlafError


def test_without_a_package_index_one_line_reports_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLAF_CACHE", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    seen: list[str] = []
    wanted = Environment("some-shell", ("some-missing-shell==1",))
    with pytest.raises(OlafError) as failed:
        environments.python(wanted, seen.append)
    assert seen == ["installing some-shell into an environment of its own, once"]
    assert str(failed.value).startswith("some-shell: cannot be installed: Could not find a version")
    assert "where pip reaches a package index" in str(failed.value)
    assert "\n" not in str(failed.value)
    assert [path for path in tmp_path.rglob("*") if not path.name.startswith(".")] == [
        tmp_path / "environments"
    ]
