import json
import re
from html.parser import HTMLParser

import pytest

from facetmt.errors import UserError
from facetmt.report.page.render import render, write_report
from facetmt.runlog import Run

EVIL = "<img src=x onerror=alert(1)>"


class Outline(HTMLParser):
    """Elements, their attributes, and the text outside of scripts and styles."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.text, self._inside = [], "", None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._inside = tag if tag in ("script", "style") else None

    def handle_endtag(self, tag):
        self._inside = None

    def handle_data(self, data):
        if self._inside is None:
            self.text += data


def data_of(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])


@pytest.fixture(scope="module")
def page(mixed_dir, bandit_dir):
    return render([Run(mixed_dir), Run(bandit_dir)])


def test_headline_health_charts_and_tables(page):
    text = Outline(page).text
    for words in (
        "bandit against mixed",
        "Best system",
        "Gain over mixed",
        "Time to mixed’s best",
        "better on",
    ):
        assert words in text
    for words in (
        "Healthy",
        "Probability of each facet",
        "Test scores",
        "Sample translations",
        "nrefs:1|case:mixed",
    ):
        assert words in text
    assert "policy: exp3" in text and "paired bootstrap" in text


def test_nothing_is_fetched(page):
    for tag, attrs in Outline(page).tags:
        assert "src" not in attrs and "href" not in attrs and tag not in ("link", "img", "iframe")
    assert "connect-src 'none'" in page and "default-src 'none'" in page


def test_only_our_two_scripts_may_run(page):
    policy = next(attrs["content"] for tag, attrs in Outline(page).tags if attrs.get("http-equiv"))
    assert len(re.findall(r"'sha256-[A-Za-z0-9+/=]{44}'", policy)) == 2
    assert "unsafe-inline" not in re.search(r"script-src [^;]*", policy)[0]


def test_two_runs_fit_into_six_megabytes(page):
    assert len(page.encode("utf-8")) < 6e6


def test_what_others_wrote_is_shown_not_run(fake, tmp_path):
    runs = [
        fake.write_run(tmp_path / name, steps=120, hostile=True, sentences=2)
        for name in ("a&b", EVIL.replace("/", ""))
    ]
    (runs[0] / "recipe.yaml").write_text(
        (runs[0] / "recipe.yaml").read_text(encoding="utf-8").replace("corpus", f'"{EVIL}"'), encoding="utf-8"
    )
    page = render([Run(run) for run in runs])
    outline = Outline(page)
    assert [attrs for tag, attrs in outline.tags if tag == "img"] == []
    assert sum(tag == "script" for tag, _ in outline.tags) == 3
    assert fake.HOSTILE in outline.text and EVIL in outline.text
    assert data_of(page)["runs"] == ["a&b", EVIL]


def test_one_facet_called_like_markup(fake, tmp_path):
    directory = fake.write_run(tmp_path / "x", sizes={EVIL: 10, "b": 20}, steps=60, scored=False)
    page = render([Run(directory)])
    assert not any(tag == "img" for tag, _ in Outline(page).tags)
    names = [trace["name"] for trace in data_of(page)["charts"]["probs"][0]["data"]]
    assert "&lt;img src=x onerror=alert(1)&gt;" in names


@pytest.mark.parametrize("policy", ["mixed", "static", "exp3", "exp3s", "odm", "multidds", "auto", "unimax"])
def test_a_run_that_has_nothing_yet(fake, tmp_path, policy):
    directory = fake.write_run(
        tmp_path / "new", policy=policy, steps=2, log_every=5, validations=0, scored=False
    )
    text = Outline(render([Run(directory)])).text
    assert "not validated yet" in text and "No run is scored yet" in text


def test_a_run_whose_logs_are_still_empty(fake, tmp_path):
    directory = fake.write_run(tmp_path / "new", steps=2, validations=0, scored=False)
    for name in ("pulls.csv", "probs.csv", "metrics.jsonl", "validation.jsonl"):
        (directory / name).write_text("", encoding="utf-8")
    (directory / "facets.json").unlink()
    assert "0 steps" in Outline(render([Run(directory)])).text


def test_runs_with_different_facets_and_none_scored_alike(fake, tmp_path, bandit_dir):
    other = fake.write_run(tmp_path / "other", sizes={"Med": 10, "New": 5}, steps=200, scored=False)
    page = render([Run(other), Run(bandit_dir)])
    assert {fact["name"] for fact in data_of(page)["facets"]} == {"Med", "New", "IT", "Law", "Koran", "Subs"}
    assert "Best average dev BLEU" in page


def test_seeds_of_one_system_are_one_column(fake, tmp_path, mixed_dir):
    seeds = [fake.write_run(tmp_path / f"s{n}", steps=200, seed=n, sentences=5) for n in (1, 2)]
    text = Outline(render([Run(mixed_dir), *(Run(seed) for seed in seeds)])).text
    assert "s1 (2 seeds)" in text and "±" in text


def test_the_page_is_written_whole_and_may_reload(tmp_path, bandit_dir):
    out = write_report([bandit_dir], tmp_path / "sub" / "report.html", watch=True)
    page = out.read_text(encoding="utf-8")
    assert data_of(page)["reload"] > 0 and page.endswith("</html>\n")
    assert [path.name for path in out.parent.iterdir()] == ["report.html"]


def test_users_errors(tmp_path, bandit_dir):
    with pytest.raises(UserError, match="at least one run"):
        render([])
    with pytest.raises(UserError, match="not a run directory"):
        write_report([tmp_path], tmp_path / "x.html")
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(UserError, match="give another --out"):
        write_report([bandit_dir], tmp_path / "file" / "x.html")


def test_other_learners_than_the_papers(fake, tmp_path, mixed_dir):
    runs = [
        fake.write_run(tmp_path / name, policy=name, reward="dev-loss", steps=300, sentences=3)
        for name in ("odm", "multidds")
    ]
    page = render([Run(mixed_dir), *(Run(run) for run in runs)])
    charts = data_of(page)["charts"]
    assert charts["probs"][1] and charts["probs"][2] and charts["scaled"][1] and not charts["scaled"][2]
    assert "range" not in charts["scaled"][1]["layout"]["yaxis"]  # odm's rewards are losses, far above 1
    assert data_of(page)["run"] == 1


def test_a_further_test_set_is_no_facet_and_cannot_be_filtered_away(fake, tmp_path):
    directory = fake.write_run(tmp_path / "x", steps=60, sentences=2)
    scores = json.loads((directory / "scores.json").read_text(encoding="utf-8"))
    scores["facets"]["wmt20"] = {"bleu": 20.25, "chrf": 41.5}
    scores["signature_of"] = {"wmt20": {"bleu": "tok:zh", "chrf": "x"}}
    (directory / "scores.json").write_text(json.dumps(scores), encoding="utf-8")
    row = '{"source": "eine neue Zeile", "reference": "a new line", "hypothesis": "a line"}'
    (directory / "translations" / "wmt20.jsonl").write_text(row + "\n", encoding="utf-8")
    page = render([Run(directory)])
    assert '<tr><td class="left">wmt20</td><td data-value="20.25">20.25 <span class="std">± ' in page
    assert "eine neue Zeile" in page and "BLEU of wmt20: tok:zh" in page
    assert "wmt20" not in {fact["name"] for fact in data_of(page)["facets"]}


def test_many_facets_stay_small(fake, tmp_path):
    directory = fake.write_run(
        tmp_path / "many", sizes=fake.many_facets(198), steps=1200, sentences=1, validations=4
    )
    page = render([Run(directory)])
    assert len(page) < 9e6 and '<option value="50">' in page


def test_the_page_says_what_was_scored_and_why_runs_are_not_alike(fake, tmp_path):
    whole = fake.write_run(tmp_path / "whole", policy="mixed", steps=80, sentences=4)
    half = fake.write_run(tmp_path / "half", steps=80, planned=160, sentences=4)
    fake.change_scores(half, decode={"beam": 1, "length_penalty": 0.6}, steps=[5], trained_steps=10)
    fake.write_outcome(half, "natural-tag", lambda row: row["reference"], tag="Law")
    page = render([Run(whole), Run(half)])
    text = Outline(page).text
    for words in (
        "Carefulhalf: unfinished, at step 80 of 160",
        "half, half [natural-tag]: scored at step 5 but trained to 80 since",
        "half: decoded differently from whole: beam 1 instead of 5",
        "80 of 160 unfinished",
        "step 5, beam 1, length penalty 0.6natural-tag: step 5, beam 1, length penalty 0.6, tag Law",
        "(natural-tag 100.00)",
        "± is half of the 95 % interval",
    ):
        assert words in text, words
    assert "half [natural-tag]<br>BLEU" in page and '<sup class="up">++</sup>' in page
    assert "Careful" not in Outline(render([Run(whole)])).text


def test_the_best_average_is_marked(fake, tmp_path, mixed_dir):
    better = fake.write_run(tmp_path / "better", steps=1500, sentences=20)
    best = max(Run(run).scores["average"]["bleu"] for run in (mixed_dir, better))
    page = render([Run(mixed_dir), Run(better)])
    average = re.search(r'<tr class="average"><td class="left">Average</td>.*?</tr>', page)[0]
    assert f"<b>{best:.2f}</b>" in average and average.count("<b>") == 2  # BLEU and chrF
    runs = page[page.index("<h3>Runs") :]
    assert f"<b>{best:.2f}</b>" in runs[: runs.index("</table>")]


def test_what_has_hardly_begun_is_not_called_healthy(fake, tmp_path):
    directory = fake.write_run(tmp_path / "new", steps=2, log_every=5, validations=0, scored=False)
    text = Outline(render([Run(directory)])).text
    assert "Too little is logged yet to judge it" in text and "Healthy" not in text


def test_runs_with_mixed_batches(auto_dir, blend_dir, mixed_dir):
    page = render([Run(mixed_dir), Run(auto_dir), Run(blend_dir)])
    data, text = data_of(page), Outline(page).text
    assert data["run"] == 1 and [len(figure["data"]) for figure in data["charts"]["probs"][1:]] == [5, 5]
    assert data["charts"]["scaled"] == [None, None, None]  # no reward belongs to a facet
    assert data["charts"]["raw"][0] is data["charts"]["raw"][1] is None and data["charts"]["raw"][2]
    assert "Share of each facet" in text and "What it changed, and why" in text
    assert "Koran reduced to" in text and "hardly depend on its sources" in text
    assert {trace["name"] for trace in data["charts"]["costs"]["data"]} >= {"compiling", "measurements"}
