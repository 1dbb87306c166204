"""The verbs after training, as a user calls them, on one small trained model."""

import json

import pytest

from facetmt.cli_data import prepare
from facetmt.errors import UserError
from facetmt.recipe import load_recipe
from facetmt.runlog import Run
from facetmt.train.apply import evaluate_run
from facetmt.train.run import train

SETTINGS = ["--set", "train.steps=12", "--set", "train.validate_every=6", "--set", "train.keep_best=2"]


@pytest.fixture(scope="module")
def run(project, facetmt):
    directory = project / "translating"
    done = facetmt("train", project / "recipe.yaml", "--run", directory, *SETTINGS)
    assert done.returncode == 0, done.stderr
    return directory


def test_n_best_with_scores_in_falling_order(facetmt, run):
    done = facetmt("translate", run, "--n-best", 3, "--scores", text="Der Mann sieht das Haus.\n")
    cells = done.stdout.rstrip("\n").split("\t")
    scores = [float(score) for score in cells[::2]]
    assert len(scores) == 3 and scores == sorted(scores, reverse=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--facet", "sports"], "there is no facet sports"),
        (["--to", "fr"], "no facet translates to fr"),
        (["--facet", "law", "--to", "de"], "that facet translates to en"),
        (["--tag", "law"], "trained without facet tags"),
        (["--set", "model.width=64"], "may not change what the model was trained with"),
    ],
)
def test_mistakes_are_one_sentence(facetmt, run, arguments, message):
    done = facetmt("translate", run, *arguments, text="Hallo\n")
    assert done.returncode == 2
    assert message in done.stderr and "Traceback" not in done.stderr


def test_evaluate_scores_every_facet_and_saves_what_was_scored(facetmt, run, project):
    done = facetmt("evaluate", run, "--set", "evaluate.groups={small: [koran, law]}")
    assert done.returncode == 0, done.stderr
    scores = json.loads((run / "scores.json").read_text(encoding="utf-8"))
    facets = {path.name for path in (project / "corpus").iterdir()}
    assert set(scores["facets"]) == facets
    assert set(scores["groups"]) == {"small"}
    assert "version:" in scores["signature"]["bleu"]
    rows = [json.loads(line) for line in (run / "translations" / "law.jsonl").read_text("utf-8").splitlines()]
    assert len(rows) == 12 and set(rows[0]) == {"source", "reference", "hypothesis"}
    assert rows[0]["reference"] == (project / "corpus" / "law" / "test.en").read_text("utf-8").splitlines()[0]


def test_a_run_is_scored_on_the_facets_that_it_was_trained_on_or_not_at_all(run, project, tmp_path):
    other = f"prepared={tmp_path / 'prepared'}"
    prepare(project / "recipe.yaml", overrides=["data.facets=[koran,law]", "data.vocab.size=600", other])
    before = (run / "scores.json").read_bytes()
    with pytest.raises(
        UserError, match=r"trained on it, medical, subtitles, which .*facetmt prepare .*recipe\.yaml"
    ):
        evaluate_run(run, [other])
    assert (run / "scores.json").read_bytes() == before


def test_messages_say_what_is_scored_and_what_is_replaced(run, capsys):
    plain = evaluate_run(run, [])
    assert f"scoring the checkpoint of step {plain['steps'][0]} (best by dev BLEU; trained to step 12)" in (
        capsys.readouterr().err
    )
    assert plain["trained_steps"] == 12 and plain["decode"]["max_source"] == 40
    evaluate_run(run, ["decode.beam=1"], "greedy")
    assert "is replaced" not in capsys.readouterr().err
    assert {name: one["decode"]["beam"] for name, one in Run(run).outcomes().items()} == {"": 2, "greedy": 1}
    evaluate_run(run, ["decode.beam=1"])
    assert "(decode.beam was 2); use --name NAME to keep several" in capsys.readouterr().err
    with pytest.raises(UserError, match="cannot name a set of scores"):
        evaluate_run(run, [], "../greedy")


@pytest.mark.parametrize("groups", ["{formal: [law, laws]}", "{formal: [med*, x*]}"])
def test_a_group_of_nothing_is_refused_before_anything_is_trained_or_translated(
    run, project, tmp_path, groups
):
    with pytest.raises(UserError, match=r"evaluate\.groups\.formal"):
        evaluate_run(run, [f"evaluate.groups={groups}"])
    with pytest.raises(UserError, match=r"evaluate\.groups\.formal"):
        train(load_recipe(project / "recipe.yaml", [f"evaluate.groups={groups}"]), tmp_path / "run")
    assert not (tmp_path / "run").exists()
    with pytest.raises(UserError, match=r"evaluate\.groups\.formal"):
        prepare(
            project / "recipe.yaml",
            overrides=[
                f"evaluate.groups={groups}",
                "data.facets=[law,it]",
                f"prepared={tmp_path / 'prepared'}",
            ],
        )
    assert not (tmp_path / "prepared").exists()


def test_averaging_takes_several_checkpoints(facetmt, run):
    done = facetmt("evaluate", run, "--set", "decode.average=2")
    assert done.returncode == 0, done.stderr
    assert len(json.loads((run / "scores.json").read_text(encoding="utf-8"))["steps"]) == 2
    done = facetmt("evaluate", run, "--set", "decode.average=9")
    assert done.returncode == 2 and "too few to average 9" in done.stderr


def test_report_compare_card_and_replay(facetmt, run, tmp_path):
    assert facetmt("evaluate", run).returncode == 0
    done = facetmt("report", run, "--out", tmp_path / "page.html")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "page.html").stat().st_size < 6_000_000
    assert "Avg" in facetmt("compare", run, run, "--format", "markdown").stdout
    assert facetmt("card", run).stdout.startswith("---\n")
    done = facetmt("replay", run, "--set", "policy=exp3s")
    assert done.returncode == 0, done.stderr


def test_a_search_tries_every_point_and_continues_where_it_stopped(facetmt, project, tmp_path):
    grid = [
        "--grid",
        "schedule.exploration=0.2,0.4",
        "--set",
        "train.steps=4",
        "--set",
        "train.validate_every=2",
    ]
    first = facetmt("tune", project / "recipe.yaml", "--out", tmp_path / "study", *grid, "--trials", 1)
    assert first.returncode == 0, first.stderr
    second = facetmt("tune", project / "recipe.yaml", "--out", tmp_path / "study", *grid)
    assert second.returncode == 0, second.stderr
    assert "0.2" in second.stdout and "0.4" in second.stdout
    assert len(list((tmp_path / "study").glob("exploration=*"))) == 2
    assert (tmp_path / "study" / "trials.html").is_file()
    wrong = facetmt(
        "tune", project / "recipe.yaml", "--out", tmp_path / "study", "--grid", "schedule.gamma=1,2"
    )
    assert wrong.returncode == 2 and "schedule.gamma" in wrong.stderr
