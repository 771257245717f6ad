"""A headless Chromium, driven over its own protocol through a pipe: enough to open a file, look at what it says, and click.

What always holds: no address but a file's is opened; the browser ends with its `with` block, and its profile goes with it.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def program():
    """The browser's path, or None."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


class Browser:
    """A browser with one page."""

    def __init__(self, scripts=True):
        self._scripts = scripts

    def __enter__(self):
        self._profile = tempfile.TemporaryDirectory(prefix="aplomb-browser-", ignore_cleanup_errors=True)
        # The browser reads commands from its descriptor 3 and answers on 4.
        commands_from, self._commands = os.pipe()
        self._answers, answers_to = os.pipe()
        command = [
            "bash", "-c", f'exec "$@" 3<&{commands_from} 4>&{answers_to}', "browser", program(),
            "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run",
            "--remote-debugging-pipe", f"--user-data-dir={self._profile.name}", "about:blank",
        ]  # fmt: skip
        self._process = subprocess.Popen(
            command, pass_fds=(commands_from, answers_to), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(commands_from)
        os.close(answers_to)
        self._rest, self._number, self._session, self._events = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setScriptExecutionDisabled", value=not self._scripts)
        return self

    def __exit__(self, *_):
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._commands)
        os.close(self._answers)
        self._profile.cleanup()

    def _message(self, deadline):
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._answers], [], [], max(0, deadline - time.monotonic()))
            assert ready, "the browser does not answer"
            read = os.read(self._answers, 1 << 16)
            assert read, "the browser has ended"
            self._rest += read
        message, self._rest = self._rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        """Asks the browser to do something, and gives its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + 60
        while (answer := self._message(deadline)).get("id") != self._number:
            self._events.append(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def open(self, path, width=1280, dark=False, height=900):
        """Opens a file in a window of a size, and waits until it is loaded."""
        self._events.clear()
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=path.resolve().as_uri())
        deadline = time.monotonic() + 60
        while not any(event.get("method") == "Page.loadEventFired" for event in self._events):
            self._events.append(self._message(deadline))

    def value(self, expression):
        """What an expression is on the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, userGesture=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def click(self, selector):
        """Clicks in the middle of the first element that is selected, as a mouse does."""
        x, y = self.value(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'center'}});"
            " const r = e.getClientRects()[0]; return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        self.click_at(x, y)

    def click_at(self, x, y):
        """Clicks at a point of the window."""
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def wheel(self, x, y, down):
        """Turns the wheel at a point, by so many pixels down."""
        self.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=down)

    def key(self, key, **more):
        """Presses a key, by the name that its event has."""
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text, **more)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, **more)

    def screenshot(self, path):
        """Keeps what can be seen."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def complaints(self):
        """Everything that the console has had to say, and what was asked of a network."""
        told = [e for e in self._events if e.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")]
        urls = [e["params"]["request"]["url"] for e in self._events if e.get("method") == "Network.requestWillBeSent"]
        return [e["params"] for e in told] + [url for url in urls if not url.startswith("file:")]
