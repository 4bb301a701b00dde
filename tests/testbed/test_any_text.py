"""Whatever the file holds, the answer is a testbed or BadInput with places: never another exception."""

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from olafctl.errors import BadInput
from olafctl.targets import testbeds
from tests.testbed.wrong_testbeds import RIGHT

PATH = Path("bed.yaml")
TOKENS = [
    *(
        "0",
        "-1",
        "1e9",
        "9" * 5000,
        "0x",
        "~",
        "null",
        "[]",
        "{}",
        "[[]]",
        "- ",
        ": ",
        "? ",
        "&a ",
        "*a",
        "<<: ",
        "!!python/object:os.system ",
    ),
    *(
        "'",
        '"',
        "#",
        "\t",
        "\n",
        "\0",
        "\ufeff",
        "|",
        ">",
        "%",
        "@",
        "…",
        "٣",
        "10.0.0.1/33",
        "2-",
        "1-499",
        "off",
        "40 Gb/s",
        "count: ",
        "workers: ",
    ),
]


def check(text: str) -> None:
    try:
        testbeds.load(PATH, text)
    except BadInput as error:
        assert error.problems
        assert all(problem.where.startswith("bed.yaml") and problem.remedy for problem in error.problems)


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
