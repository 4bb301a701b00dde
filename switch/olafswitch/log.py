"""Logging, configured once for every process: time, level, component, message."""

import json
import logging
import os
import sys
import threading
from datetime import UTC, datetime
from types import TracebackType

from olafswitch.terminal import escape_controls

LEVELS = ("debug", "info", "warning", "error")
_LEVEL = "OLAF_LOG_LEVEL"
_FORMAT = "OLAF_LOG_FORMAT"


class _Line(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        head = f"{_time(record)} {record.levelname.lower():7} {_component(record)}: "
        return "\n    ".join(map(escape_controls, (head + record.getMessage(), *_trace(self, record))))


class _JsonLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(
            {
                "time": _time(record),
                "level": record.levelname.lower(),
                "component": _component(record),
                "message": "\n".join((record.getMessage(), *_trace(self, record))),
            }
        )


def configure(level: str | None = None, as_json: bool | None = None) -> None:
    """Log to the standard error from ``level`` on, as lines or JSON lines, with exceptions that nothing
    catches.

    An argument that is None comes from the environment (``OLAF_LOG_LEVEL``, ``OLAF_LOG_FORMAT``), so that the
    processes of a deployment log at the level of the command that started them.
    """
    if level is not None:
        os.environ[_LEVEL] = level
    if as_json is not None:
        os.environ[_FORMAT] = "json" if as_json else "text"
    wanted = os.environ.get(_LEVEL, "").lower()
    chosen = wanted if wanted in LEVELS else "warning"
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLine() if os.environ.get(_FORMAT) == "json" else _Line())
    logging.basicConfig(level=chosen.upper(), handlers=[handler], force=True)
    sys.excepthook = _log_defect
    if threading.excepthook is threading.__excepthook__:  # else a test runner's
        threading.excepthook = lambda lost: _log_defect(lost.exc_type, lost.exc_value, lost.exc_traceback)


def _time(record: logging.LogRecord) -> str:
    return (
        datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    )


def _component(record: logging.LogRecord) -> str:
    return record.name.partition(".")[2] or record.name


def _trace(formatter: logging.Formatter, record: logging.LogRecord) -> list[str]:
    return formatter.formatException(record.exc_info).split("\n") if record.exc_info else []


def _log_defect(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
    """Log an exception that nothing caught, in the process or in a thread."""
    if error is not None and kind is not SystemExit:
        logging.getLogger(__name__).critical("nothing caught this", exc_info=(kind, error, trace))
