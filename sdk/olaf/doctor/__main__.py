"""``olaf-doctor`` or ``python -m olaf.doctor``: from a worker's host, why training would not work."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict

from olaf.doctor.examine import ExaminedWorker, examine_worker
from olaf.doctor.machine import Finding, Verdict
from olaf.errors import BadAddress, OlafError
from olaf.transport.address import host_port, parse
from olaf.transport.membership import key_of
from olaf.transport.udp import usual

_MARKS = {
    Verdict.OK: "ok     ",
    Verdict.WARNING: "warning",
    Verdict.FAULT: "FAULT  ",
    Verdict.SKIPPED: "-      ",
}
_ANSWER, _WATCH = 2.0, 10.0
_ABOUT = """\
Find out why a worker on this host cannot train with SERVER.

SERVER is what a training script gives olaf.Worker: a parameter server's HOST:PORT, or olaf://CLUSTER@ENGINE,
with the cluster's key in OLAF_KEY. Examined are the route, the MTU, checksum offload, membership, the epoch,
the model, whether the server answers, and whether the engine knows this worker and its ACK comes back.
Weights are not changed: the update has a gradient of zeros.

Run it while no worker trains here: it uses the same address, and joins and leaves as one would.

With --rings instead of SERVER, while workers with actors train here: whether a learner starves for rows, or
a ring stands still.

Exit code 1 when there is a fault; each is printed with its remedy.
"""
_EXAMPLES = """\
examples:
  olaf-doctor 10.0.0.254:20300 --values 9797
  olafctl exec lander-w0 -- olaf-doctor olaf://lander@10.0.0.254 --values 9797
  olaf-doctor --rings --wait 30
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Examine as the command line requests; returns the exit code."""
    parser = _make_parser()
    given = parser.parse_args(arguments)
    if (given.rings is None) == (given.server is None):
        parser.error("give SERVER or --rings")
    found = []
    try:
        for finding in _of_server(given) if given.rings is None else _of_rings(given):
            found.append(finding)
            if not given.json:
                remedy = f"\n           → {finding.remedy}" if finding.remedy else ""
                print(f"{_MARKS[finding.verdict]}  {finding.check}: {finding.what}{remedy}", flush=True)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except (OlafError, ValueError) as error:
        print(f"{error} (see olaf-doctor --help)", file=sys.stderr)
        return 2 if isinstance(error, (BadAddress, ValueError)) else 1
    if given.json:
        print(json.dumps([asdict(finding) for finding in found], indent=1, ensure_ascii=False))
    return 1 if any(finding.verdict is Verdict.FAULT for finding in found) else 0


def _of_server(given: argparse.Namespace) -> Iterator[Finding]:
    key = key_of(os.environ.get("OLAF_KEY", ""))
    local = host_port(given.local) if given.local else usual(parse(given.server))
    worker = ExaminedWorker(given.server, local, given.values, given.segments, given.mtu, given.epoch, key)
    yield from examine_worker(worker, given.wait or _ANSWER)


def _of_rings(given: argparse.Namespace) -> Iterator[Finding]:
    from olaf.doctor import rings  # with numpy, which no other examination takes time for

    yield from rings.examine_rings(given.rings, given.wait or _WATCH)


def _make_parser() -> argparse.ArgumentParser:
    as_written = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "olaf-doctor", description=_ABOUT, epilog=_EXAMPLES, formatter_class=as_written
    )
    server = "HOST:PORT or olaf://CLUSTER@ENGINE"
    parser.add_argument("server", nargs="?", metavar="SERVER", help=server)
    rings = "instead: watch these rings of experience, or all on this machine"
    parser.add_argument("--rings", nargs="*", metavar="NAME", help=rings)
    local = "where the worker binds: the testbed's UDP port of it (as the SDK: OLAF_LOCAL, or UDP port 20300)"
    parser.add_argument("--local", metavar="ADDRESS:PORT", help=local)
    values = "length of the model, which is needed to try an update"
    parser.add_argument("--values", metavar="N", type=_number_between(1, 1 << 32), help=values)
    segments = "segments of it; else as the server has it, or as few as fit --mtu"
    parser.add_argument("--segments", metavar="N", type=_number_between(1, 65535), help=segments)
    parser.add_argument(
        "--mtu", metavar="BYTES", type=_number_between(68, 65535), default=1500, help="(%(default)s)"
    )
    epoch = "the job's; a Join's answer tells it (%(default)s)"
    parser.add_argument("--epoch", metavar="N", type=_number_between(0, 15), default=0, help=epoch)
    wait = f"for each answer ({_ANSWER:g}); of rings, to watch them ({_WATCH:g})"
    parser.add_argument("--wait", metavar="SECONDS", type=_read_seconds, help=wait)
    parser.add_argument("--json", action="store_true", help="print a JSON list of what was examined")
    return parser


def _number_between(low: int, high: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"{text} is not in {low} … {high}")
        return int(text)

    return number


def _read_seconds(text: str) -> float:
    if not 0.1 <= float(text) <= 60:
        raise argparse.ArgumentTypeError(f"{text} is not in 0.1 … 60")
    return float(text)


if __name__ == "__main__":
    sys.exit(main())
