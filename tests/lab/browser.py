# SPDX-License-Identifier: Apache-2.0
"""A page in a real Chromium, asked over its debugging pipe: pictures, paper, and what overflows.

The DevTools protocol over file descriptors 3 and 4, each message ended by a zero byte
(chromium, content/browser/devtools/devtools_pipe_handler.cc).
"""

import base64
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

HEIGHT = 900
"""Of the window, in CSS pixels."""

_ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--remote-debugging-pipe",
)


class BrowserError(RuntimeError):
    """Chromium refused a command, or ended."""


class Browser:
    """One Chromium with one tab, for as long as the context lasts."""

    def __init__(self, program: str = "chromium") -> None:
        self._program = program
        self._number = 0
        self._rest = b""
        self._session = ""
        self._width = 0

    def __enter__(self) -> Self:
        """Start it."""
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()

        def place() -> None:
            os.dup2(theirs_in, 10)
            os.dup2(theirs_out, 11)
            os.dup2(10, 3)
            os.dup2(11, 4)

        self._process = subprocess.Popen(
            [self._program, *_ARGUMENTS, f"--user-data-dir={self._profile.name}", "about:blank"],
            preexec_fn=place,  # noqa: PLW1509 - no thread was started, and the numbers are fixed
            pass_fds=(3, 4),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        (tab, *_) = [
            one for one in self._ask("Target.getTargets")["targetInfos"] if one["type"] == "page"
        ]
        attached = self._ask("Target.attachToTarget", targetId=tab["targetId"], flatten=True)
        self._session = attached["sessionId"]
        self._ask("Page.enable")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it."""
        with suppress(OSError, BrowserError):
            self._session = ""
            self._ask("Browser.close")
        for pipe in (self._in, self._out):
            os.close(pipe)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._profile.cleanup()

    def open(self, page: Path, *, width: int, dark: bool = False) -> None:
        """Show a file in a window so many CSS pixels wide."""
        self._width = width
        self._ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=HEIGHT,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._ask("Emulation.setEmulatedMedia", features=[scheme])
        url = page.resolve().as_uri()
        self._ask("Page.navigate", url=url)
        shown = f"document.readyState == 'complete' && location.href == {json.dumps(url)}"
        while not self.run(shown):
            pass
        # Two frames: the second one begins when the first was laid out.
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def run(self, script: str) -> Any:  # noqa: ANN401 - JSON
        """What an expression gives, as JSON."""
        found = self._ask(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in found:
            raise BrowserError(found["exceptionDetails"]["text"])
        return found["result"].get("value")

    def take_picture(self, path: Path, *, top: int = 0, height: int = HEIGHT) -> None:
        """A stretch of the page as PNG, in its whole width."""
        clip = {"x": 0, "y": top, "width": self._width, "height": height, "scale": 1}
        found = self._ask(
            "Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip
        )
        path.write_bytes(base64.b64decode(found["data"]))

    def print_page(self, path: Path) -> None:
        """The page on A4, as PDF."""
        found = self._ask(
            "Page.printToPDF", paperWidth=8.27, paperHeight=11.69, preferCSSPageSize=True
        )
        path.write_bytes(base64.b64decode(found["data"]))

    def _ask(self, method: str, **parameters: object) -> dict[str, Any]:
        self._number += 1
        message: dict[str, object] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        for answer in self._answers():
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                found: dict[str, Any] = answer["result"]
                return found
        raise BrowserError(f"{method}: chromium ended")

    def _answers(self) -> Iterator[dict[str, Any]]:
        while True:
            while b"\0" in self._rest:
                line, _, self._rest = self._rest.partition(b"\0")
                yield json.loads(line)
            got = os.read(self._in, 1 << 20)
            if not got:
                return
            self._rest += got
