"""The document as one page to read offline."""

from html.parser import HTMLParser
from pathlib import Path

from olaflab.paper.html import anchor, page

TEXT = """# Ours, and the paper's

One `a < b` and **bold *and* x** with [a place](#table-1-one-engine), [a page](other.md).

| a | b |
| --- | --- |
| *1* | 2 & 3 |

<details><summary>Long (1 rows)</summary>

| c |
| --- |
| 4 |

</details>

## Table 1: one engine

[![A picture](one.png)](one.svg)

Two things:

* first,
  which goes on
* second
"""


class Reader(HTMLParser):
    """What is open must be closed; what would be loaded is remembered."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loaded: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loaded += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    assert not reader.open
    return reader


def test_the_page_is_whole_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "one.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    whole = page(TEXT, tmp_path)
    reader = read(whole)
    assert all(place.startswith(("#", "data:image/svg+xml;base64,")) for place in reader.loaded)
    assert sum(place.startswith("data:") for place in reader.loaded) == 1
    assert "a < b" in reader.text and "2 & 3" in reader.text and "a page" in reader.text
    assert "<li>first, which goes on</li><li>second</li>" in whole
    assert f'<h2 id="{anchor("Table 1: one engine")}">' in whole and 'href="#table-1-one-engine"' in whole
    assert "<th>c</th>" in whole and "<strong>" in whole


def test_the_projects_own_page_is_read_to_its_last_picture() -> None:
    folder = Path(__file__).parents[3] / "docs"
    reader = read(page((folder / "reproduction.md").read_text(), folder))
    assert "![" not in reader.text and "| ---" not in reader.text and "**" not in reader.text
    assert not [place for place in reader.loaded if not place.startswith(("#", "https:", "data:"))]
