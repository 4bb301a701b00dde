"""The preprocessor against the C preprocessor that p4c calls, over random conditional groups and splices."""

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from olafswitch.p4.refuse import Refused
from olafswitch.p4.syntax.preprocess import preprocess_text

_JUNK = ["#error stop", "#include <nowhere.p4>", "#pragma x (", "#define", "don't", "#ident \"v\"",
         "#warning odd", "#undef", "#if_", "#", "#unknown word"]  # fmt: skip
_LINES = ["int a{n};", "A B F(1, x)", "#define A {n}", "#define B A + {n}", "#undef A",
          "#define F(x, y) x y A",
          "#pragma once_{n}", "#ident \"{n}\"", "#", "//  comment", "/* two", "A /* B */ A",
          "#pragma"]  # fmt: skip
_CONDITIONS = [
    "#if 0",
    "#if 1",
    "#ifdef A",
    "#ifndef A",
    "#if defined(A) && A > 2",
    "#if !defined B",
    "#if A == 3",
]


def _random_group(r: random.Random, depth: int) -> list[str]:
    lines: list[str] = []
    for _ in range(r.randrange(1, 6)):
        line = r.choice(_LINES).format(n=r.randrange(9))
        if line == "/* two":
            lines += [line, "lines */"]
        else:
            lines.append(line)
        if depth and r.random() < 0.4:
            never = r.random() < 0.3
            lines.append("#if 0" if never else r.choice(_CONDITIONS))
            lines += [r.choice(_JUNK)] if never else []
            lines += _random_group(r, depth - 1)
            if not never and r.random() < 0.4:
                lines += [
                    r.choice(["#elif defined(B)", "#elif 1", "#elif A > 4"]),
                    *_random_group(r, depth - 1),
                ]
            if r.random() < 0.4:
                lines += ["#else", *_random_group(r, depth - 1)]
            lines.append("#endif")
    return lines


def _splice_text(r: random.Random, text: str) -> str:
    """Return the text with some lines broken by a backslash, anywhere."""
    for _ in range(r.randrange(6)):
        at = r.randrange(len(text))
        if "\\" in text[max(at - 4, 0) : at + 4]:
            continue
        text = text[:at] + "\\" + r.choice(["", "", "  "]) + "\n" + text[at:]
    return text


def _seen_words(text: str) -> list[str]:
    """Return the words that p4c's lexer sees; it skips text that begins with # in its line."""
    return " ".join(line for line in text.splitlines() if not line.lstrip().startswith("#")).split()


@pytest.mark.parametrize("seed", range(40))
def test_groups_and_splices_are_those_of_cpp(seed: int, tmp_path: Path) -> None:
    cpp = shutil.which("g++")
    assert cpp is not None
    r = random.Random(seed)
    text = _splice_text(r, "\n".join(_random_group(r, 3)) + "\n") + "\nend\n"
    command = [cpp, "-E", "-P", "-undef", "-nostdinc", "-x", "assembler-with-cpp", "-D__P4C__=1", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    try:
        mine = _seen_words(preprocess_text(text, str(tmp_path / "case.p4")))
    except Refused:
        assert done.returncode, text
    else:
        assert done.returncode == 0 and mine == _seen_words(done.stdout), text


def test_places_count_the_lines_that_are_spliced() -> None:
    text = preprocess_text(
        "#def\\\nine A \\\n 1\n// x \\\nbar\n#error he\\\nre\n".replace("#error", "A //"), "a.p4"
    )
    assert '#line 6 "a.p4"\n1' in text
    with pytest.raises(Refused, match=r"a\.p4:3:1: preprocessor: here"):
        preprocess_text("a \\\nb\n#error he\\\nre\n", "a.p4")


@pytest.mark.parametrize("line", ["#if", "#ifdef", "#define", "#include", "#undef"])
def test_a_directive_without_its_operand_is_refused_with_its_place(line: str) -> None:
    with pytest.raises(Refused, match=r"a\.p4:2"):
        preprocess_text(f"\n{line}\n", "a.p4")
