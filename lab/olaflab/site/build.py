"""One folder of HTML from the documents, which a browser reads without a network and without a server."""

import tempfile
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Any

from olafctl import __version__, paths
from olaflab.site import contents
from olafswitch.errors import MissingTool, OlafError, Problem

_STATIC = Path(__file__).parent / "static"
_SETTINGS: Mapping[str, Any] = {
    "project": "Olaf",
    "copyright": "the authors of Olaf",
    "release": __version__,
    "html_title": f"Olaf {__version__}",
    "html_theme": "furo",
    "html_static_path": [str(_STATIC)],
    "html_css_files": ["site.css"],
    "html_copy_source": False,
    "html_show_sphinx": False,
    "extensions": ["myst_parser", "sphinx.ext.autodoc"],
    "root_doc": contents.FRONT,
    "include_patterns": [*contents.PATTERNS],
    # Anchors of headings as GitHub makes them, so that the same links hold in both places.
    "myst_heading_anchors": 4,
    "myst_enable_extensions": ["colon_fence", "html_image"],
    # All pages are listed below the front page's text; a package has its modules' classes too.
    "suppress_warnings": ["myst.header", "ref.python"],
    "autodoc_mock_imports": ["torch", "ray", "gymnasium", "zmq", "transformers", "vllm"],
    "autodoc_member_order": "bysource",
    "autodoc_typehints": "signature",
    "nitpicky": True,
    # Only names of the SDK must have a page: no other package's, no private ones.
    "nitpick_ignore": [("py:class", "olaf.transport.segments.Mark")],  # a TypeVar
    "nitpick_ignore_regex": [("py:.*", r"(?!olaf\.).*|.*\._.*")],
}


def build_site(into: Path) -> Path:
    """Write the site to ``into``; returns its first page.

    Every broken link, missing file and malformed docstring is an error. Raises OlafError with all of them,
    MissingTool without Sphinx.
    """
    _run_sphinx("html", into)
    return into / f"{contents.FRONT}.html"


def check_site() -> None:
    """Follow every link without writing the site, in half the time. Raises as :func:`build_site`."""
    with tempfile.TemporaryDirectory() as nowhere:
        _run_sphinx("dummy", Path(nowhere))


def _run_sphinx(builder: str, into: Path) -> None:
    try:
        from sphinx.application import Sphinx
        from sphinx.util.docutils import docutils_namespace, patch_docutils
    except ImportError as error:
        raise MissingTool(Problem(f"the site needs {error.name}", remedy="make site")) from None
    if not (paths.sources() / "README.md").is_file():
        raise OlafError(Problem("has no documents: the site is built from a checkout", str(paths.sources())))
    warnings = StringIO()
    with tempfile.TemporaryDirectory() as folder, patch_docutils(), docutils_namespace():
        source = Path(folder) / "source"
        contents.write_sources(source)
        application = Sphinx(
            source, None, into, Path(folder) / "doctrees", builder, dict(_SETTINGS),
            status=None, warning=warnings,
        )  # fmt: skip
        application.build(force_all=True)
        found = warnings.getvalue().replace(f"{source}/", "")
    if found:
        raise OlafError(*(Problem(line) for line in dict.fromkeys(found.splitlines()) if line.strip()))
