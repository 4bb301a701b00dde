"""A page on the daemon's gRPC interface: ``olaf.proto`` with its comments."""

from collections.abc import Mapping

from olafctl import paths

_PLACE = "olafctl/daemon/api/olaf.proto"


def api_pages() -> Mapping[str, str]:
    """Return Markdown by the place of the page."""
    lead, _, schema = (paths.sources() / _PLACE).read_text(encoding="utf-8").partition("\nsyntax")
    lines = [
        "# gRPC: the daemon's interface", "",
        " ".join(line.removeprefix("// ") for line in lead.splitlines()), "",
        f"Every language makes its own client from [`olaf.proto`](../{_PLACE});",
        "[](python/olafctl.daemon.api.client.md) is Python's.", "",
        "```protobuf", f"syntax{schema.rstrip()}", "```", "",
    ]  # fmt: skip
    return {"reference/grpc": "\n".join(lines)}
