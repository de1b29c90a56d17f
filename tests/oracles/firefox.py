"""A headless Firefox, driven by its Marionette protocol: pages opened and scripts evaluated."""

import json
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

PROGRAM = shutil.which("firefox") or shutil.which("firefox-esr")
SETTINGS = {"marionette.port": 0, "webgl.force-enabled": True, "network.proxy.type": 0}
PATIENCE = 60.0  # s


class Firefox:
    """A page of Firefox, as a context."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        lines = (f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in SETTINGS.items())
        (folder / "user.js").write_text("".join(lines))
        self._folder, self._number = folder, 0

    def __enter__(self) -> "Firefox":
        command = [str(PROGRAM), "--headless", "--marionette", "--no-remote", "--profile", str(self._folder)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        port, end = self._folder / "MarionetteActivePort", time.monotonic() + PATIENCE
        while not (port.exists() and port.read_text()):
            assert time.monotonic() < end, "Firefox does not start"
            time.sleep(0.05)
        self._socket = socket.create_connection(("127.0.0.1", int(port.read_text())), PATIENCE)
        self._answers = self._socket.makefile("rb")
        self._next()
        self.call("WebDriver:NewSession")
        return self

    def __exit__(self, *error: object) -> None:
        self._answers.close()
        self._socket.close()
        self._process.terminate()
        self._process.wait(PATIENCE)

    def open(self, page: Path, ready: str = "document.documentElement?.dataset.ready === 'yes'") -> None:
        """Load a file, and wait until an expression is true."""
        self.call("WebDriver:Navigate", url=page.resolve().as_uri())
        end = time.monotonic() + PATIENCE
        while self.value(ready) is not True:
            assert time.monotonic() < end, f"{ready} is not true"
            time.sleep(0.03)

    def value(self, expression: str) -> Any:
        """The value of an expression of JavaScript in the page."""
        script = "return window.eval(arguments[0])"
        return self.call("WebDriver:ExecuteScript", script=script, args=[expression])["value"]

    def call(self, name: str, **words: Any) -> Any:
        """The result of a command of the protocol."""
        self._number += 1
        message = json.dumps([0, self._number, name, words]).encode()
        self._socket.sendall(b"%d:%s" % (len(message), message))
        _, number, error, result = self._next()
        assert number == self._number
        assert error is None, error
        return result

    def _next(self) -> Any:
        length = b""
        while (sign := self._answers.read(1)) != b":":
            assert sign, "Firefox has ended"
            length += sign
        return json.loads(self._answers.read(int(length)))
