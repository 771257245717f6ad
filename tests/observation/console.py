"""The console in a browser: the driver that looks at the lab's pages, at an address instead of a file."""

import json
import time

from browser import Browser

LAPTOP, PHONE = (1280, 900), (390, 844)


class Console(Browser):
    """A browser that looks at one broker's console."""

    def __init__(self, address, scripts=True):
        super().__init__(scripts)
        self.address = address

    def look(self, size=LAPTOP, dark=False, path="/"):
        """Opens the page in a window of a size."""
        self._events.clear()
        width, height = size
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=f"http://{self.address}{path}")
        self.wait("document.readyState === 'complete'")
        return self

    def wait(self, expression, patience=30):
        """Until an expression is true on the page; gives it."""
        deadline = time.monotonic() + patience
        while not (found := self.value(expression)):
            assert time.monotonic() < deadline, f"{expression} is not so; the page says: {self.text('body')[:3000]}"
            time.sleep(0.1)
        return found

    def text(self, selector):
        return self.value(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    def requests(self):
        """The addresses that the browser has asked for."""
        return [e["params"]["request"]["url"] for e in self._events if e.get("method") == "Network.requestWillBeSent"]

    def complaints(self):
        """Everything that the browser's console has had to say."""
        return [e["params"] for e in self._events if e.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")]
