"""Every option and verb of p4c's and BMv2's sources is implemented, ignored, or refused by name.

OLAF_P4C_SOURCES and OLAF_BMV2_SOURCES name sources, or their git directories.
"""

import os
import re
import subprocess
from pathlib import Path

import click
import pytest

from olafswitch.dropin.compilers import compiler
from olafswitch.dropin.runtime_verbs import Verbs
from olafswitch.dropin.runtime_words import REFUSED, WITHOUT_EFFECT
from olafswitch.dropin.switches import switch
from olafswitch.p4runtime.session import Session

P4C, BMV2 = os.environ.get("OLAF_P4C_SOURCES", ""), os.environ.get("OLAF_BMV2_SOURCES", "")
_COMMON = {"--help", "-h", "--Wdisable", "--Winfo", "--Wwarn", "--Werror", "EOF", "greet", "shell"}


def _read_source(checkout: str, *files: str) -> str:
    def read(file: str) -> str:
        if (there := Path(checkout) / file).exists():
            return there.read_text()
        show = ["git", "-C", checkout, "show", f"HEAD:{file}"]
        return subprocess.run(show, capture_output=True, text=True, check=True).stdout

    return "\n".join(map(read, files))


def _known_options(command: click.Command) -> set[str]:
    return {name for param in command.params for name in param.opts} | _COMMON


@pytest.mark.skipif(not P4C, reason="OLAF_P4C_SOURCES names no checkout of p4c")
def test_p4cs_options() -> None:
    files = ("frontends/common/options.cpp", "frontends/common/parser_options.cpp")
    options = set(re.findall(r'registerOption\(\s*"(-[^"]+)"', _read_source(P4C, *files)))
    assert len(options) > 40 and not options - _known_options(compiler)


@pytest.mark.skipif(not BMV2, reason="OLAF_BMV2_SOURCES names no checkout of behavioral-model")
def test_the_switchs_options() -> None:
    parser = _read_source(BMV2, "src/bm_sim/options_parse.cpp")
    own = _read_source(BMV2, "targets/simple_switch/main.cpp", "targets/simple_switch_grpc/main.cpp")
    hidden = {"input-config", "to-pass-further"}
    options = {name.split(",")[0] for name in re.findall(r'^ +\("([a-z][^"]+)"', parser, re.M)} - hidden
    options |= set(re.findall(r'add_\w+_option\(\s*"([^"]+)"', own))
    assert len(options) > 30 and not {f"--{name}" for name in options} - _known_options(switch)


@pytest.mark.skipif(not BMV2, reason="OLAF_BMV2_SOURCES names no checkout of behavioral-model")
def test_the_command_lines_verbs() -> None:
    text = _read_source(BMV2, "tools/runtime_CLI.py", "targets/simple_switch/sswitch_CLI.py")
    verbs = set(re.findall(r"def do_(\w+)", text))
    known = {*Verbs(Session.__new__(Session)).verbs, *REFUSED, *WITHOUT_EFFECT} | _COMMON
    assert len(verbs) > 70 and not verbs - known
