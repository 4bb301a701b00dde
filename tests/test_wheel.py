"""An installed wheel does everything that a checkout does, outside of any checkout."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parent.parent
NOT_SOURCES = shutil.ignore_patterns(".*", "build", "*.egg-info", "__pycache__")
OTHERS = ("protobuf", "grpcio", "ray")
PROGRAM = """\
#include <core.p4>
#include <v1model.p4>
struct none_t { }
parser P(packet_in p, out none_t h, inout none_t m, inout standard_metadata_t s) {
    state start { transition accept; }
}
control Check(inout none_t h, inout none_t m) { apply { } }
control In(inout none_t h, inout none_t m, inout standard_metadata_t s) {
    apply { s.egress_spec = 1; }
}
control Out(inout none_t h, inout none_t m, inout standard_metadata_t s) { apply { } }
control Write(packet_out p, in none_t h) { apply { } }
V1Switch(P(), Check(), In(), Out(), Check(), Write()) main;
"""


class Installed:
    """A separate environment with nothing in it but the wheel and its requirements."""

    def __init__(self, folder: Path, wheels: Path) -> None:
        self.folder = folder
        self._wheels = wheels
        subprocess.run([sys.executable, "-m", "venv", folder / "environment"], check=True)
        self._binaries = folder / "environment" / "bin"
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "OLAF_"))}
        self._environment = {
            **kept,
            "PATH": f"{self._binaries}:{kept['PATH']}",
            "OLAF_STATE": str(folder / "state"),
            # Compilations are the same as a checkout's, so they share its cache.
            "OLAF_CACHE": os.environ.get("OLAF_CACHE", str(Path.home() / ".cache" / "olaf")),
        }

    def start_command(self, *words: str) -> subprocess.Popen[str]:
        """Start a command that goes on; its standard output is a pipe."""
        line = [str(self._binaries / words[0]), *words[1:]]
        return subprocess.Popen(
            line, cwd=self.folder, env=self._environment, stdout=subprocess.PIPE, text=True
        )

    def install_wheels(self, *names: str) -> None:
        """Install the wheels of this repository's distributions ``names``."""
        self.run_command("pip", "install", "-q", *self.wheel_files(*names))

    def wheel_files(self, *names: str) -> Sequence[str]:
        """Return the wheel files of these distributions."""
        return [str(wheel) for name in names for wheel in self._wheels.glob(f"{name}-*.whl")]

    def run_command(self, *words: str, expect: int = 0) -> str:
        """Return the output of a command; its exit code must be ``expect``."""
        line = [str(self._binaries / words[0]), *words[1:]]
        done = subprocess.run(
            line, cwd=self.folder, env=self._environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == expect, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide a folder with the wheel of each distribution."""
    folder = tmp_path_factory.mktemp("wheels")
    # A copy, because a build leaves files in the folder that it builds from.
    shutil.copytree(ROOT, folder / "checkout", ignore=NOT_SOURCES)
    sources = [str(folder / "checkout" / name) for name in ("switch", ".", "testkit", "lab")]
    line = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), *sources]
    subprocess.run(line, check=True)
    shutil.rmtree(folder / "checkout")
    return folder


@pytest.fixture(scope="module")
def switch(tmp_path_factory: pytest.TempPathFactory, wheels: Path) -> Installed:
    environment = Installed(tmp_path_factory.mktemp("wheel"), wheels)
    environment.install_wheels("olafswitch")
    assert not list((environment.folder / "environment").rglob("olafctl"))
    return environment


@pytest.fixture(scope="module")
def installed(switch: Installed) -> Iterator[Installed]:
    """Provide the product installed next to the switch, which is unchanged."""
    switch.install_wheels("olafctl")
    yield switch
    switch.run_command("olafctl", "destroy", "--all")


def test_the_switch_is_a_wheel_of_its_own(switch: Installed) -> None:
    """This test is first, before anything else is installed."""
    (switch.folder / "pass.p4").write_text(PROGRAM)
    switch.run_command("olafswitch", "compile", "pass.p4", "-o", "compiled")
    assert list((switch.folder / "compiled").glob("*p4info*"))


def test_a_p4_program_runs_between_ports(switch: Installed) -> None:
    (switch.folder / "pass.p4").write_text(PROGRAM)
    (switch.folder / "in.pcap").touch()
    with switch.start_command("olafswitch", "run", "pass.p4", "-p", "1=pcap:in.pcap,out.pcap") as running:
        assert running.stdout is not None
        assert running.stdout.readline().startswith("device 1 at ")
        running.terminate()
        assert running.wait() == 0


def test_the_switch_brings_the_commands_of_p4c_and_bmv2(switch: Installed) -> None:
    switch.run_command("olafswitch", "drop-in", "bin", "--force")
    (switch.folder / "pass.p4").write_text(PROGRAM)
    switch.run_command(str(switch.folder / "bin" / "p4c"), "pass.p4", "-o", "pass.json")
    assert (switch.folder / "pass.json").is_file()


def test_it_holds_back_no_other_package(installed: Installed) -> None:
    """The newest protobuf, grpcio and Ray that fit together also fit together with it."""

    def chosen(*more: str) -> dict[str, str]:
        line = ("pip", "install", "-q", "--dry-run", "--ignore-installed", "--report", "-", *OTHERS, *more)
        packages = [each["metadata"] for each in json.loads(installed.run_command(*line))["install"]]
        return {each["name"]: each["version"] for each in packages if each["name"] in OTHERS}

    alone = chosen()
    assert set(alone) == set(OTHERS)
    assert chosen(*installed.wheel_files("olafswitch", "olafctl")) == alone


def test_a_deployment_lives_from_init_to_destroy(installed: Installed) -> None:
    installed.run_command("olafctl", "init", "mine.yaml")
    installed.run_command("olafctl", "deploy", "mine.yaml")
    assert "mine" in installed.run_command("olafctl", "status")
    assert "-m p4runtime_sh" in installed.run_command("olafctl", "shell", "vnp4_1", "--print")
    assert " passed" in installed.run_command("olafctl", "test", "-k", "test_ack_status")
    installed.run_command("olafctl", "destroy")
    installed.run_command("olafctl", "status", expect=2)


def test_the_product_has_the_verbs_of_the_switch(installed: Installed) -> None:
    (installed.folder / "pass.p4").write_text(PROGRAM)
    installed.run_command("olafctl", "p4", "compile", "pass.p4", "-o", "compiled")
    assert list((installed.folder / "compiled").glob("*p4info*"))


def test_every_source_that_a_checkout_reads_is_there(installed: Installed) -> None:
    where = installed.run_command("python", "-c", "from olafctl import paths; print(paths.sources())").strip()
    assert Path(where).is_relative_to(installed.folder)
    for name in ("hdl", "p4src", "templates", "testbeds", "tests/packets"):
        expected = {path.relative_to(ROOT) for path in (ROOT / name).rglob("*") if path.is_file()}
        found = {path.relative_to(where) for path in (Path(where) / name).rglob("*") if path.is_file()}
        ignored = {path for path in expected | found if "__pycache__" in path.parts}
        assert found - ignored == expected - ignored


def test_the_container_file_has_no_fault() -> None:
    """hadolint judges the file: no engine for containers runs here."""
    hadolint = Path(sys.executable).with_name("hadolint")
    if not hadolint.exists():
        pytest.skip("needs hadolint")
    line = [hadolint, ROOT / "packaging" / "Containerfile"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_test_kit_is_a_wheel_of_its_own(installed: Installed) -> None:
    installed.install_wheels("olaftest")
    imports = "from olaftest.queue import clockless, conform"
    installed.run_command("python", "-c", f"{imports}; clockless.build_clockless(conform.GEOMETRIES[0])")


def test_the_laboratory_is_a_wheel_of_its_own(installed: Installed) -> None:
    """This test is last, because the laboratory stays installed."""
    assert "Laboratory:" not in installed.run_command("olafctl", "--help")
    installed.run_command("olafctl", "demo", expect=3)
    installed.install_wheels("olaftest", "olaflab")
    assert "Laboratory:" in installed.run_command("olafctl", "--help")
    installed.run_command("olaflab", "simulate", "multi-hop", "--duration", "10ms", "--period", "10ms")
    where = Path(installed.run_command("python", "-c", "import olaflab; print(olaflab.__path__[0])").strip())
    package = ROOT / "lab" / "olaflab"
    expected = {path.relative_to(package) for path in package.rglob("*") if path.is_file()}
    missing = {path for path in expected if "__pycache__" not in path.parts and not (where / path).is_file()}
    assert missing == set()


def test_the_main_job_runs(installed: Installed) -> None:
    if not list((installed.folder / "environment").rglob("olaflab")):
        installed.install_wheels("olaftest", "olaflab")
    assert "OLAF table 1" in installed.run_command("olafctl", "demo", "--no-tests", "-o", "figures")
    assert (installed.folder / "figures" / "age-of-model.svg").is_file()
