"""p4c's and BMv2's commands from ``olafswitch drop-in``, called as scripts call the real commands."""

import json
import os
import random
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from olafswitch.dropin.runtime_verbs import Verbs
from olafswitch.p4 import p4config
from olafswitch.p4.syntax.preprocess import preprocess_text
from olafswitch.p4runtime.agent import serve_devices
from olafswitch.p4runtime.entities import Exact, Lpm, Range, TableEntry, Ternary
from olafswitch.p4runtime.failures import P4RuntimeFailed
from olafswitch.p4runtime.session import Session
from olafswitch.ports.pcap import PcapWriter
from tests.p4.parts import describe_text
from tests.p4runtime.memory_plane import MemoryPlane

PROGRAM = Path(__file__).parents[1] / "p4runtime" / "program.p4"
SECONDS = 600


def _run_command(
    *command: object, cwd: Path | None = None, text: str = ""
) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in command]
    return subprocess.run(
        words, cwd=cwd, input=text, capture_output=True, text=True, check=False, timeout=SECONDS
    )


def _run_olafswitch(*words: object, path: str = os.environ["PATH"]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "olafswitch", *map(str, words)]
    environment = {**os.environ, "PATH": path}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide a folder with the commands."""
    folder = tmp_path_factory.mktemp("drop-in") / "bin"
    done = _run_olafswitch("drop-in", folder, "--force")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def compiled(commands: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide a folder with program.json and program.p4info.txtpb."""
    folder = tmp_path_factory.mktemp("compiled")
    info = folder / "program.p4info.txtpb"
    arguments = ["--std", "p4-16", "--p4runtime-files", f"{info},{folder / 'program.p4info.json'}", PROGRAM]
    done = _run_command(commands / "p4c-bm2-ss", "-o", folder / "program.json", *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return folder


@contextmanager
def _run_switch(*command: object, cwd: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Yield a running switch, and its output up to the line with its address."""
    words = [str(word) for word in command]
    process = subprocess.Popen(words, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    try:
        output = ""
        for line in process.stdout:
            output += line
            if line.startswith("device "):
                break
        yield process, output
    finally:
        process.terminate()
        assert process.wait(SECONDS) == 0, output
        process.stdout.close()


def _read_address(output: str) -> str:
    found = re.search(r"^device \d+ at (\S+), ", output, re.M)
    assert found, output
    return found[1]


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def test_real_commands_and_other_files_are_not_shadowed(tmp_path: Path) -> None:
    real, wanted = tmp_path / "real", tmp_path / "wanted"
    real.mkdir()
    (real / "p4c").write_text("#!/bin/sh\n")
    (real / "p4c").chmod(0o755)
    path = f"{real}:{os.environ['PATH']}"
    refused = _run_olafswitch("drop-in", wanted, path=path)
    assert refused.returncode == 2 and f"{real / 'p4c'}: is on PATH" in refused.stderr
    assert not wanted.exists()
    refused = _run_olafswitch("drop-in", real, "--force", path=path)
    assert refused.returncode == 2 and "is not Olaf's" in refused.stderr
    assert (real / "p4c").read_text() == "#!/bin/sh\n"
    assert _run_olafswitch("drop-in", wanted, "--force", path=path).returncode == 0
    again = _run_olafswitch("drop-in", wanted, path=f"{wanted}:{os.environ['PATH']}")
    assert again.returncode == 0, again.stderr


def test_controllers_of_bmv2_import_their_package(commands: Path) -> None:
    """The environment is Olaf's, whose protobuf refuses the modules of PyPI's package."""
    controller = """
from p4.config.v1 import p4info_pb2
from p4.tmp import p4config_pb2
from p4.v1 import p4runtime_pb2, p4runtime_pb2_grpc
request = p4runtime_pb2.SetForwardingPipelineConfigRequest(action="VERIFY_AND_COMMIT")
request.config.p4info.CopyFrom(p4info_pb2.P4Info(tables=[p4info_pb2.Table(size=7)]))
request.config.p4_device_config = p4config_pb2.P4DeviceConfig(device_data=b"x").SerializeToString()
print(request.config.p4info.tables[0].size, p4runtime_pb2_grpc.P4RuntimeStub.__name__)
"""
    environment = {**os.environ, "PYTHONPATH": str(commands / "python")}
    line = [sys.executable, "-c", controller]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "7 P4RuntimeStub\n"), done.stderr


def test_p4c_writes_json_into_a_folder(commands: Path, compiled: Path, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "extra.p4").write_text("const bit<8> extra = MACRO;\n")
    text = PROGRAM.read_text().replace("#include <v1model.p4>", "#include <v1model.p4>\n#include <extra.p4>")
    (tmp_path / "mine.p4").write_text(text)
    flags = ["--target", "bmv2", "--arch", "v1model", "-Imore", "-DMACRO=7", "--Wdisable=unused", "-T", "x:1"]
    done = _run_command(commands / "p4c", *flags, "-o", "build", "mine.p4", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "extra = 7" in json.loads((tmp_path / "build" / "mine.json").read_text())["olaf_p4_source"]
    done = _run_command(commands / "p4c", *flags, "mine.p4", cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / "mine.json").exists()
    names = {
        table["preamble"]["name"]
        for table in json.loads((compiled / "program.p4info.json").read_text())["tables"]
    }
    assert "ingress.exact" in names


def test_each_wrong_use_is_one_line(commands: Path, compiled: Path, tmp_path: Path) -> None:
    (tmp_path / "old.p4").write_text(
        "header_type a_t { fields { x : 8; } }\nparser start { return ingress; }\n"
    )
    (tmp_path / "lost.p4").write_text('#include "nowhere.p4"\n')
    (tmp_path / "bmv2.json").write_text('{"__meta__": {"version": [2, 23]}, "pipelines": []}')
    taken = socket.create_server(("127.0.0.1", 0))
    port, program = taken.getsockname()[1], compiled / "program.json"
    cases: list[tuple[list[object], int, str]] = [
        (["p4c", "--no-such", "x.p4"], 2, "p4c: No such option"),
        (["p4c", "none.p4"], 2, "none.p4: no such file"),
        (["p4c", "--toJSON", "ir.json", "lost.p4"], 2, "--toJSON is not done: "),
        (["p4c-bm2-ss", "--pp", "out.p4", "lost.p4"], 2, "--pp is not done: "),
        (["p4c-bm2-ss", "--p4runtime-entries-files", "e.txt", "lost.p4"], 2, "entries of the program stay"),
        (["simple_switch", "--restore-state", "state", "--no-p4"], 2, "--restore-state is not done: "),
        (["p4c", "old.p4"], 2, "old.p4: this is P4_14"),
        (["p4c-bm2-ss", "--p4v", "14", "old.p4"], 2, "Olaf compiles P4_16"),
        (["p4c-bm2-ss", "lost.p4"], 2, "lost.p4:1:1: preprocessor: #include"),
        (["p4c", "--target", "tofino", "lost.p4"], 2, "'tofino' is not"),
        (["simple_switch", "--no-such"], 2, "simple_switch: No such option"),
        (["simple_switch_grpc"], 2, "--no-p4"),
        (["simple_switch_grpc", "-i", "veth0", program], 2, "-i veth0: is not PORT@INTERFACE"),
        (["simple_switch_grpc", "bmv2.json"], 2, "BMv2 JSON of another compiler"),
        (["simple_switch_grpc", "none.json"], 1, "none.json"),
        (["simple_switch_grpc", "--grpc-server-addr", "127.0.0.1:0", "-i", "1@none0", program], 1, "none0"),
        (["simple_switch_grpc", "--grpc-server-addr", f"127.0.0.1:{port}", "--no-p4"], 1, "cannot listen"),
        (["simple_switch", "--thrift-port", port, "--no-p4"], 1, "cannot listen"),
        (["simple_switch_CLI", "--thrift-port", _free_port()], 1, "no switch answers"),
    ]
    with taken:
        for (name, *words), code, why in cases:
            done = _run_command(commands / str(name), *words, cwd=tmp_path)
            lines = done.stderr.splitlines()
            assert (done.returncode, len(lines)) == (code, 1), (name, words, done)
            assert why in lines[0], lines


def test_its_file_is_run_and_pushed(commands: Path, compiled: Path, tmp_path: Path) -> None:
    """Three programs set the pipeline: the switch, a plain client, and one that wraps it like BMv2's."""
    PcapWriter(tmp_path / "left_in.pcap").close()
    words = ["-i", "1@left", "--use-files", "0", "--pcap", "--nanolog", "ipc:///tmp/none", "--device-id", "3"]
    target = ["--log-console", "--", "--grpc-server-addr", "127.0.0.1:0", "--cpu-port", "255"]
    program, info = compiled / "program.json", compiled / "program.p4info.txtpb"
    wrapped = p4config.CONFIG(reassign=True, device_data=program.read_bytes()).SerializeToString()
    with _run_switch(commands / "simple_switch_grpc", *words, program, *target, cwd=tmp_path) as (_, output):
        assert "without effect here: --nanolog" in output
        with Session.connect(_read_address(output), 3, election_id=1) as session:
            assert session.entries("constant")
            for config in (program.read_bytes(), wrapped):
                session.push(info, config)
                assert session.entries("constant")
            with pytest.raises(P4RuntimeFailed, match="BMv2 JSON of another compiler"):
                session.push(info, b'{"pipelines": []}')
    assert (tmp_path / "left_out.pcap").exists()


def test_without_a_program_it_waits_for_one(commands: Path, compiled: Path, tmp_path: Path) -> None:
    port = _free_port()
    words = ["--no-p4", "--log-file", "log", "--", "--grpc-server-addr", f"0.0.0.0:{port}"]
    process = subprocess.Popen([commands / "simple_switch_grpc", *words], cwd=tmp_path)
    try:
        with Session.connect(f"127.0.0.1:{port}", 0, election_id=1, timeout=SECONDS) as session:
            session.push(compiled / "program.p4info.txtpb", compiled / "program.json")
            session.insert(
                TableEntry("exact", {"address": 1, "port": 2}, "forward", {"port": 4, "label": 77})
            )
        assert f"P4Runtime at 127.0.0.1:{port} alone" in (tmp_path / "log.txt").read_text()
    finally:
        process.terminate()
        assert process.wait(SECONDS) == 0


def test_simple_switch_cli_programs_beside_a_controller(
    commands: Path, compiled: Path, tmp_path: Path
) -> None:
    PcapWriter(tmp_path / "in_in.pcap").close()
    port = _free_port()
    words = ["-i", "3@in", "--use-files", "0", "--thrift-port", port, "--device-id", "5"]
    grpc = ["--", "--grpc-server-addr", "127.0.0.1:0"]
    program = compiled / "program.json"

    def cli(*lines: str) -> tuple[int, str]:
        done = _run_command(
            commands / "simple_switch_CLI", "--thrift-port", port, text="\n".join(lines) + "\n"
        )
        assert done.stderr == ""
        return done.returncode, done.stdout

    with (
        _run_switch(commands / "simple_switch_grpc", *words, program, *grpc, cwd=tmp_path) as (_, output),
        Session.connect(_read_address(output), 5, election_id=1) as controller,
    ):
        code, out = cli(
            "table_add exact forward 10.0.0.1 3 => 4 77",
            "table_add ternary forward 0x20&&&0xf0 0->5 1 => 3 0 10",
            "table_add lpm forward 10.1.2.3/16 => 2 0",
            "table_modify exact forward 0 => 6 1",
            "table_set_default exact forward 1 2",
            "table_num_entries exact",
            "register_write seen 1 00:00:00:00:00:ff",
            "register_read seen 1",
            "counter_write frames 2 5 320",
            "counter_read frames 2",
            "mc_mgrp_create 7", "mc_mgrp_create 7", "mc_node_create 1 2 3", "mc_node_associate 7 0",
            "mirroring_add 9 5", "mirroring_add 9 4", "mirroring_get 9",
            "set_queue_rate 5", "set_queue_rate 5",
            "pvs_add kinds 0x800", "pvs_add kinds 2048", "pvs_add kinds 7", "pvs_remove kinds 7",
            "pvs_remove kinds 8", "pvs_get kinds", "show_pvs",
            "table_dump ternary", "show_actions", "mc_dump", "switch_info",
        )  # fmt: skip
        assert code == 0, out
        assert "EXACT-0a:00:00:01\tEXACT-00:03" in out
        assert "table_add exact" not in out  # piped commands are not echoed
        assert out.count("handle 0") == 4 and "port=4" in out and out.count("has no effect") == 1
        dumped = [line.split("RuntimeCmd: ")[-1] for line in out.splitlines()]
        at = dumped.index("Dumping entry 0x0")
        assert dumped[at + 1] == "Match key:" and "Priority: 10" in dumped[at:] and "==========" in dumped
        assert any(re.fullmatch(r"Action entry: \S+ - 0*3, 0+", line) for line in dumped), out
        assert "seen[1]= 255" in out and "frames[2]= (320 bytes, 5 packets)" in out
        assert "0800" in dumped and "[compressed bitwidth:16]" in out
        assert controller.value_set("kinds") == [(Exact(0x800),)]
        assert controller.is_primary
        entry = TableEntry("exact", {"address": 0x0A000001, "port": 3}, "forward", {"port": 6, "label": 1})
        assert controller.entries("exact") == {entry}
        (group,) = controller.multicast_groups()
        assert sorted(replica.egress_port for replica in group.replicas) == [2, 3]
        assert controller.clone_sessions()
        code, out = cli("table_dump_entry exact 0", "table_modify exact forward 0 6 2", "mc_node_create 4 4",
                        "mc_node_associate 7 0", "mc_node_update 0 5 6", "mc_dump", "mc_node_dissociate 7 0",
                        "mc_node_destroy 0", "table_dump_entry_from_key exact 10.0.0.1 3")  # fmt: skip
        assert code == 0, out
        assert "-> (rid=4) -> (ports=[5, 6], lags=[])" in out and out.count("Dumping entry 0x0") == 2
        code, out = cli(
            "table_delete_match exact 10.0.0.1 3", "table_clear ternary", "register_reset seen",
            "counter_reset frames", "mirroring_delete 9", "mc_mgrp_destroy 7", "table_reset_default exact",
            "table_dump exact", "show_tables", "pvs_clear kinds",
        )  # fmt: skip
        assert code == 0, out
        assert not controller.value_set("kinds") and not controller.entries("exact")
        assert controller.register("seen")[1] == 0
        wrong = {
            "table_add nowhere a 1 => 2": "no table named nowhere",
            "table_add exact forward 1 =>": "2 key fields",
            "table_add exact forward x 1 => 2 3": "'x' is not a number",
            "table_delete exact 0": "has no entry with handle 0",
            "table_set_default exact forward 1": "takes 2 parameters, not 1",
            "set_crc16_parameters x": "set_crc16_parameters is not done: a program's hashes are fixed",
            "port_add veth9 3": "port_add is not done",
            "pvs_add kinds 0x10000": "does not fit in the 16 bits",
            "pvs_add kinds 1 2": "needs VALUE_SET VALUE, not 3 of them",
            "pvs_get none": "no value set named none",
            "no_such_verb": "does not exist in BMv2's command line",
            "table_add exact forward 1 0x1000000 => 2 3": "does not fit",
            "register_read seen 99": "not below",
        }
        code, out = cli(*wrong)
        errors = [line for line in out.splitlines() if line.startswith("RuntimeCmd: Error: ")]
        assert code == 1 and len(errors) == len(wrong), out
        assert all(why in error for why, error in zip(wrong.values(), errors, strict=True)), out


_SAID = (
    ("table_info ternary", "ingress.ternary                [implementation=None, "
     "mk=value(ternary, 12),\tport(range, 16),\tmaybe(ternary, 8)]\n" + "*" * 80 + "\n"
     "NoAction                       []\ningress.forward                [port(9),\tlabel(20)]"),
    ("table_add exact forward 10.0.0.1 3 => 4 77", "Adding entry to exact match table exact\n"
     "match key:           EXACT-0a:00:00:01\tEXACT-00:03\naction:              forward\n"
     "runtime data:        00:04\t00:00:4d\nEntry has been added with handle 0"),
    ("table_modify exact forward 0 => 6 1", "Modifying entry 0 for exact match table exact"),
    ("table_delete exact 0", "Deleting entry 0 from exact"),
    ("table_add ternary forward 0x20&&&0xf0 0->5 0x01&&&0xff => 3 0 10",
     "Adding entry to range match table ternary\nmatch key:           "
     "TERNARY-00:20 &&& 00:f0\tRANGE-00:00 -> 00:05\tTERNARY-01 &&& ff\naction:              forward\n"
     "runtime data:        00:03\t00:00:00\nEntry has been added with handle 0"),
    ("table_add ternary NoAction 0&&&0 0->0xffff 0&&&0 => 11", "Adding entry to range match table ternary\n"
     "match key:           TERNARY-00:00 &&& 00:00\tRANGE-00:00 -> ff:ff\tTERNARY-00 &&& 00\n"
     "action:              NoAction\nruntime data:        \nEntry has been added with handle 1"),
    ("table_set_default exact forward 1 2", "Setting default action of exact\n"
     "action:              forward\nruntime data:        00:01\t00:00:02"),
    ("table_reset_default exact", ""), ("table_clear ternary", ""), ("table_num_entries ternary", "0"),
    ("register_write seen 1 255", ""), ("register_read seen 1", "seen[1]= 255"), ("register_reset seen", ""),
    ("counter_write frames 2 5 320", "frames[2] has been updated"), ("counter_reset frames", ""),
    ("meter_set_rates rate 1 0.5:100 1.0:200", ""), ("pvs_add kinds 0x800", ""), ("pvs_get kinds", "0800"),
    ("mirroring_add 9 5", ""), ("mirroring_get 9", "MirroringSessionConfig(port=5, mgid=None)"),
    ("mc_mgrp_create 7", "Creating multicast group 7"),
    ("mc_node_create 1 2 3",
     "Creating node with rid 1 , port map 1100 and lag map \nnode was created with handle 0"),
    ("mc_node_associate 7 0", "Associating node 0 to multicast group 7"), ("mirroring_add_mc 9 7", ""),
    ("mirroring_get 9", "MirroringSessionConfig(port=None, mgid=7)"),
    ("mc_node_update 0 5 6", "Updating node 0 with port map 1100000 and lag map "),
    ("mc_node_dissociate 7 0", "Dissociating node 0 from multicast group 7"),
    ("mc_node_destroy 0", "Destroying node 0"), ("mirroring_delete 9", ""),
    ("mc_mgrp_destroy 7", "Destroying multicast group 7"), ("reset_state", ""),
)  # fmt: skip
"""What BMv2 1.15's own command line printed for the same program, but that it names a key by its field."""


def test_a_verb_says_what_bmv2s_says() -> None:
    info = describe_text(preprocess_text(PROGRAM.read_text(), "case.p4"))
    with (
        serve_devices({1: MemoryPlane(())}, "127.0.0.1:0") as agent,
        Session.connect(agent.address, 1, election_id=1) as session,
    ):
        session.push(info, b"program")
        verbs = Verbs(session)
        for line, said in _SAID:
            verb, *words = line.split()
            assert "\n".join(verbs.do(verb, words)) == said, line


def test_a_value_holds_the_fields_of_its_set_side_by_side() -> None:
    widths, draw = (3, 12, 5, 7), random.Random(5)
    fields = "bit<3> a; @match(ternary) bit<12> b; @match(lpm) bit<5> c; @match(range) bit<7> d;"
    text = PROGRAM.read_text().replace("struct learn_t", f"struct four_t {{ {fields} }}\nstruct learn_t")
    text = text.replace("value_set<bit<16>>(3) kinds", "value_set<four_t>(9) kinds")
    text = text.replace("select(hdr.frame.kind)", "select(hdr.frame.kind[2:0], meta.value, 5w1, 7w1)")
    plane, wanted = MemoryPlane(()), []
    info = describe_text(preprocess_text(text, "case.p4"))
    with (
        serve_devices({1: plane}, "127.0.0.1:0") as agent,
        Session.connect(agent.address, 1, election_id=1) as session,
    ):
        session.push(info, b"program")
        verbs = Verbs(session)
        for _ in range(9):
            a, b, c, d = values = [draw.randrange(1 << bits) for bits in widths]
            number = int("".join(f"{value:0{bits}b}" for value, bits in zip(values, widths, strict=True)), 2)
            verbs.do("pvs_add", ["kinds", str(number)])
            wanted.append(((Exact(a), Ternary(b, 0xFFF), Lpm(c, 5), Range(d, d)), f"{number:08x}"))
        (held,) = plane.value_sets.values()
        assert list(held) == [member for member, _ in wanted]
        assert verbs.do("pvs_get", ["kinds"]) == [shown for _, shown in wanted]
        session.set_value_set("kinds", [(Exact(1), Ternary(2, 2), None, None)])
        assert verbs.do("pvs_get", ["kinds"]) == ["01, 0002 &&& 0002, 00/0, 00 -> 7f"]
