"""A Chromium without a window, driven over a pair of pipes by its DevTools protocol."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


class Tab:
    """One tab: ``ask`` is a method of the protocol, ``run`` JavaScript."""

    def __init__(self, to: int, back: int) -> None:
        self._to, self._back = to, back
        self._unread = b""
        self._asked = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.ask_browser("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask_browser("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.ask_browser(f"{domain}.enable")

    def ask_browser(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Return the browser's answer. Raises RuntimeError where it refuses."""
        self._asked += 1
        message = {"id": self._asked, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while (answer := self._read_message()).get("id") != self._asked:
            self.events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return dict(answer["result"])

    def show_in(self, width: int, height: int = 800) -> None:
        """Set the window's width: below 600 pixels it is a phone's."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1}
        self.ask_browser("Emulation.setDeviceMetricsOverride", **size, mobile=width < 600)

    def open_page(self, page: str, width: int, height: int = 800) -> None:
        """Show a page in a window of this size, and wait until all of it is loaded."""
        self.show_in(width, height)
        self.events.clear()
        self.ask_browser("Page.navigate", url=page)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._read_message())

    def run_script(self, script: str) -> Any:
        """Return the value of a script, or of its promise where it returns one."""
        answer = self.ask_browser(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def fetched_addresses(self) -> set[str]:
        """Return every address that was requested since the page was opened."""
        return {
            event["params"]["request"]["url"]
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
        }

    def failed_requests(self) -> list[str]:
        """Return the errors that the page wrote to the console, and the requests that failed."""
        reported = []
        for event in self.events:
            if event.get("method") == "Runtime.exceptionThrown":
                reported.append(event["params"]["exceptionDetails"]["text"])
            if event.get("method") == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
                reported.append(event["params"]["entry"]["text"])
            if event.get("method") == "Network.loadingFailed":
                reported.append(event["params"]["errorText"])
        return reported

    def _read_message(self) -> dict[str, Any]:
        while b"\0" not in self._unread:
            more = os.read(self._back, 1 << 16)
            if not more:
                raise RuntimeError("Chromium ended")
            self._unread += more
        message, _, self._unread = self._unread.partition(b"\0")
        return dict(json.loads(message))


@contextmanager
def open_tab(profile: Path) -> Iterator[Tab]:
    """Yield a tab of a browser with its own profile; skip the test where there is no Chromium."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("needs chromium")
    commands, answers = os.pipe(), os.pipe()
    line = [program, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
            f"--user-data-dir={profile}", "--disable-dev-shm-usage"]  # fmt: skip
    # The protocol's own file descriptors are 3 and 4; bash moves ours there.
    moved = ["bash", "-c", f'exec "$@" 3<&{commands[0]} 4>&{answers[1]}', "bash", *line]
    with subprocess.Popen(
        moved, pass_fds=(commands[0], answers[1]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as browser:
        os.close(commands[0])
        os.close(answers[1])
        try:
            found = Tab(commands[1], answers[0])
            yield found
            found.ask_browser("Browser.close")
        finally:
            os.close(commands[1])
            os.close(answers[0])
            browser.kill()
