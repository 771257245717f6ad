"""The console in a real browser: what it shows is what the broker says, live, on a laptop and on a phone, by mouse and by keys; and
nothing of it comes from anywhere else."""

import json
import os
import pathlib
import threading
import time
import urllib.error
import urllib.request

import pytest
from browser import program
from confluent_kafka import OFFSET_END, Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from conftest import group_reads, produce
from console import LAPTOP, PHONE, Console
from harness.broker import free_ports
from harness.pages import get

needs_a_browser = pytest.mark.skipif(program() is None, reason="there is no Chromium here to look at the console with")

# More than are shown one by one.
TOPICS = 60


class Busy:
    """A little load all the time: some of it waits for a disk."""

    def __init__(self, broker):
        self._broker, self._stop = broker, threading.Event()
        self._threads = [threading.Thread(target=each) for each in (self._produce, self._consume)]
        for thread in self._threads:
            thread.start()

    def _consume(self):
        consumer = Consumer({"bootstrap.servers": self._broker.bootstrap, "group.id": "none", "client.id": "mirror", "enable.auto.commit": False})
        consumer.assign([TopicPartition("orders", n, OFFSET_END) for n in range(3)])
        while not self._stop.is_set():
            consumer.poll(0.2)
        consumer.close()

    def _produce(self):
        while not self._stop.wait(0.1):
            produce(self._broker, "orders", 200, 3, client_id="shop", linger_ms=1)
            produce(self._broker, "durable", 5, 1, client_id="bank", linger_ms=0)

    def close(self):
        self._stop.set()
        for thread in self._threads:
            thread.join()


@pytest.fixture(scope="module")
def broker(start_broker):
    (port,) = free_ports(1)
    properties = {"aplomb.metrics.listener": f"127.0.0.1:{port}", "aplomb.slow.request.ms": "1"}
    broker = start_broker(kind="aplomb", properties=properties, log_dirs=2)
    broker.page = f"127.0.0.1:{port}"
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    topics = [NewTopic("orders", 3, 1), NewTopic("durable", 1, 1, config={"flush.messages": "1"})]
    topics += [NewTopic(f"topic-{n}", 1, 1) for n in range(TOPICS)]
    for created in admin.create_topics(topics).values():
        created.result(30)
    produce(broker, "orders", 300, 3)
    group_reads(broker, "readers", "orders", 150).close()
    busy = Busy(broker)
    # Two steps of the history at least.
    deadline = time.monotonic() + 60
    while len(data(broker)["times"]) < 3 and time.monotonic() < deadline:
        time.sleep(0.5)
    yield broker
    busy.close()


@pytest.fixture(scope="module")
def console(broker):
    if program() is None:
        pytest.skip("there is no Chromium here to look at the console with")
    with Console(broker.page) as console:
        yield console


def data(broker, since=0):
    status, text = get(broker.page, f"/console/data?since={since}")
    assert status == 200, text
    return json.loads(text)


def headers(broker, path, **more):
    request = urllib.request.Request(f"http://{broker.page}{path}", headers=more)
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status, dict(response.headers), response.read()
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), error.read()


def keep(console, name):
    """Keeps a picture where one is wanted (APLOMB_PICTURES=DIRECTORY)."""
    if directory := os.environ.get("APLOMB_PICTURES"):
        pathlib.Path(directory).mkdir(parents=True, exist_ok=True)
        console.screenshot(pathlib.Path(directory) / f"console-{name}.png")


def drawn(console):
    console.wait("document.querySelector('#state').textContent === 'ready' && document.querySelectorAll('.u-over').length >= 9")


def test_the_files_are_the_brokers_and_a_browser_is_told_to_use_no_others(broker):
    for path, kind in [("/", "text/html"), ("/console", "text/html"), ("/console/console.js", "text/javascript"), ("/console/uplot.css", "text/css")]:
        status, told, body = headers(broker, path)
        assert (status, told["Content-Type"].split(";")[0]) == (200, kind) and body, path
        policy = told["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';") and "unsafe" not in policy and "*" not in policy
        status, _, body = headers(broker, path, **{"If-None-Match": told["ETag"]})
        assert (status, body) == (304, b""), path
    assert headers(broker, "/console/other")[0] == 404


def test_the_history_goes_on_from_where_it_was_asked_for(broker):
    all_of_it = data(broker)
    steps = len(all_of_it["times"])
    assert steps >= 3 and all(len(values) == steps for values in all_of_it["series"].values())
    assert all(4 <= b - a <= 8 for a, b in zip(all_of_it["times"], all_of_it["times"][1:])), all_of_it["times"]
    last = data(broker, all_of_it["first"] + steps - 1)
    assert last["first"] == all_of_it["first"] + steps - 1 and last["times"][0] == all_of_it["times"][-1]
    assert last["run"] == all_of_it["run"]
    produced = all_of_it["series"]["Produce.own.p50"]
    assert all(value is None or 0 < value < 60_000 for value in produced) and any(produced), produced
    assert max(all_of_it["series"]["messages_in"]) > 100


def test_rows_are_bounded(broker):
    partitions = data(broker)["partitions"]
    assert partitions["total"] >= TOPICS + 4 and len(partitions["shown"]) == 50 and partitions["offline"] == 0
    sizes = [one["size"] for one in partitions["shown"]]
    assert sizes == sorted(sizes, reverse=True) and {"orders", "durable"} <= {one["topic"] for one in partitions["shown"]}


def test_what_is_shown_is_what_the_broker_says(broker, console):
    console.look()
    drawn(console)
    # The fixture's member has read a half, and its group is behind by all that came since.
    (group,) = [one for one in data(broker)["groups"]["shown"] if one["id"] == "readers"]
    assert group["lag"] > 150 and group["topics"] == 1 and group["worst"].startswith("orders-"), group
    assert "readers" in console.text("#groups-table")
    assert "orders-0" in console.text("#partitions-table") and "50 of" in console.text("#partitions-note")
    for directory in broker.log_dirs:
        assert str(directory) in console.text("#disk-list") and str(directory) in console.text("#tail-list")
    assert "disk" in console.text("#causes") and "what takes 1 ms or more" in console.text("#slow-note")
    tile = console.text("#glance > div")
    assert tile.startswith("Produce, 99.9 %") and " ms" in tile and "–" not in tile, tile
    legend = console.text("#chart-produce .u-legend")
    assert "median" in legend and "–" not in legend, legend
    rows = console.text("#stages")
    assert "all of it" in rows and "remote" in rows, rows
    assert "–" not in console.text("#chart-fetch .u-legend"), console.text("#chart-fetch .u-legend")
    label = console.value("document.getElementById('chart-produce').getAttribute('aria-label')")
    assert label.startswith("Produce, in the last five seconds: median ") and "–" not in label, label
    # Lines are drawn, and not only axes.
    colours = console.value(
        "(() => { const c = document.querySelector('#chart-produce canvas'); const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
        " const seen = new Set(); for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 200) seen.add(d[i] + ',' + d[i + 1] + ',' + d[i + 2]); return [...seen]; })()"
    )
    assert "42,125,225" in colours, colours[:50]
    keep(console, "laptop")
    assert console.complaints() == []
    assert all(url.startswith((f"http://{broker.page}/", "data:")) for url in console.requests()), console.requests()


def test_it_is_live_and_says_when_the_broker_does_not_answer(broker, console):
    console.look()
    drawn(console)
    steps = console.value("known.next")
    console.wait(f"known.next > {steps}")
    before = console.value("known.data.partitions.shown.find((one) => one.topic === 'durable').end")
    console.wait(f"known.data.partitions.shown.find((one) => one.topic === 'durable').end > {before}")
    # Its loops go on, and nothing comes from its pages.
    pid = broker.pid
    os.kill(pid, 19)
    try:
        console.wait("document.body.classList.contains('stale')", patience=40)
        console.wait("/no answer: what is shown is old, for \\d+ s/.test(document.querySelector('#state').textContent)")
        keep(console, "silent")
    finally:
        os.kill(pid, 18)
    console.wait("!document.body.classList.contains('stale') && document.querySelector('#state').textContent === 'ready'", patience=40)


def test_a_slow_request_opens_by_keys_and_says_its_cause(broker, console):
    console.look()
    drawn(console)
    console.value("document.querySelector('#slow summary').focus()")
    console.key("Enter", code="Enter", windowsVirtualKeyCode=13, text="\r")
    details = console.wait("document.querySelector('#slow details[open] .more')?.innerText")
    assert "Waited for" in details and "Client" in details and "from 127.0.0.1" in details, details
    # It stays open, and keeps the focus, while others come.
    at = console.value("known.next")
    console.wait(f"known.next > {at}")
    assert console.value("document.querySelectorAll('#slow details[open]').length") == 1
    assert console.value("document.activeElement === document.querySelector('#slow details[open] summary')")
    # Even when so many have come that it is none of those that are told.
    console.value("showSlow({ slow: { ...known.data.slow, requests: known.data.slow.requests.map((one, n) => ({ ...one, number: 1e9 + n })) } })")
    assert console.value("document.querySelector('#slow details[open] .more').innerText") == details
    assert console.value("document.activeElement === document.querySelector('#slow details[open] summary')")
    console.value("document.querySelector('#slow').scrollIntoView()")
    keep(console, "slow")


def test_the_time_shown_and_the_stages_are_chosen_by_keys(console):
    console.look()
    drawn(console)
    console.value("document.querySelector('#span input:checked').focus()")
    console.key("ArrowRight", code="ArrowRight", windowsVirtualKeyCode=39)
    console.wait("settings.span === 720")
    console.value("document.querySelector('#stage-api').focus()")
    console.key("ArrowDown", code="ArrowDown", windowsVirtualKeyCode=40)
    console.wait("settings.api === 'Fetch'")
    assert console.text("#stages").startswith("Fetch"), console.text("#stages")


@pytest.mark.parametrize("dark", [False, True])
def test_a_phone_shows_all_of_it_without_scrolling_sideways(console, dark):
    console.look(PHONE, dark)
    drawn(console)
    assert console.value("document.documentElement.scrollWidth") <= PHONE[0]
    # What is wider than its place scrolls in it.
    wide = console.value(
        "[...document.querySelectorAll('main *')].filter((e) => !e.closest('.scroll, .slow, .unseen') && e.getBoundingClientRect().right > 391)"
        ".map((e) => e.tagName + '.' + e.className)"
    )
    assert wide == []
    background = console.value("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(18, 22, 27)") == dark, background
    for part in ("glance", "requests", "slow", "disks", "tail", "groups"):
        console.value(f"document.querySelector('#{part}').scrollIntoView()")
        time.sleep(0.2)
        keep(console, f"phone-{'dark' if dark else 'light'}-{part}")
    assert console.complaints() == []


def test_in_the_dark(console):
    console.look(LAPTOP, dark=True)
    drawn(console)
    for part in ("glance", "slow", "disks", "tail", "groups"):
        console.value(f"document.querySelector('#{part}').scrollIntoView()")
        time.sleep(0.2)
        keep(console, f"dark-{part}")
    assert console.complaints() == []


@needs_a_browser
def test_it_goes_on_with_the_next_process(start_broker):
    (port,) = free_ports(1)
    broker = start_broker(kind="aplomb", properties={"aplomb.metrics.listener": f"127.0.0.1:{port}"})
    with Console(f"127.0.0.1:{port}") as console:
        console.look()
        console.wait("known.next >= 2")
        run = console.value("known.run")
        broker.stop()
        console.wait("document.body.classList.contains('stale')")
        broker.start()
        console.wait(f"known.run > {run} && document.querySelector('#state').textContent === 'ready'")
        assert console.value("known.times.length === known.next && known.next <= 2")
    broker.close()


@needs_a_browser
def test_without_scripts_it_says_where_the_numbers_are(broker):
    with Console(broker.page, scripts=False) as console:
        console.call("Emulation.setScriptExecutionDisabled", value=True)
        console.call("Page.navigate", url=f"http://{broker.page}/")
        time.sleep(1)
        text = console.call("DOM.getDocument", depth=-1)
        assert "Without scripts" in json.dumps(text)
