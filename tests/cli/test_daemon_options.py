"""Options of the daemon and its clients that cannot be used give one line and exit code 2; nothing starts."""

from pathlib import Path

import pytest

from tests.cli.conftest import Run

BINARY = bytes(range(128, 256))


@pytest.mark.parametrize(
    ("options", "where"),
    [
        (("--web", "somewhere:port"), "somewhere:port: is not an address"),
        (("--web", "0.0.0.0:9999"), "0.0.0.0:9999: would"),
        (("--listen", "localhost:port"), "localhost:port: is not an address"),
        (("--listen", "localhost:9999"), "localhost:9999: would let every process"),
    ],
)
def test_nothing_is_deployed_for_an_address_that_cannot_be(
    options: tuple[str, ...], where: str, run: Run, state: Path
) -> None:
    ended = run("daemon", "laptop", *options)
    assert (ended.code, ended.err.count("\n")) == (2, 1), ended.err
    assert where in ended.err
    assert not state.exists()


@pytest.mark.parametrize(
    ("content", "mode", "what"),
    [
        (BINARY, 0o600, "holds no text"),
        (b"short\n", 0o600, "too short for a token"),
        (b"0123456789abcdef\n", 0o644, "others may read the token"),
    ],
)
def test_a_token_file_that_is_not_secret(
    content: bytes, mode: int, what: str, run: Run, state: Path, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_bytes(content)
    file.chmod(mode)
    ended = run("daemon", "laptop", "--token-file", file)
    assert (ended.code, ended.err.count("\n")) == (2, 1), ended.err
    assert f"{file}: " in ended.err
    assert what in ended.err
    assert not state.exists()


@pytest.mark.parametrize(
    ("address", "certificates", "message"),
    [
        ("somewhere", False, "somewhere: is not an address (give unix:PATH or HOST:PORT"),
        ("unix:", False, "unix:: has no path"),
        ("192.0.2.1:9600", True, "certs: cannot be used: No such file or directory (put ca.pem"),
    ],
)
def test_a_daemon_that_cannot_be_requested(
    address: str, certificates: bool, message: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLAF_DAEMON", address)
    if certificates:
        monkeypatch.setenv("OLAF_CERTS", str(tmp_path / "certs"))
    ended = run("cluster", "list")
    assert (ended.code, ended.err.count("\n")) == (2, 1), ended.err
    assert message in ended.err
