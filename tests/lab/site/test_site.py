"""The site: links hold, every command and class has a page, and a phone shows all of it without a network."""

import re
from pathlib import Path

import olaf
import pytest
from click import Context

from olafctl import paths
from olafctl.cli.main import olafctl
from olafctl.daemon.api import olaf_pb2
from olaflab.main import olaflab
from olaflab.site import build, classes, commands, contents, daemon_api, p4runtime
from olafswitch.errors import OlafError
from tests.chromium import Tab, open_tab

PHONE, DESKTOP = 360, 1280
TOO_WIDE = """[...document.querySelectorAll('html, .page, .main, .content, .article-container, article')]
    .filter(one => one.scrollWidth > innerWidth).map(one => one.tagName + ' ' + one.scrollWidth)"""
"""What of a page, not of a table or a program in it, must be scrolled sideways."""

CUT = """[...document.querySelectorAll('article pre')].filter(one => one.scrollWidth > one.clientWidth
    && !['auto', 'scroll'].includes(getComputedStyle(one).overflowX)).map(one => one.textContent)"""
"""What of a program cannot be reached."""

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning")


@pytest.mark.slow
def test_the_site_in_a_browser(tmp_path: Path) -> None:
    """One for all that needs a site: it takes long to build, and is not where a link is broken."""
    pytest.importorskip("sphinx")
    site = build.build_site(tmp_path / "site").parent
    with open_tab(tmp_path / "profile") as browser:
        assert_no_page_is_wider_than_its_window(site, browser)
        assert_a_wide_thing_would_be_found(site, browser)
        assert_search_works_without_a_server(site, browser)
        assert_a_phone_reaches_every_page_through_the_navigation(site, browser)


def test_a_broken_link_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sphinx")

    def one_page(folder: Path) -> None:
        folder.mkdir()
        (folder / f"{contents.FRONT}.md").write_text("# Front\n\n[to nowhere](docs/gone.md)\n")

    monkeypatch.setattr(contents, "write_sources", one_page)
    with pytest.raises(OlafError, match=r"index.md:3.*docs/gone\.md"):
        build.check_site()


def test_every_command_has_a_page() -> None:
    pages = commands.command_pages()
    for group in (olafctl, olaflab):
        listed = {f"reference/{group.name}/{name}" for name in group.list_commands(Context(group))}
        assert {f"reference/{group.name}", *listed} <= set(pages)
    assert "## olafctl cluster create" in pages["reference/olafctl/cluster"]
    assert "\n  --mode " in pages["reference/olafctl/cluster"]


def test_every_public_class_of_the_sdk_has_a_page() -> None:
    pages = classes.class_pages()
    classes_of = (olaf.ParameterServer, olaf.Replica, olaf.Worker)
    homes = {each.__module__ for each in classes_of} | {
        "olaf.torch.link",
        "olaf.policies",
        "olaf.distributed",
    }
    assert {f"reference/python/{name}" for name in homes} <= set(pages)


def test_every_call_and_field_of_the_daemon_is_on_its_page() -> None:
    page = daemon_api.api_pages()["reference/grpc"]
    schema = olaf_pb2.DESCRIPTOR
    for service in schema.services_by_name.values():
        for call in service.methods:
            line = rf"^  rpc {call.name}\(.*\);  // \S.*$"
            assert re.search(line, page, re.MULTILINE), f"{call.name} says in no comment what it does"
    for name, message in schema.message_types_by_name.items():
        assert f"\nmessage {name} {{" in page, name
        section = page.partition(f"\nmessage {name} {{\n")[2].partition("\n}")[0]
        for field in message.fields:
            assert f" {field.name} = {field.number};" in section, f"{name}.{field.name}"


def test_the_tables_of_both_devices_are_on_their_page() -> None:
    page = p4runtime.table_pages()["reference/p4runtime"]
    sources = (paths.sources() / "p4src").glob("*.p4")
    tables = [
        name for path in sources for name in re.findall(r"^ *table (\w+) \{", path.read_text(), re.MULTILINE)
    ]
    assert len(tables) > 5
    for table in tables:
        assert re.search(rf"^### `.*\.{table}`$", page, re.MULTILINE), table


def assert_no_page_is_wider_than_its_window(site: Path, browser: Tab) -> None:
    wide, broken, fetched = {}, {}, set()
    pages = sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)
    assert len(pages) > 50
    for page in pages:
        browser.open_page(page.as_uri(), PHONE)
        for width in (PHONE, DESKTOP):
            browser.show_in(width)
            if found := [*browser.run_script(TOO_WIDE), *browser.run_script(CUT)]:
                wide[page.name, width] = found
        pictures = "[...document.images].filter(one => !one.naturalWidth).map(one => one.src)"
        if missing := [*browser.run_script(pictures), *browser.failed_requests()]:
            broken[page.name] = missing
        fetched |= {
            address for address in browser.fetched_addresses() if not address.startswith(("file:", "data:"))
        }
    assert (wide, broken, fetched) == ({}, {}, set())


def assert_a_wide_thing_would_be_found(site: Path, browser: Tab) -> None:
    browser.open_page((site / "index.html").as_uri(), PHONE)
    browser.run_script(
        "document.querySelector('article').insertAdjacentHTML('beforeend', '<hr style=width:361px>')"
    )
    assert browser.run_script(TOO_WIDE)


def assert_search_works_without_a_server(site: Path, browser: Tab) -> None:
    browser.open_page(f"{(site / 'search.html').as_uri()}?q=multicast", PHONE)
    # Results come one by one; the test's deadline ends a search that does not find it.
    found = """new Promise(done => {
        const look = () => document.querySelector('#search-results a[href^="docs/drop-in.html"]')
            ? done(true) : setTimeout(look, 20);
        look();
    })"""
    assert browser.run_script(found)


def assert_a_phone_reaches_every_page_through_the_navigation(site: Path, browser: Tab) -> None:
    browser.open_page((site / "index.html").as_uri(), PHONE)
    linked = browser.run_script(
        "[...document.querySelectorAll('.sidebar-tree a.reference')].map(one => one.href)"
    )
    reached = {Path(link.partition("#")[0].removeprefix("file://")).relative_to(site) for link in linked}
    pages = {
        path.relative_to(site)
        for path in site.rglob("*.html")
        if "_static" not in path.parts
        and path.name not in ("index.html", "genindex.html", "search.html", "py-modindex.html")
    }
    assert pages - reached == set()
