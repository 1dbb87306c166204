"""The report in a real browser: charts, search, legend, colours, phone, print, and a live page."""

import base64
import importlib.util
import shutil
import threading
from pathlib import Path

import pytest

from facetmt.report.page import write_report
from facetmt.report.page.serve import make_server

ROOT = Path(__file__).parents[2]
SHOTS = ROOT / "artifacts" / "report"


def loaded(path):
    """Load a test module by its path: test folders are not packages."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


fake = loaded(ROOT / "tests/unit/report/fake_runs.py")
chromium = loaded(ROOT / "tests/system/chromium.py")

HOSTILE_NAME = "<img src=x onerror=\"document.title='run by a name'\">"  # no slash: it names files too

pytestmark = pytest.mark.skipif(chromium.CHROMIUM is None, reason=chromium.MISSING)


@pytest.fixture(scope="module")
def browser():
    opened = chromium.Browser()
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Pages of two runs, of 198 facets and of hostile names."""
    folder = tmp_path_factory.mktemp("pages")
    few = {"steps": 3000, "sentences": 25, "hostile": True}
    pair = [
        fake.write_run(folder / name, policy=policy, **few)
        for name, policy in (("mixed", "mixed"), ("bandit", "exp3"))
    ]
    many = {"sizes": fake.many_facets(), "steps": 4000, "sentences": 2, "validations": 6}
    wide = fake.write_run(folder / "wide", learning_rate=0.01, exploration=0.5, **many)
    auto = fake.write_run(folder / "auto", policy="auto", **few)
    strange = {HOSTILE_NAME: 10_000, "b & <b>b": 20_000}
    named = fake.write_run(folder / HOSTILE_NAME, sizes=strange, steps=400, sentences=3, hostile=True)
    return {
        "named": write_report([named], folder / "named.html"),
        "two": write_report(pair, folder / "two.html"),
        "many": write_report([wide], folder / "many.html"),
        "auto": write_report([pair[0], auto], folder / "auto.html"),
        "runs": pair,
    }


@pytest.fixture
def two(browser, pages):
    browser.complaints.clear()
    browser.requests.clear()
    browser.open(pages["two"].as_uri())
    yield browser
    browser.run("sessionStorage.clear()")
    assert browser.complaints == []


def lines(browser, chart):
    """Labels of the traces currently shown by a chart."""
    return browser.run(
        f"""Array.from(document.querySelector('[data-chart="{chart}"] .plot').data, t => t.meta.label)"""
    )


def type_in(browser, field, value):
    browser.run(
        f"(() => {{ const f = document.getElementById({field!r}); f.value = {value!r}; "
        "f.dispatchEvent(new Event('input')); })()"
    )


def test_all_charts_are_drawn_and_nothing_is_fetched(two, pages):
    drawn = two.run(
        "Array.from(document.querySelectorAll('[data-chart]'), box => "
        "[box.dataset.chart, box.querySelectorAll('.plot svg.main-svg').length > 0, "
        "box.classList.contains('empty')])"
    )
    assert len(drawn) == 11 and all(there and not empty for _, there, empty in drawn)
    curves = two.run(
        """document.querySelectorAll('[data-chart="probs"] .scatterlayer path.js-line').length"""
    )
    assert curves == 5
    assert (
        two.run("""document.querySelectorAll('[data-chart="shares"] .barlayer .point path').length""") == 10
    )
    assert set(two.requests) == {pages["two"].as_uri()}


def test_a_corpus_line_with_a_script_is_shown_not_run(two):
    assert two.run("document.title") == "bandit against mixed · facetmt"
    assert fake.HOSTILE in two.run("document.querySelector('.sample dd').textContent")


def test_facets_and_runs_called_like_markup_are_shown_not_run(browser, pages):
    browser.complaints.clear()
    browser.open(pages["named"].as_uri())
    assert browser.run("document.title") == f"{HOSTILE_NAME} · facetmt"
    assert browser.run("document.querySelectorAll('img, b[onclick], dd script, td script').length") == 0
    assert sorted(lines(browser, "probs")) == sorted(["b & <b>b", HOSTILE_NAME])
    texts = browser.run("Array.from(document.querySelectorAll('.sample dd'), d => d.textContent)")
    assert texts[:3] == [fake.HOSTILE] * 3  # source, reference, hypothesis
    rows = browser.run("Array.from(document.querySelectorAll('tr[data-facet]'), r => r.dataset.facet)")
    assert HOSTILE_NAME in rows and "b & <b>b" in rows
    axis = browser.run("""document.querySelector('[data-chart="shares"] .xtick text').textContent""")
    assert axis in ("b & <b>b", HOSTILE_NAME)
    assert browser.complaints == []


def test_search_filters_charts_and_tables(two):
    type_in(two, "search", "kor, law")
    assert sorted(lines(two, "probs")) == ["Koran", "Law"]
    assert two.run("""document.querySelector('[data-chart="shares"] .plot').data[0].x.length""") == 2
    visible = "Array.from(document.querySelectorAll('tr[data-facet]:not(.away)'), r => r.dataset.facet)"
    assert set(two.run(visible)) == {"Koran", "Law"}
    type_in(two, "search", "")
    assert len(lines(two, "probs")) == 5


def test_the_legend_hides_and_shows_a_line(two):
    click = """document.querySelectorAll('[data-chart="probs"] .legend button')[0].click()"""
    first = lines(two, "probs")[0]
    two.run(click)
    assert first not in lines(two, "probs") and len(lines(two, "probs")) == 4
    two.run(click)
    assert first in lines(two, "probs")


def test_run_axis_and_order_can_be_chosen(two):
    two.run("document.querySelector('[data-run=\"0\"]').click()")
    assert two.run("""document.querySelector('[data-chart="probs"]').classList.contains('empty')""")
    assert "one arm" in two.run("""document.querySelector('[data-chart="probs"] .absent').textContent""")
    two.run("document.querySelector('[data-run=\"1\"]').click()")
    two.run("document.querySelector('[data-axis=\"time\"]').click()")
    axis = """document.querySelector('[data-chart="bleu"] .plot').layout.xaxis.title.text"""
    assert two.run(axis) == "minutes of wall-clock"
    two.run("document.querySelector('[data-axis=\"step\"]').click()")
    type_in(two, "sort", "name")
    assert two.run("""document.querySelector('[data-chart="shares"] .plot').data[0].x""") == [
        "IT",
        "Koran",
        "Law",
        "Med",
        "Subs",
    ]
    type_in(two, "sort", "share")


def test_a_table_sorts_by_the_clicked_column(two):
    two.run(
        "Array.from(document.querySelectorAll('th[data-sort]'))"
        ".find(h => h.textContent.includes('BLEU')).click()"
    )
    values = two.run(
        "Array.from(document.querySelector('th[aria-sort]').closest('table')"
        ".querySelectorAll('tr[data-facet]'), "
        "row => Number(row.children[1].dataset.value))"
    )
    assert values == sorted(values, reverse=True) and len(values) == 5


def test_many_facets_are_the_top_ten_and_the_mean_of_the_others(browser, pages):
    browser.complaints.clear()
    browser.open(pages["many"].as_uri())
    assert len(lines(browser, "probs")) == 11 and lines(browser, "probs")[-1] == "mean of 188 others"
    assert "10 of 198 facets shown." in browser.run("document.querySelector('.more').textContent")
    type_in(browser, "top", "all")
    assert len(lines(browser, "probs")) == 198
    type_in(browser, "search", "aa-en")
    assert lines(browser, "probs") == ["aa-en"]
    browser.run("sessionStorage.clear()")
    assert browser.complaints == []


def test_changes_of_shares_are_shown_with_the_run_that_made_them(browser, pages):
    browser.complaints.clear()
    browser.open(pages["auto"].as_uri())
    shown = "Array.from(document.querySelectorAll('.news li'), i => i.offsetParent !== null && i.textContent)"
    assert "Koran reduced to" in browser.run(shown)[0]
    browser.run("document.querySelector('[data-run=\"0\"]').click()")
    assert browser.run(shown)[0] is False
    browser.run("sessionStorage.clear()")
    assert browser.complaints == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", ["two", "many"])
def test_every_screen_size_and_colour_scheme(browser, pages, name, width, dark):
    browser.complaints.clear()
    browser.open(pages[name].as_uri(), width=width, dark=dark)
    assert browser.run("document.documentElement.scrollWidth") <= width
    ink, paper = browser.run(
        "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor].map("
        "c => c.match(/[0-9]+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0))"
    )
    assert (ink > paper) == dark
    label = browser.run(
        """getComputedStyle(document.querySelector('[data-chart="probs"] .xtick text')).fill"""
    )
    assert (sum(int(part) for part in label.removeprefix("rgb(").removesuffix(")").split(",")) > 380) == dark
    browser.shot(SHOTS / f"{name}-{width}-{'dark' if dark else 'light'}.png")
    assert browser.complaints == []


def test_a_live_page_reloads_itself_when_the_logs_grow(browser, pages, tmp_path, monkeypatch):
    monkeypatch.setattr("facetmt.report.page.serve.RELOAD", 1)
    run = shutil.copytree(pages["runs"][1], tmp_path / "live")
    server = make_server([run], 0, patience=0.0)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        browser.complaints.clear()
        browser.open(f"http://127.0.0.1:{server.server_address[1]}/")
        assert browser.run("document.querySelector('.sub').textContent").endswith("3,000 steps")
        type_in(browser, "search", "Law")
        with (run / "pulls.csv").open("a", encoding="utf-8") as file:
            file.write("3001,Law,0.5,2,1,0.5,1\n")
        browser.wait("document.querySelector('body.drawn .sub')?.textContent.endsWith('3,001 steps')")
        # the reader's choice is kept
        assert browser.run("document.getElementById('search').value") == "Law"
        assert lines(browser, "probs") == ["Law"]
        assert [text for text in browser.complaints if "favicon" not in text and "404" not in text] == []
    finally:
        browser.call("Page.navigate", url="about:blank")
        server.shutdown()
        server.server_close()
        thread.join()


def test_printing_is_light_and_fits_the_paper(browser, pages):
    browser.open(pages["two"].as_uri(), dark=True)
    browser.run("dispatchEvent(new Event('beforeprint'))")
    browser.wait("document.body.classList.contains('printing')")
    widths = browser.run(
        "Array.from(document.querySelectorAll('.plot'), "
        "p => [p.clientWidth, p.querySelector('svg.main-svg').clientWidth])"
    )
    assert widths and all(abs(plot - svg) <= 1 for plot, svg in widths)
    assert browser.run("getComputedStyle(document.body).getPropertyValue('--paper').trim()") == "#ffffff"
    pdf = base64.b64decode(browser.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69)["data"])
    assert pdf.startswith(b"%PDF") and 3 <= pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page ") <= 14
