"""`transfer` finds a relative that was put into the corpus; `diagnose` answers; the page shows both."""

import json
import random

import pytest

RECIPE = """\
data:
  root: corpus
  source: de
  target: en
  max_length: 24
  dev_pairs: 40
  allow_missing_dev: true
  vocab: {size: 200, exact: false}
batch: {rows: 16, length: 24}
model: {preset: tiny, width: 32, mlp: 64, heads: 2, encoder_layers: 1, decoder_layers: 1}
schedule: {policy: exp3, reward: dev-pgnorm}
optimiser: {schedule: peak-rsqrt, learning_rate: 0.005, warmup: 20}
train: {steps: 120, validate_every: 60, log_every: 10}
decode: {beam: 1, max_length: 16, batch: 32}
"""
LETTERS = "bdfgklmnprst"


def dictionary(rng, count=30):
    """Source words and what they mean; no word of one dictionary is in another."""
    words = ["".join(rng.choice(LETTERS) + rng.choice("aeiou") for _ in range(2)) for _ in range(2 * count)]
    return list(zip(words[:count], words[count:], strict=True))


def write_facet(folder, name, words, rng, dev):
    for split, count in (("train", 400), ("dev", dev), ("test", 5)):
        lines = [[rng.choice(words) for _ in range(rng.randint(3, 6))] for _ in range(count)]
        for side, language in enumerate(("de", "en")):
            path = folder / name / f"{split}.{language}"
            path.parent.mkdir(parents=True, exist_ok=True)
            if count:
                text = "".join(" ".join(pair[side] for pair in line) + "\n" for line in lines)
                path.write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def project(tmp_path_factory, facetmt):
    """`twin` is made of the words of `law`, `far` and `mute` of others; `mute` has no dev text."""
    folder, rng = tmp_path_factory.mktemp("transfer"), random.Random(1)
    law, far, mute = (dictionary(rng) for _ in range(3))
    for name, words, dev in (("far", far, 60), ("law", law, 60), ("mute", mute, 0), ("twin", law, 60)):
        write_facet(folder / "corpus", name, words, rng, dev)
    (folder / "recipe.yaml").write_text(RECIPE, encoding="utf-8")
    assert facetmt("prepare", folder / "recipe.yaml").returncode == 0
    return folder


def test_the_relative_is_found_and_the_file_is_replaced_as_a_whole(project, facetmt):
    run = project / "run"
    done = facetmt("train", project / "recipe.yaml", "--run", run)
    assert done.returncode == 0, done.stderr
    done = facetmt("transfer", run)
    assert done.returncode == 0, done.stderr
    assert "measuring at the checkpoint of step" in done.stderr
    found = json.loads((run / "transfer.json").read_text(encoding="utf-8"))
    assert found["rows"] == ["far", "law", "twin"] and found["columns"] == ["far", "law", "mute", "twin"]
    assert found["left_out"] == {"mute": "no dev text"}
    assert len(found["checkpoint_sha256"]) == 64 and found["seed"] == 1
    cell = {
        (row, column): (found["matrix"][k][j], found["errors"][k][j])
        for k, row in enumerate(found["rows"])
        for j, column in enumerate(found["columns"])
    }
    for one, other in (("law", "twin"), ("twin", "law")):
        helped, error = cell[one, other]
        for stranger in ("far", "mute"):
            assert helped - cell[one, stranger][0] > 5 * (error + cell[one, stranger][1])
    assert "law gains more than average from twin" in done.stdout
    assert "mute has no row: no dev text." in done.stdout

    again = facetmt("transfer", run, "--facets", "law", "--seed", "1")
    assert again.returncode == 0, again.stderr
    alone = json.loads((run / "transfer.json").read_text(encoding="utf-8"))
    assert alone["rows"] == ["law"]
    assert alone["matrix"][0] == pytest.approx(found["matrix"][1], rel=1e-3, abs=1e-3)
    assert not list(run.glob(".*.partial"))

    page = facetmt("report", run)
    assert page.returncode == 0, page.stderr
    text = (run / "report.html").read_text(encoding="utf-8")
    assert "Which facet helps which" in text and "Out of date" not in text

    said = facetmt("diagnose", run)
    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith("The reward") and "120 rewards" in said.stdout

    more = ("--resume", "--set", "train.steps=130")
    assert facetmt("train", project / "recipe.yaml", "--run", run, *more).returncode == 0
    facetmt("report", run)
    assert "Out of date" in (run / "report.html").read_text(encoding="utf-8")


def test_what_cannot_be_measured_is_one_sentence(project, facetmt, tmp_path):
    done = facetmt("transfer", project / "nowhere")
    assert done.returncode == 2 and "there is no such run" in done.stderr
    run = project / "empty"
    run.mkdir()
    (run / "recipe.yaml").write_text((project / "recipe.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    (run / "pulls.csv").write_text("step\n", encoding="utf-8")
    done = facetmt("transfer", run)
    assert done.returncode == 2 and "holds no whole checkpoint: train it first" in done.stderr
    assert "Traceback" not in done.stderr and not (run / "transfer.json").exists()
