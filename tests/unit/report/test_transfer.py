"""transfer.json in words: only what is clear of its error, and never more than the file says."""

import json

import numpy as np
import pytest

from facetmt.errors import UserError
from facetmt.report.transfer import NOTHING, findings, outdated, read_transfer, source, transfer_text
from facetmt.runlog import CHECKPOINTS, TRANSFER, Run

NAMES = ["gl", "pt", "tr", "<b>"]


def content(matrix, error=0.05, rows=None, **more):
    values = np.array(matrix, np.float64)
    rows = rows or NAMES[: len(values)]
    own = [
        row[NAMES.index(name)] if name in NAMES else np.nan for name, row in zip(rows, values, strict=True)
    ]
    full = np.full(values.shape, error)
    return {
        "rows": rows,
        "columns": NAMES[: values.shape[1]],
        "matrix": values,
        "errors": full,
        "freedom": np.full(values.shape, 15.0),
        "over_own": values - np.array(own)[:, None],
        "over_own_errors": full * 1.4,
        "over_own_freedom": np.full(values.shape, 15.0),
        "step": 400,
        "trained_steps": 600,
        "chosen": "best by dev BLEU",
        "tokens": 15360,
        "seed": 1,
        "left_out": {},
        **more,
    }


def plain(value):
    if isinstance(value, np.ndarray):
        return [[None if np.isnan(cell) else cell for cell in row] for row in value.tolist()]
    return value


@pytest.fixture
def measured(fake, tmp_path):
    """Write a transfer.json into a run; returns the run."""
    directory = fake.write_run(tmp_path / "run", steps=60, sentences=2, validations=2)

    def write(*args, **more):
        found = {key: plain(value) for key, value in content(*args, **more).items()}
        (directory / TRANSFER).write_text(json.dumps(found), encoding="utf-8")
        return Run(directory)

    return write


def said(run):
    return findings(read_transfer(run))


def test_a_relative_that_helps_more_than_the_own_text(measured):
    run = measured([[0.7, 1.65, 0.9, 0.75], [0.9, 1.3, 0.9, 0.9]])
    assert said(run)[0] == "gl gains more from pt (1.65 ± 0.05) than from its own text (0.70 ± 0.05)."
    assert said(run)[1:] == ["Gaining more than average from their own text: pt (1.30 ± 0.05)."]


def test_more_than_average_nothing_and_harm(measured):
    run = measured([[1.8, 1.5, 0.02, -0.6]], 0.03)
    assert said(run) == [
        "gl gains more than average from pt (1.50 ± 0.03).",
        "Training on <b> (−0.60 ± 0.03) harms gl.",
        "gl gains next to nothing from tr (0.02 ± 0.03).",
        "Gaining more than average from their own text: gl (1.80 ± 0.03).",
    ]


def test_what_its_error_could_explain_is_not_said(measured):
    assert said(measured([[0.7, 1.65, 0.9, 0.75]], 0.3)) == [NOTHING]


def test_luck_makes_hardly_any_finding(measured):
    """Equal facets, 8 x 8, honest errors: in at most about 5 % of the matrices is anything said."""
    rng = np.random.default_rng(1)
    run = measured([[1.0, 1.0], [1.0, 1.0]])
    base = read_transfer(run)
    names = tuple("abcdefgh")
    wrong = 0
    for _ in range(200):
        matrix = 1 + 0.1 * rng.standard_normal((8, 8))
        # errors are estimates themselves, with 15 degrees of freedom
        errors = 0.1 * np.sqrt(rng.chisquare(15, (8, 8)) / 15)
        own = matrix - np.diag(matrix)[:, None]
        freedom = np.full((8, 8), 15.0)
        found = type(base)(base.content, names, names, matrix, errors, freedom, own, errors * 1.4, freedom)
        wrong += findings(found) != [NOTHING]
    assert wrong / 200 <= 0.08


def test_a_row_of_noise_says_so_and_is_empty(measured):
    run = measured([[np.nan] * 4, [1.0, 1.2, 0.9, 0.9]])
    assert said(run)[0].startswith("gl: its dev gradient is mostly noise")
    assert "–" in transfer_text(run, read_transfer(run))


def test_the_text_has_every_cell_its_error_and_what_it_was_computed_from(measured):
    run = measured([[0.7, 1.65, 0.9, 0.75]], left_out={"tr": "no dev text", "xx": "not drawn"})
    text = transfer_text(run, read_transfer(run))
    assert "[0.70 ± 0.05]" in text and " 1.65 ± 0.05" in text and "<b>" in text
    assert "step 400 (best by dev BLEU)" in text and "seed 1" in text
    assert "1 of 2 facets, drawn at random" in text and "tr has no row: no dev text." in text
    assert "xx has no row" not in text


def test_many_columns_are_cut_to_the_most_and_the_least_helpful(measured, monkeypatch):
    monkeypatch.setattr("facetmt.report.transfer.WIDE", 3)
    run = measured([[0.7, 1.65, 0.9, 0.75]])
    line = next(line for line in transfer_text(run, read_transfer(run)).splitlines() if line.startswith("gl"))
    assert line.startswith("gl  gl [0.70 ± 0.05]  pt 1.65 ± 0.05") and line.endswith("<b> 0.75 ± 0.05")


def test_figures_of_an_older_checkpoint_are_out_of_date(measured):
    run = measured([[0.7, 1.65, 0.9, 0.75]])
    (run.directory / CHECKPOINTS / "step-000000600").mkdir(parents=True)
    assert outdated(run, read_transfer(run)) == ""
    (run.directory / CHECKPOINTS / "step-000000700").mkdir()
    run = Run(run.directory)
    assert "at step 600, but it has a checkpoint of step 700" in outdated(run, read_transfer(run))
    assert "step 400" in source(read_transfer(run))


@pytest.mark.parametrize(
    "damage", ["{}", '{"rows": ["a"]', '{"rows": ["a"], "columns": ["b"], "matrix": [1, 2]}']
)
def test_a_damaged_file_is_one_sentence(measured, damage):
    run = measured([[1.0, 1.0]])
    (run.directory / TRANSFER).write_text(damage, encoding="utf-8")
    with pytest.raises(UserError, match=r"transfer\.json"):
        read_transfer(Run(run.directory))


def test_a_run_that_was_not_measured(bandit_dir):
    assert read_transfer(Run(bandit_dir)) is None


def test_the_page_shows_the_matrix_of_each_run_that_has_one(measured, bandit_dir):
    from facetmt.report.page.render import render

    run = measured([[0.7, 1.65, 0.9, 0.75]])
    (run.directory / CHECKPOINTS / "step-000000700").mkdir(parents=True)
    page = render([Run(bandit_dir), Run(run.directory)])
    assert 'data-chart="transfer"' in page and '"type":"heatmap"' in page
    assert "gl gains more from pt (1.65 ± 0.05)" in page and "Out of date" in page
    assert "Not measured for this run" in page
    assert "checkpoint of step 400" in page
    assert 'data-chart="transfer"' not in render([Run(bandit_dir)])
