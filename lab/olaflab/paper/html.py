"""The document as one HTML page that needs nothing else: no network, no other file.

It reads the Markdown that this project's pages are made of: headings, paragraphs, lists, tables, folded parts
and pictures, which become part of the page.
"""

import base64
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

_STYLE = """
body { font: 16px/1.5 sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 0.9em; display: block; overflow-x: auto; }
th, td { border: 1px solid #ccc; padding: 0.2rem 0.6rem; text-align: left; vertical-align: top; }
th { background: #f2f2f2; } tr:nth-child(even) td { background: #fafafa; }
img { max-width: 100%; } nav { columns: 2; } summary { cursor: pointer; } code { background: #f2f2f2; }
"""
_TYPES = {".png": "image/png", ".svg": "image/svg+xml"}
_PICTURE = re.compile(r"\[?!\[([^\]]*)\]\(([^)]+)\)(?:\]\(([^)]+)\))?")
_LINK = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")
_HEADING = re.compile(r"(#+) (.*)")
_DETAILS = re.compile(r"<details><summary>(.*)</summary>")


def page(markdown: str, beside: Path) -> str:
    """``markdown`` as a whole page; the places of its pictures are relative to ``beside``. Raises OSError."""
    title = markdown.partition("\n")[0].lstrip("# ")
    body = "\n".join(_blocks(markdown, beside))
    heads = [
        match[2] for line in markdown.splitlines() if (match := _HEADING.match(line)) and len(match[1]) == 2
    ]
    contents = "".join(f'<li><a href="#{anchor(head)}">{escape(head)}</a></li>' for head in heads)
    first, end, rest = body.partition("</h1>")
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head>\n<body>\n{first}{end}\n<nav><ul>{contents}</ul></nav>{rest}\n</body></html>\n"
    )


def anchor(heading: str) -> str:
    """As Markdown's readers make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _blocks(markdown: str, beside: Path) -> Iterator[str]:
    for block in re.split(r"\n{2,}", markdown.strip()):
        lines = block.splitlines()
        heading, details = _HEADING.fullmatch(block), _DETAILS.fullmatch(block)
        if heading:
            level = len(heading[1])
            yield f'<h{level} id="{anchor(heading[2])}">{_text(heading[2], beside)}</h{level}>'
        elif details:
            yield f"<details><summary>{escape(details[1])}</summary>"
        elif block == "</details>":
            yield block
        elif all(line.startswith("|") for line in lines):
            yield _table(lines, beside)
        elif lines[0].startswith("* "):
            yield _list(lines, beside)
        else:
            yield from _paragraph(lines, beside)


def _paragraph(lines: list[str], beside: Path) -> Iterator[str]:
    """A list may follow its introduction without a gap."""
    begin = next((number for number, line in enumerate(lines) if line.startswith("* ")), len(lines))
    yield f"<p>{_text(' '.join(lines[:begin]), beside)}</p>"
    if begin < len(lines):
        yield _list(lines[begin:], beside)


def _list(lines: list[str], beside: Path) -> str:
    items: list[str] = []
    for line in lines:
        if line.startswith("* "):
            items.append(line[2:])
        else:
            items[-1] += f" {line.strip()}"
    return "<ul>" + "".join(f"<li>{_text(item, beside)}</li>" for item in items) + "</ul>"


def _table(lines: list[str], beside: Path) -> str:
    head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    shown = "".join(f"<th>{_text(cell, beside)}</th>" for cell in head)
    rest = "".join(f"<tr>{''.join(f'<td>{_text(cell, beside)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><tr>{shown}</tr>{rest}</table>"


def _text(text: str, beside: Path) -> str:
    """What is within a line; links to other files become their words, as those files are not here."""
    pictures: list[str] = []

    def take(match: re.Match[str]) -> str:
        pictures.append(_picture(match[1], beside / (match[3] or match[2])))
        return f"\x00{len(pictures) - 1}\x00"

    text = escape(_PICTURE.sub(take, text), quote=False)
    codes = re.split(r"`([^`]*)`", text)
    codes[1::2] = [f"<code>{code}</code>" for code in codes[1::2]]
    codes[::2] = [_words(words) for words in codes[::2]]
    return re.sub(r"\x00(\d+)\x00", lambda match: pictures[int(match[1])], "".join(codes))


def _words(text: str) -> str:
    text = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", text)
    text = re.sub(r"\*(\S.*?)\*", r"<em>\1</em>", text)
    return _LINK.sub(lambda match: _link(match[1], match[2]), text)


def _link(words: str, target: str) -> str:
    return f'<a href="{escape(target)}">{words}</a>' if target.startswith(("#", "https:")) else words


def _picture(title: str, path: Path) -> str:
    content = base64.b64encode(path.read_bytes()).decode()
    return f'<img alt="{escape(title)}" src="data:{_TYPES[path.suffix]};base64,{content}"/>'
