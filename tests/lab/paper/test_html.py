"""The document as one page to read offline."""

from pathlib import Path
from xml.etree.ElementTree import Element, fromstring

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


def loaded(page: Element) -> list[str]:
    """What its links and pictures lead to."""
    return [value for each in page.iter() for name, value in each.items() if name in ("src", "href")]


def test_the_page_is_whole_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "one.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    whole = page(TEXT, tmp_path)
    found = fromstring(whole)
    assert all(place.startswith(("#", "data:image/svg+xml;base64,")) for place in loaded(found))
    assert sum(place.startswith("data:") for place in loaded(found)) == 1
    text = "".join(found.itertext())
    assert "a < b" in text and "2 & 3" in text and "a page" in text
    assert "<li>first, which goes on</li><li>second</li>" in whole
    assert f'<h2 id="{anchor("Table 1: one engine")}">' in whole and 'href="#table-1-one-engine"' in whole
    assert "<th>c</th>" in whole and "<strong>" in whole


def test_the_projects_own_page_is_read_to_its_last_picture() -> None:
    folder = Path(__file__).parents[3] / "docs"
    found = fromstring(page((folder / "reproduction.md").read_text(), folder))
    text = "".join(found.itertext())
    assert "![" not in text and "| ---" not in text and "**" not in text
    assert not [place for place in loaded(found) if not place.startswith(("#", "https:", "data:"))]
