"""A browser without a window, driven by its debugging protocol over two pipes.

Nothing is needed but Debian's chromium and Python. Each page gets a context of its own; every
request that it makes is written down, and none but the page's own file may be made.
"""
import json
import os
import shutil
import subprocess
import tempfile


def program():
    for name in (os.environ.get("TIDEMARK_CHROMIUM"), "chromium", "chromium-browser", "google-chrome"):
        found = name and shutil.which(name)
        if found:
            return found
    return None


class Trouble(Exception):
    pass


class Browser:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="tidemark-html-")
        to_read, self.to = os.pipe()
        self.back, from_write = os.pipe()

        def pipes():
            # Descriptors 3 and 4 are what the protocol is spoken over.
            a, b = os.dup(to_read), os.dup(from_write)
            os.dup2(a, 3)
            os.dup2(b, 4)

        with open(os.path.join(self.folder, "log"), "wb") as log:
            self.process = subprocess.Popen(
                [program(), "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                 "--disable-background-networking", "--disable-component-update", "--no-first-run",
                 "--disable-dev-shm-usage", "--disable-extensions",
                 "--user-data-dir=" + self.folder, "--remote-debugging-pipe", "about:blank"],
                preexec_fn=pipes, close_fds=False, stdout=log, stderr=log)
        os.close(to_read)
        os.close(from_write)
        self.number, self.rest, self.events = 0, b"", []

    def close(self):
        try:
            self.send("Browser.close")
        except (Trouble, OSError):
            pass
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def message(self):
        while b"\0" not in self.rest:
            more = os.read(self.back, 1 << 20)
            if not more:
                raise Trouble("the browser is gone")
            self.rest += more
        text, _, self.rest = self.rest.partition(b"\0")
        return json.loads(text)

    def send(self, method, session=None, **params):
        self.number += 1
        asked = {"id": self.number, "method": method, "params": params}
        if session:
            asked["sessionId"] = session
        os.write(self.to, json.dumps(asked).encode() + b"\0")
        while True:
            got = self.message()
            if got.get("id") == self.number:
                if "error" in got:
                    raise Trouble("%s: %s" % (method, got["error"]["message"]))
                return got["result"]
            self.events.append(got)

    def page(self, width=1280, height=800, dark=False, touch=False):
        return Page(self, width, height, dark, touch)


class Page:
    def __init__(self, browser, width, height, dark, touch):
        self.browser = browser
        self.context = browser.send("Target.createBrowserContext")["browserContextId"]
        target = browser.send("Target.createTarget", url="about:blank", browserContextId=self.context)
        self.target = target["targetId"]
        self.session = browser.send("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.ask(domain + ".enable")
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=touch)
        self.ask("Emulation.setEmulatedMedia",
                 features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def ask(self, method, **params):
        return self.browser.send(method, self.session, **params)

    def js(self, text):
        got = self.ask("Runtime.evaluate", expression=text, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in got:
            what = got["exceptionDetails"]
            raise Trouble(what.get("exception", {}).get("description", what["text"]))
        return got["result"].get("value")

    def open(self, path, mark=""):
        self.ask("Page.navigate", url="file://" + os.path.abspath(path) + mark)
        # It waits for the page to say so, not for a time.
        return self.js("""new Promise((done) => { const look = () => {
            const page = document.getElementById('page');
            if (page && page.dataset.ready) done(Number(page.dataset.ready));
            else if (page && page.textContent.includes('cannot be read')) done(page.textContent);
            else setTimeout(look, 20); }; look(); })""")

    def said(self, method):
        return [event["params"] for event in self.browser.events
                if event.get("method") == method and event.get("sessionId") == self.session]

    def requests(self):
        """Of all but the page's own file and what is in it."""
        return [request["request"]["url"] for request in self.said("Network.requestWillBeSent")
                if not request["request"]["url"].startswith(("file://", "data:", "about:"))]

    def complaints(self):
        errors = [entry["entry"]["text"] for entry in self.said("Log.entryAdded") if entry["entry"]["level"] == "error"]
        errors += [event["exceptionDetails"]["text"] + " " + event["exceptionDetails"].get("exception", {}).get("description", "")
                   for event in self.said("Runtime.exceptionThrown")]
        return errors

    def picture(self, path, whole=False, clip=None):
        import base64
        params = {"format": "png", "captureBeyondViewport": whole}
        if clip:
            params["captureBeyondViewport"] = True
            params["clip"] = dict(clip, scale=1)
        elif whole:
            size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
            params["clip"] = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.ask("Page.captureScreenshot", **params)["data"]))

    def close(self):
        self.browser.send("Target.disposeBrowserContext", browserContextId=self.context)
