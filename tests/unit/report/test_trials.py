"""The page of a search: every setting, its curve and its run, in one file that needs no network."""

import json
import re

from facetmt.report.trials import Tried, write_trials

KEYS = ["schedule.learning_rate", "schedule.policy"]


def test_the_page_shows_every_setting_and_needs_nothing_else(tmp_path, bandit_dir):
    (tmp_path / "runs").mkdir()
    good, bad = tmp_path / "runs" / "rate=0.1", tmp_path / "runs" / "rate=<b>2"
    good.symlink_to(bandit_dir, target_is_directory=True)
    tried = [
        Tried({KEYS[0]: 0.1, KEYS[1]: "exp3"}, 31.25, "complete", good),
        Tried({KEYS[0]: 2, KEYS[1]: "<script>"}, None, "failed", bad),
    ]
    page = write_trials(KEYS, tried, tmp_path / "runs" / "trials.html")
    text = page.read_text(encoding="utf-8")
    assert 'src="http' not in text and "<script>,</td>" not in text and "rate=<b>2" not in text
    table = text.split("<tbody>")[1].split("</tbody>")[0]
    first, second = table.split("</tr>")[:2]
    assert ">31.25<" in first and ">complete<" in first and 'href="rate%3D0.1' in first
    assert ">failed<" in second and "&lt;script&gt;" in second
    data = json.loads(re.search(r'id="data">(.*?)</script>', text)[1])
    assert [trace["name"] for trace in data["charts"]["trials"]["data"]] == ["policy exp3"]
    assert [trace["meta"]["label"] for trace in data["charts"]["curves"]["data"]] == [
        "learning_rate 0.1, policy exp3"
    ]


def test_a_search_without_a_score_has_a_page_too(tmp_path):
    page = write_trials(
        KEYS, [Tried({KEYS[0]: 1}, None, "interrupted", tmp_path / "x")], tmp_path / "trials.html"
    )
    assert "1 interrupted" in page.read_text(encoding="utf-8")
