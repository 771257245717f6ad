"""The doctor's picture in a real browser: at a laptop's size and a phone's, light and dark, with scripts and without, by mouse and by keys."""

import statistics
import subprocess
import time

import pytest
from browser import Browser, program
from built import example

LAPTOP, PHONE = (1366, 768), (390, 844)

pytestmark = pytest.mark.skipif(program() is None, reason="there is no Chromium here to look at the picture with")


@pytest.fixture(scope="session")
def pages(tmp_path_factory):
    """Pages of recordings that never were: an inode's lock, the same for longer, the same with hostile texts, and nothing."""
    directory = tmp_path_factory.mktemp("pages")
    print(subprocess.run([example("sample_page"), directory], check=True, capture_output=True, text=True).stdout)
    return directory


class Picture(Browser):
    """A browser that looks at one of the pages."""

    def look(self, path, size=LAPTOP, dark=False):
        self.open(path, size[0], dark, size[1])
        self.settle()
        return self

    def settle(self):
        """Waits until what has changed is drawn."""
        self.call("Runtime.evaluate", expression="new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))", awaitPromise=True)

    def first_paint(self):
        """When something was first to be seen, in milliseconds after the page was asked for."""
        deadline = time.monotonic() + 20
        while (paint := self.value("performance.getEntriesByName('first-contentful-paint')[0]?.startTime")) is None:
            assert time.monotonic() < deadline, "nothing is painted"
            self.settle()
        return paint

    def shown(self):
        """The part of the recording that is shown, in milliseconds."""
        return self.value("[state.from, state.to]")

    def selected(self):
        return self.value("document.querySelector('.dock').hidden ? '' : document.querySelector('.told').innerText")

    def to_picture(self):
        self.value("document.querySelector('.lanes').scrollIntoView()")
        self.settle()

    def press(self, *keys):
        for key in keys:
            self.key(key)
        self.settle()

    def colours(self):
        """How many colours of waits are in the canvas."""
        return self.value("""(() => {
          const { width, height } = canvas, { data } = context.getImageData(0, 0, width, height), seen = new Set();
          for (let at = 0; at < data.length; at += 4) seen.add((data[at] << 16) | (data[at + 1] << 8) | data[at + 2]);
          const number = (text) => parseInt(text.slice(1), 16);
          return colours.classes.filter((colour) => seen.has(number(colour))).length;
        })()""")


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no-scripts"])
@pytest.mark.parametrize("size", [LAPTOP, PHONE, (360, 640)], ids=["laptop", "phone", "small"])
def test_no_page_makes_a_browser_complain_or_is_wider_than_its_window(pages, size, scripts):
    with Picture(scripts) as picture:
        for dark in (False, True):
            for page in sorted(pages.glob("*.html")):
                picture.open(page, size[0], dark, size[1])
                if scripts:
                    picture.settle()
                    wide = picture.value("document.documentElement.scrollWidth")
                    assert wide <= size[0], f"{page.name} is {wide} wide"
                assert picture.complaints() == [], page.name


@pytest.mark.parametrize("page, length", [("inode-lock", 60_000), ("long", 180_000)])
def test_it_is_there_within_a_second_and_zooms_without_a_stutter(pages, page, length):
    with Picture() as picture:
        paints = []
        for _ in range(3):
            picture.look(pages / f"{page}.html")
            paints.append(picture.first_paint())
        picture.to_picture()
        picture.value("""(() => {
          window.frames_seen = []; window.costs = [];
          const drawn = draw;
          draw = () => { const began = performance.now(); drawn(); costs.push(performance.now() - began); };
          const frame = (at) => { frames_seen.push(at); requestAnimationFrame(frame); };
          requestAnimationFrame(frame);
        })()""")
        for turn in (-120, 120):
            for _ in range(40):
                picture.wheel(700, 500, turn)
        frames = picture.value("frames_seen")
        costs = picture.value("costs")
        rate = (len(frames) - 1) / (frames[-1] - frames[0]) * 1000
        told = f"{page}: first paint {min(paints):.0f} ms, {rate:.0f} frames a second, {len(costs)} draws of {statistics.median(costs):.1f} ms, at most {max(costs):.1f}"
        print(told)
        assert min(paints) < 1000, told
        assert len(costs) > 20, told
        # A browser without a graphics card, on a machine that others use, has half of what people would see.
        assert rate > 15, told
        assert picture.shown() == [0, length], "and back out to the whole"


def test_a_wheel_zooms_where_it_points_and_at_the_end_moves_the_page(pages):
    with Picture() as picture:
        picture.look(pages / "inode-lock.html")
        picture.to_picture()
        before = picture.value("toMs(700)")
        picture.wheel(700 + picture.value("canvas.getBoundingClientRect().x"), 500, -400)
        picture.settle()
        begin, end = picture.shown()
        assert end - begin < 45_000
        assert abs(picture.value("toMs(700)") - before) < 100
        picture.press("0")
        top = picture.value("scrollY")
        picture.wheel(700, 500, 300)
        time.sleep(0.5)
        assert picture.value("scrollY") > top


@pytest.mark.parametrize("size", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_a_click_on_a_wait_shows_its_stack_and_its_holders_beside_it(pages, size):
    with Picture() as picture:
        picture.look(pages / "inode-lock.html", size)
        picture.value("go(model.longestHeld[0]); select(null)")
        picture.settle()
        x, y = picture.value("""(() => {
          const id = model.longestHeld[0], box = canvas.getBoundingClientRect(), row = layout.rowOf.get(threadOf(id));
          return [box.x + toX((model.waits.from[id] + model.waits.to[id]) / 2), box.y + laneTop(row) + row.high / 2];
        })()""")
        picture.click_at(x, y)
        picture.settle()
        told = picture.selected()
        assert "in file lock" in told.splitlines()[0] and "looks in a row found it here" in told
        own, waker, holders = picture.value("[...document.querySelectorAll('.told pre')].map(pre => pre.innerText)")[:3]
        assert own.index("kafka.server.KafkaRequestHandler.run") < own.index("xfs_file_buffered_write") < own.index("rwsem_down_write_slowpath")
        assert own.rstrip().endswith("/data/kafka/orders-0/00000000000000368769.log on nvme0n1")
        assert "do_sendfile" in holders and waker.rstrip().endswith("rwsem_wake")
        assert "Woken by" in told and "when it ended this" in told
        # The holder is a link, and leads to its own wait.
        picture.click(".told dd a")
        picture.settle()
        assert "in file page" in picture.selected().splitlines()[0] and "Held up" in picture.selected()
        assert picture.complaints() == []


def test_search_finds_a_thread_a_function_and_nothing(pages):
    with Picture() as picture:
        picture.look(pages / "inode-lock.html")
        picture.press("/")
        assert picture.value("document.activeElement.id") == "search"
        for key in "PLAINTEXT-2":
            picture.key(key)
        picture.settle()
        found = picture.value("found.textContent")
        assert found.endswith("waits of 1 thread"), found
        assert picture.value("layout.rows.filter(row => row.kind === 'lane').length") == 1
        picture.press("Enter")
        assert "PLAINTEXT-2" in picture.selected()
        picture.press("Escape", "Escape")
        assert picture.value("[search.value, found.textContent, state.lit]") == ["", "", None]
        picture.value("search.value = 'jbd2_journal_commit'; look()")
        assert picture.value("layout.rows.filter(row => row.kind === 'lane').map(row => row.thread.name)") == ["jbd2/sda1-8"]
        picture.value("search.value = 'no such thing'; look()")
        assert picture.value("found.textContent") == "Nothing has that in its name or stack"
        assert picture.complaints() == []


def test_keys_move_zoom_step_and_let_go(pages):
    with Picture() as picture:
        picture.look(pages / "inode-lock.html")
        picture.to_picture()
        picture.press("+", "+")
        zoomed = picture.shown()
        assert zoomed[1] - zoomed[0] < 30_000
        picture.press("ArrowRight")
        assert picture.shown()[0] > zoomed[0]
        picture.press("ArrowLeft")
        assert picture.shown() == pytest.approx(zoomed)
        picture.press("n")
        first = picture.value("state.pick")
        picture.press("n")
        second = picture.value("state.pick")
        assert first["kind"] == second["kind"] == "wait" and second["at"] > first["at"]
        picture.press("p")
        assert picture.value("state.pick") == first
        picture.value("canvas.focus({ preventScroll: true })")
        lane = picture.value("threadOf(state.pick.at).tid")
        picture.press("ArrowDown")
        assert picture.value("threadOf(state.pick.at).tid") != lane
        picture.press("Escape")
        assert picture.selected() == ""
        picture.press("N")
        assert picture.value("found.textContent").startswith("inode-lock: ")
        picture.press("N")
        assert picture.value("state.cause") == 1
        picture.press("Escape", "0")
        assert picture.value("state.cause") == -1 and picture.shown() == [0, 60_000]
        picture.press("?")
        assert picture.value("document.querySelector('#help').open") is True
        picture.press("Escape")
        assert picture.complaints() == []


def test_everything_is_reached_by_tab_and_has_a_name(pages):
    with Picture() as picture:
        picture.look(pages / "inode-lock.html")
        reached = []
        for _ in range(60):
            picture.key("Tab", code="Tab", windowsVirtualKeyCode=9)
            reached.append(
                picture.value("(e => e.tagName + ' ' + (e.getAttribute('aria-label') || e.innerText || e.id || ''))(document.activeElement)")
            )
        for wanted in ("A Show in the picture", "INPUT Search", "BUTTON Next wait", "BUTTON Farther", "BUTTON file lock", "CANVAS Waits of threads"):
            assert any(name.startswith(wanted) for name in reached), (wanted, reached)
        assert all(name.split(" ", 1)[1].strip() for name in reached), reached


def test_rows_of_the_tables_and_causes_lead_into_the_picture(pages):
    with Picture() as picture:
        picture.look(pages / "inode-lock.html")
        picture.click(".show")
        picture.settle()
        assert "waits of 7 threads" in picture.value("found.textContent")
        begin, end = picture.shown()
        assert 9_000 < begin < 12_000 and 54_000 < end < 57_000
        picture.click("a[data-wait]")
        picture.settle()
        assert picture.selected() and picture.value("document.querySelectorAll('tr.on').length") == 1
        begin, end = picture.shown()
        at = picture.value("[model.waits.from[state.pick.at], model.waits.to[state.pick.at]]")
        assert begin < at[0] and at[1] < end and (at[1] - at[0]) / (end - begin) > 0.05
        for kind in ("slow", "stop"):
            picture.value(f"document.querySelector('a[data-{kind}]').closest('details').open = true")
            picture.click(f"a[data-{kind}]")
            picture.settle()
            assert "eanwhile" in picture.selected(), kind
        assert picture.complaints() == []


@pytest.mark.parametrize("size", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_light_and_dark_are_drawn_and_switched(pages, size, tmp_path):
    with Picture() as picture:
        for dark in (False, True):
            picture.look(pages / "inode-lock.html", size, dark)
            picture.to_picture()
            assert picture.value("colours.paper") == ("#14171a" if dark else "#fcfcfa")
            assert picture.colours() >= 4
            picture.screenshot(tmp_path / f"{size[0]}-{'dark' if dark else 'light'}.png")
        papers = []
        for _ in range(3):
            picture.value("actions.theme()")
            papers.append(picture.value("[colours.paper, getComputedStyle(document.body).backgroundColor]"))
        assert papers == [["#fcfcfa", "rgb(252, 252, 250)"], ["#14171a", "rgb(20, 23, 26)"], ["#14171a", "rgb(20, 23, 26)"]]
        print(f"pictures: {tmp_path}")


def test_fingers_pinch_and_drag(pages):
    with Picture() as picture:
        picture.look(pages / "inode-lock.html", PHONE)
        picture.to_picture()

        def touch(kind, *xs):
            points = [{"x": x, "y": 420, "id": at} for at, x in enumerate(xs)]
            picture.call("Input.dispatchTouchEvent", type=kind, touchPoints=points)

        touch("touchStart", 150)
        touch("touchStart", 150, 240)
        for step in range(1, 9):
            touch("touchMove", 150 - 10 * step, 240 + 10 * step)
        touch("touchEnd")
        picture.settle()
        begin, end = picture.shown()
        assert end - begin < 40_000
        touch("touchStart", 300)
        for step in range(1, 9):
            touch("touchMove", 300 - 20 * step)
        touch("touchEnd")
        picture.settle()
        assert picture.shown()[0] > begin
        assert picture.complaints() == []


def test_hostile_texts_stay_texts(pages):
    with Picture() as picture:
        picture.look(pages / "hostile.html")
        picture.value("document.querySelectorAll('details').forEach(each => each.open = true)")
        picture.press("n")
        assert "<img src=x onerror" in picture.selected()
        assert picture.value("[document.querySelectorAll('img').length, document.title.includes('owned'), document.querySelectorAll('style').length]") == [0, False, 1]
        # What runs is named by its digest: even a script that got in would not.
        picture.value("(() => { const script = document.createElement('script'); script.textContent = 'window.got_in = 1'; document.body.append(script); })()")
        assert picture.value("window.got_in === undefined") is True
        assert all("Content Security Policy" in str(complaint) for complaint in picture.complaints())


def test_without_scripts_the_page_says_it_all(pages):
    with Picture(scripts=False) as picture:
        picture.open(pages / "inode-lock.html", *LAPTOP[:1])
        text = picture.value("document.body.innerText")
        for wanted in ("inode-lock", "proved", "explains 93 %", "Speaks against it", "consumer_byte_rate", "Could not be seen", "No script runs here"):
            assert wanted in text, wanted
        assert picture.value("document.querySelectorAll('svg.overview path').length") > 20
        assert picture.value("document.querySelectorAll('.list tbody tr').length") >= 50
        assert picture.value("getComputedStyle(document.querySelector('.lanes')).display") == "none"
        target = picture.value("document.querySelector('a[data-wait]').getAttribute('href')")
        picture.call("Page.navigate", url=(pages / "inode-lock.html").resolve().as_uri() + target)
        assert picture.value(f"document.querySelector('{target}').closest('details').open") is True
