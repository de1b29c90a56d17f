"""A headless Chromium, driven by its DevTools protocol over a pipe: pages opened, scripts evaluated, pictures taken."""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path
from typing import Any

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
LOCAL = ("file:", "data:", "blob:", "about:")
FLAGS = (
    *("--headless=new", "--no-sandbox", "--no-first-run", "--disable-extensions", "--disable-dev-shm-usage"),
    *("--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--hide-scrollbars", "--remote-debugging-pipe"),
    *("--host-resolver-rules=MAP * ~NOTFOUND", "--force-color-profile=srgb"),  # no network
)
PATIENCE = 60.0  # s
BARRIERS = """axe.run(document, { resultTypes: ["violations"], iframes: false }).then(({ violations }) => violations
  .filter(({ impact }) => impact === "serious" || impact === "critical")
  .map(({ id, nodes }) => `${id}, ${nodes.length} places: ${nodes[0].html.slice(0, 90)}`))"""
# The browser reads commands from file 3 and answers to file 4.
AS_3_AND_4 = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3]]
for end, number in zip(ends, (3, 4)):
    os.dup2(end, number)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """A page of a browser, as a context. ``problems`` : the errors and warnings of its console, and failed requests."""

    def __init__(self, folder: Path, width: int = 1200, height: int = 900) -> None:
        self._folder, self._size = folder, (width, height)
        self.problems: list[str] = []

    def __enter__(self) -> "Browser":
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        size = f"--window-size={self._size[0]},{self._size[1]}"
        command = [str(PROGRAM), *FLAGS, size, f"--user-data-dir={self._folder}", "about:blank"]
        ends = [str(to_read), str(to_write)]
        self._process = subprocess.Popen(
            [sys.executable, "-c", AS_3_AND_4, *ends, *command],
            pass_fds=(to_read, to_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._received, self._number = b"", 0
        self._session: str | None = None
        (target,) = [t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page"]
        attached = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = self._page = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *error: object) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE)
        os.close(self._write)
        os.close(self._read)

    def show(self, state: str = "normal") -> None:
        """Show the window, or hide it: "minimized" it lays pages out, but draws nothing, which takes half the time."""
        window = self.call("Browser.getWindowForTarget")["windowId"]
        self.call("Browser.setWindowBounds", windowId=window, bounds={"windowState": state})

    def open(self, page: Path, ready: str = "document.documentElement?.dataset.ready === 'yes'") -> None:
        """Load a file, and wait until an expression is true."""
        self._session = self._page
        self.call("Page.navigate", url=page.resolve().as_uri())
        self.wait(ready)

    def wait(self, expression: str, patience: float = PATIENCE) -> None:
        """Wait until an expression is true; AssertionError with the problems of the page otherwise."""
        end = time.monotonic() + patience
        while self.value(expression) is not True:
            assert time.monotonic() < end, f"{expression} is not true; {self.problems}"
            time.sleep(0.03)

    def enter_frame(self) -> None:
        """From here on, scripts are evaluated in the frame of its own process that the page contains."""
        end = time.monotonic() + PATIENCE
        while not (frames := [t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "iframe"]):
            assert time.monotonic() < end, "the page has no frame in a process of its own"
            time.sleep(0.03)
        self._session = self.call("Target.attachToTarget", targetId=frames[0]["targetId"], flatten=True)["sessionId"]
        for domain in ("Runtime", "Log"):
            self.call(f"{domain}.enable")

    def value(self, expression: str) -> Any:
        """The value of an expression of JavaScript in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def barriers(self) -> Any:
        """Grave findings of axe for those who hear a page or see it badly: rules, with the first place of each."""
        script = files("axe_core_python") / "axe.min.js"
        self.value(f"{script.read_text()}; 0")
        return self.value(BARRIERS)

    def picture(self, path: Path, **words: Any) -> bytes:
        """Write a PNG of what is seen; its bytes."""
        content = base64.b64decode(self.call("Page.captureScreenshot", format="png", **words)["data"])
        path.write_bytes(content)
        return content

    def call(self, method: str, **words: Any) -> dict[str, Any]:
        """The result of a command of the protocol."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": words}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            self._note(answer)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._received:
            ready, _, _ = select.select([self._read], [], [], PATIENCE)
            assert ready, "the browser does not answer"
            content = os.read(self._read, 1 << 20)
            assert content, "the browser has ended"
            self._received += content
        first, _, self._received = self._received.partition(b"\0")
        return json.loads(first)

    def _note(self, event: dict[str, Any]) -> None:
        words = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                self.problems.append(json.dumps(words["exceptionDetails"])[:600])
            case "Runtime.consoleAPICalled" if words["type"] in ("error", "warning", "assert"):
                self.problems.append(json.dumps(words["args"])[:600])
            case "Log.entryAdded" if words["entry"]["level"] in ("error", "warning"):
                self.problems.append(words["entry"]["text"])
            case "Network.requestWillBeSent" if not words["request"]["url"].startswith(LOCAL):
                self.problems.append(f"request of {words['request']['url']}")
