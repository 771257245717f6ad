"""The lab's pages in a real browser: at a laptop's width and a phone's, light and dark, with scripts and without, no complaint in the console."""

import shutil
import subprocess

import pytest
from browser import Browser, program
from built import example
from slow_disks import aplomb

needs_browser = pytest.mark.skipif(program() is None, reason="there is no Chromium here to look at pages with")


@pytest.fixture(scope="session")
def records(tmp_path_factory):
    """Records of runs that never were, with pages of the same program that the tests of Rust look at."""
    directory = tmp_path_factory.mktemp("records")
    subprocess.run([example("sample_runs"), directory], check=True)
    return directory


@pytest.fixture(scope="session")
def pages(records, tmp_path_factory):
    """Pages of those records, made by the command."""
    out = tmp_path_factory.mktemp("pages")
    aplomb("lab", "compare", str(records), "--out", str(out))
    aplomb("lab", "report", str(records / "hostile" / "hostile.json"), "--out", str(out))
    return out


def test_a_report_is_made_again_from_its_record_alone(records, tmp_path):
    shutil.copy(records / "journal.json", tmp_path / "mine.json")
    told = aplomb("lab", "report", str(tmp_path / "mine.json"))
    page = tmp_path / "mine.html"
    assert f"page: {page}" in told
    assert "While writes take 300 ms, p99.9 of Apache Kafka 4.4.0 rose from 5.7 ms to 485 ms (85×)" in told
    assert page.read_text() == (records / "journal.html").read_text().replace("journal.json", "mine.json")


def test_a_comparison_leads_to_each_runs_page(pages):
    names = {path.name for path in pages.iterdir()}
    assert {"comparison.html", "comparison.svg", "comparison.md", "inode-lock.html", "calm.html"} <= names
    page = (pages / "comparison.html").read_text()
    assert all(f'href="./{name}.html"' in page for name in ("inode-lock", "journal", "freeze", "gc-log", "calm"))


@needs_browser
@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no-scripts"])
@pytest.mark.parametrize("width", [1280, 390])
def test_no_page_makes_a_browser_complain_or_is_wider_than_its_window(pages, width, scripts):
    with Browser(scripts) as browser:
        for dark in (False, True):
            for page in sorted([*pages.glob("*.html"), *pages.glob("*.svg")]):
                browser.open(page, width, dark)
                assert browser.complaints() == [], page.name
                if page.suffix == ".html" and scripts:
                    wide = browser.value("document.documentElement.scrollWidth")
                    assert wide <= width, f"{page.name} is {wide} wide"


@needs_browser
def test_a_wait_that_is_clicked_opens_its_stack(pages):
    with Browser() as browser:
        browser.open(pages / "inode-lock.html")
        assert browser.value("document.querySelectorAll('.waits details[open]').length") == 0
        browser.value("document.querySelector('.timeline a').dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true}))")
        assert "xfs_file_buffered_write" in browser.value("document.querySelector('.waits details[open] pre').innerText")
        assert browser.complaints() == []


@needs_browser
def test_the_axis_is_switched_and_a_second_is_told_in_all_pictures(pages):
    shown = "[...document.querySelectorAll('.series g.log, .series g.linear')].map(g => getComputedStyle(g).display)"
    with Browser() as browser:
        browser.open(pages / "inode-lock.html")
        assert browser.value(shown) == ["inline", "none"] * 2
        browser.click("label:has(#scale-linear)")
        assert browser.value(shown) == ["none", "inline"] * 2
        browser.click('.hits g[data-second="30"] rect')
        told = browser.value("[...document.querySelectorAll('.readout')].map(p => p.textContent)")
        assert len(told) == 2 and all(text.startswith("30 s: p50 ") for text in told)
        assert browser.complaints() == []


@needs_browser
def test_a_stack_can_be_reached_without_scripts(pages):
    with Browser(scripts=False) as browser:
        browser.open(pages / "inode-lock.html")
        browser.call("Page.navigate", url=(pages / "inode-lock.html").resolve().as_uri() + "#stack-0-0")
        opened = browser.call("Runtime.evaluate", expression="document.querySelector('#stack-0-0').closest('details').open")
        assert opened["result"]["value"] is True
