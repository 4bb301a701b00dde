"""The results of builds that an agent takes and refuses."""

import io
import tarfile
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import pytest

from olafctl.machines import builds
from olafswitch import cache
from olafswitch.errors import OlafError
from olaftest.daemon.machines import MachineLab, lab, star_testbed, why_not

_COMPILER = """#!/bin/sh
[ "$1" = --version ] && {{ /usr/bin/g++ --version; {more}; exit; }}
echo "$*" >> {log}
exec /usr/bin/g++ "$@"
"""


@pytest.fixture
def machine() -> Iterator[MachineLab]:
    if reason := why_not():
        pytest.skip(reason)
    with lab("m1") as made:
        yield made


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("more", "itself"), [("true", False), ("echo another", True)])
def test_what_a_machine_lacks_comes_from_the_controller(machine: MachineLab, more: str, itself: bool) -> None:
    """With another compiler the machine builds all of it; both caches are empty at first."""
    own, log = machine.folder / "own", machine.folder / "compiled"
    own.mkdir()
    (own / "g++").write_text(_COMPILER.format(log=log, more=more))
    (own / "g++").chmod(0o755)
    machine.kill_agent("m1")
    machine.start_agent("m1", OLAF_CACHE=str(own / "cache"), PATH=f"{own}:/usr/bin:/bin:/usr/sbin:/sbin")
    bed = machine.folder / "many.yaml"
    bed.write_text(star_testbed(machine, ["m1"]))
    deployed = machine.try_olafctl("deploy", str(bed), OLAF_CACHE=str(own / "theirs"))
    assert deployed.returncode == 0, deployed.stderr
    compiled = log.read_text()
    assert {name: name in compiled for name in ("software_queue", "program.cpp")} == dict.fromkeys(
        ("software_queue", "program.cpp"), itself
    )
    assert [*(own / "cache" / "software-queue").glob("*/olaf_queue.so")]
    machine.olafctl("status")


def make_archive(name: str, data: bytes = b"x", kind: bytes = tarfile.REGTYPE) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as made:
        member = tarfile.TarInfo(name)
        member.size, member.type = len(data), kind
        setattr(member, "linkname", "/etc/passwd")  # noqa: B010
        made.addfile(member, io.BytesIO(data))
    return file.getvalue()


@pytest.mark.parametrize(
    "sent",
    [
        make_archive("../above"),
        make_archive("/tmp/absolute"),
        make_archive("a/../../above"),
        make_archive("link", b"", tarfile.SYMTYPE),
        make_archive("hard", b"", tarfile.LNKTYPE),
        make_archive("device", b"", tarfile.CHRTYPE),
        b"no archive" * 200,
        make_archive("whole")[:520],
        make_archive("long", kind=tarfile.GNUTYPE_SPARSE),
    ],
)
def test_what_leaves_its_folder_or_is_no_build_is_refused(sent: bytes, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    with pytest.raises(OlafError, match="sent what is no build"):
        builds.unpack_archive([sent], folder, "someone")
    assert [path for path in tmp_path.rglob("*") if folder not in path.parents] == [folder]


def test_an_endless_build_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builds, "MOST", 1 << 20)
    with pytest.raises(OlafError, match="more than 1 MiB"):
        builds.unpack_archive(iter(lambda: bytes(1 << 18), b""), tmp_path, "someone")


def test_a_result_is_taken_by_its_digest_and_only_from_an_equal_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The controller builds before the machine takes anything, while no process holds the cache's locks."""
    ours, theirs = str(tmp_path / "ours"), str(tmp_path / "theirs")
    said: list[dict[str, str]] = []
    sent: deque[bytes] = deque()

    def theirs_build() -> None:
        cache.build_once("p4", "new", lambda folder: _write_code(folder, b"code"))

    def say(asked: dict[str, str]) -> None:
        said.append(dict(asked))
        monkeypatch.setenv("OLAF_CACHE", theirs)
        sent.extend(builds.give_archive(asked, theirs_build))
        monkeypatch.setenv("OLAF_CACHE", ours)

    def work() -> bytes:
        folder, _ = cache.build_once("p4", "new", lambda folder: _write_code(folder, b"built again"))
        cache.build_once("pipeline", "any", lambda folder: None)  # it names folders of the machine
        return (folder / "program.so").read_bytes()

    monkeypatch.setenv("OLAF_CACHE", ours)
    assert builds.take_build(work, say, iter(sent.popleft, None), "someone") == b"code"
    assert [asked.get("kind") for asked in said] == [None, "p4"]
    monkeypatch.setenv("OLAF_CACHE", theirs)
    for key, value in (("key", "old"), ("processor", "other"), ("compiler", "other")):
        assert [*builds.give_archive({**said[1], key: value}, theirs_build)] == [b""]


def _write_code(folder: Path, code: bytes) -> None:
    (folder / "program.so").write_bytes(code)
