"""Whatever the file contains, the answer is a testbed or BadInput with places, never another exception."""

import re
from collections import Counter
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from olafctl import paths
from olafctl.targets import testbeds
from olafctl.testbed.limits import PROBLEMS_OF_A_LINE
from olafswitch.errors import BadInput
from tests.testbed.wrong_testbeds import RIGHT

PATH = Path("bed.yaml")
_LINE = re.compile(r"bed\.yaml:\d+(: |$)")
SHIPPED = [path.read_text().splitlines() for path in sorted((paths.sources() / "testbeds").glob("*.yaml"))]
TOKENS = [
    *("0", "-1", "1e9", "9" * 5000, "0x", "~", "null", "[]", "{}", "[[]]", "- ", ": ", "? ", "&a ", "*a"),
    *("<<: ", "!!python/object:os.system ", "'", '"', "#", "\t", "\n", "\0", "\ufeff", "|", ">", "%", "@"),
    *("…", "٣", "10.0.0.1/33", "2-", "1-499", "off", "40 Gb/s", "count: ", "workers: "),
]


def check(text: str) -> None:
    try:
        testbeds.load_testbed(PATH, text)
    except BadInput as error:
        assert error.problems
        assert all(_LINE.match(problem.where) and problem.remedy for problem in error.problems), error
        assert all("\n" not in str(problem) for problem in error.problems)
        by_line = Counter(problem.where.split(":")[1] for problem in error.problems)
        assert max(by_line.values()) <= PROBLEMS_OF_A_LINE + 1


@settings(max_examples=150)
@given(
    st.lists(
        st.tuples(st.integers(0, len(RIGHT)), st.integers(0, 12), st.sampled_from(TOKENS)),
        min_size=1,
        max_size=4,
    )
)
def test_a_testbed_with_anything_put_in_anywhere(edits: list[tuple[int, int, str]]) -> None:
    text = RIGHT
    for at, cut, token in edits:
        text = text[:at] + token + text[at + cut :]
    check(text)


@settings(max_examples=100)
@given(st.permutations(RIGHT.splitlines()), st.integers(1, 19))
def test_lines_in_any_order(lines: list[str], count: int) -> None:
    check("\n".join(lines[:count]))


@settings(max_examples=100)
@given(st.text(max_size=200))
def test_any_text_at_all(text: str) -> None:
    check(text)


@settings(max_examples=60)
@given(st.sampled_from(SHIPPED), st.data())
def test_a_shipped_testbed_with_one_line_wrong(lines: list[str], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(lines) - 1))
    line = lines[at]
    values = list(re.finditer(r"(?<=: )[^\s,{}\[\]]+|[a-z_]+(?=:)", line))
    wrong = [[], [line, line]]
    if values:
        value = data.draw(st.sampled_from(values))
        token = data.draw(st.sampled_from(TOKENS))
        wrong.append([line[: value.start()] + token + line[value.end() :]])
    check("\n".join((*lines[:at], *data.draw(st.sampled_from(wrong)), *lines[at + 1 :])))
