"""Exports opened by the real CTranslate2: the same translations as ours, or a refusal."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from facetmt.cli_data import prepare
from facetmt.demo.corpus import DemoConfig, write
from facetmt.errors import UserError
from facetmt.export.engine import open_engine
from facetmt.export.folder import is_export, open_export
from facetmt.export.run import CACHE, cached_export, export_run
from facetmt.recipe import load_recipe
from facetmt.train.best import open_best
from facetmt.train.restore import load_model
from facetmt.train.run import train
from facetmt.translate.evaluate import corpus_scores
from facetmt.translate.text import TextTranslator
from facetmt.translate.translate import Translator

pytest.importorskip("ctranslate2", reason="the adapters' libraries are missing: make test-adapters")

RECIPE = """\
data: {root: corpus, source: de, target: en, facets: [it], max_length: 40, dev_pairs: 12, vocab: {size: 500}}
batch: {rows: 16, length: 48}
model: {preset: tiny, width: 64, mlp: 128, heads: 2, encoder_layers: 1, decoder_layers: 1, dropout: 0.0}
schedule: {policy: mixed}
optimiser: {schedule: peak-rsqrt, learning_rate: 0.005, warmup: 30}
train: {steps: 160, validate_every: 80, keep_best: 2}
decode: {max_length: 40, max_ratio: 2.0, batch: 31}
"""
# both directions, tags for facet and language, the Moses steps, two vocabularies, an output of its own
RICH = """\
data:
  root: corpus
  pivot: en
  languages: [de]
  direction: many-to-many
  facets: [law_de-en, law_en-de]
  max_length: 40
  dev_pairs: 6
  vocab: {size: 400, joint: false}
  clean: {moses: true}
  tags: {facet: true}
batch: {rows: 8, length: 48}
model: {preset: tiny, width: 32, mlp: 64, heads: 2, encoder_layers: 1, decoder_layers: 2, tied: false}
schedule: {policy: mixed}
train: {steps: 4, validate_every: 4}
decode: {beam: 1, max_length: 16}
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    write(DemoConfig(size=1200, dev=12, test=500), folder / "corpus")
    return folder


def trained(folder: Path, name: str, recipe: str) -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(f"prepared: prepared-{name}\n{recipe}", encoding="utf-8")
    prepare(path)
    train(load_recipe(path), folder / name)
    return folder / name


@pytest.fixture(scope="module")
def run(corpus):
    return trained(corpus, "plain", RECIPE)


@pytest.fixture(scope="module")
def rich(corpus):
    return trained(corpus, "rich", RICH)


@pytest.fixture(scope="module")
def exported(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported") / "model"
    export_run(run, "ctranslate2", folder, "float32", [])
    return folder


def text_of(corpus: Path, facet: str, count: int) -> list[list[str]]:
    """The shortest pairs."""
    sides = ((corpus / "corpus" / facet / f"test.{side}").read_text("utf-8") for side in ("de", "en"))
    pairs = [pair for pair in zip(*(side.split("\n") for side in sides), strict=True) if pair[0]]
    return [list(side) for side in zip(*sorted(pairs, key=lambda pair: len(pair[0]))[:count], strict=True)]


def both(
    run: Path, folder: Path, lines: list[str], facet: str, settings: tuple[str, ...] = (), **more
) -> tuple[list[str], list[str]]:
    """Our translations, and the engine's."""
    model = load_model(run, settings)
    ours = Translator(model.graph, model.codec, model.decode).translate(model.params, lines, facet, **more)
    search, codec, decode = open_engine(folder, model.codec, model.decode)
    theirs = TextTranslator(search, codec, decode).n_best(lines, facet, 1, **more)
    return ours, [best[0].text for best in theirs]


def agreement(ours: list[str], theirs: list[str]) -> float:
    return sum(one == other for one, other in zip(ours, theirs, strict=True)) / len(ours)


def test_the_same_translations_as_ours_and_int8_is_close(corpus, run, exported, tmp_path):
    lines, references = text_of(corpus, "it", 500)
    exact, theirs = both(run, exported, lines, "it", ("decode.exact=true",))
    assert agreement(exact, theirs) >= 0.998
    ours, theirs = both(run, exported, lines, "it")
    bleu = [corpus_scores(outputs, references, "en")[0]["bleu"] for outputs in (ours, theirs)]
    assert bleu[0] > 15.0, "the model is too weak for the comparison to say anything"
    assert agreement(ours, theirs) >= 0.99
    assert abs(bleu[0] - bleu[1]) < 0.1
    export_run(run, "ctranslate2", tmp_path / "int8", "int8", [])
    assert (tmp_path / "int8" / "model.bin").stat().st_size < 0.6 * (exported / "model.bin").stat().st_size
    search, codec, decode = open_engine(tmp_path / "int8")
    small = [best[0].text for best in TextTranslator(search, codec, decode).n_best(lines, "it", 1)]
    assert abs(corpus_scores(small, references, "en")[0]["bleu"] - bleu[0]) < 0.5


ODD = ["", "   ", "\u200b", "</s> <unk> <pad> \u2603", "Er sagt: gut. " * 9, "."]
RAMBLING = "der " * 120  # its output is cut, and then the engine's score leaves out the end


@pytest.mark.parametrize(
    ("setting", "lines"), [("decode.beam=1", [*ODD, RAMBLING]), ("decode.exact=true", ODD)]
)
def test_odd_and_long_lines_give_one_line_each_as_ours_do(run, exported, setting, lines):
    ours, theirs = both(run, exported, lines, "it", (setting,))
    assert ours == theirs and ours[:3] == ["", "", ""] and all(ours[3:])


def test_several_hypotheses_come_in_the_order_of_our_penalty(run, exported):
    search, codec, decode = open_engine(exported, beam=5)
    (found,) = TextTranslator(search, codec, decode).n_best(["Der Mann sieht das Haus."], "it", 3)
    scores = [one.score for one in found]
    assert (
        len(found) == 3 and scores == sorted(scores, reverse=True) and len({one.text for one in found}) == 3
    )


def test_both_directions_tags_moses_and_two_vocabularies(corpus, rich, tmp_path):
    export_run(rich, "ctranslate2", tmp_path / "model", "float32", [])
    german, english = text_of(corpus, "law", 31)
    for lines, facet, tag in (
        (german, "law_de-en", None),
        (english, "law_en-de", None),
        (german, "law_de-en", "law_en-de"),
    ):
        ours, theirs = both(rich, tmp_path / "model", lines, facet, tag=tag)
        assert ours == theirs
    table = (tmp_path / "model" / "README.md").read_text("utf-8")
    assert "| law_en-de | en-de | `<2de>` `<facet:law_en-de>` |" in table


def python_of(folder: Path) -> str:
    (code,) = re.findall(r"```python\n(.*?)```", (folder / "README.md").read_text("utf-8"), re.S)
    return code


@pytest.mark.parametrize("which", ["run", "rich"])
def test_the_code_in_the_readme_runs(request, tmp_path, which):
    folder = tmp_path / "model"
    export_run(request.getfixturevalue(which), "ctranslate2", folder, "float32", [])
    done = subprocess.run(
        [sys.executable, "-c", python_of(folder)], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 1


CALL = """
import sys
from facetmt.cli import main
sys.argv = ["facetmt", *sys.argv[1:]]
try:
    main()
finally:
    print(*{"jax", "flax", "orbax"} & set(sys.modules), file=sys.stderr)
"""


def command(*arguments: object, text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", CALL, *map(str, arguments)], input=text, capture_output=True, text=True
    )


def test_a_run_is_exported_once_and_then_translated_without_jax(corpus, run):
    lines, _ = text_of(corpus, "it", 3)
    first = command("translate", run, "--engine", "ctranslate2", text="\n".join(lines) + "\n")
    assert first.returncode == 0, first.stderr
    (kept,) = (run / CACHE).glob("ctranslate2-*")
    before = (kept / "model.bin").stat().st_mtime_ns
    second = command("translate", run, "--engine", "ctranslate2", text="\n".join(lines) + "\n")
    assert second.stdout == first.stdout and len(first.stdout.splitlines()) == 3
    assert not {"jax", "flax", "orbax"} & set(second.stderr.split())
    assert (kept / "model.bin").stat().st_mtime_ns == before
    # the export alone does it too
    alone = command("translate", kept, "--engine", "ctranslate2", text="\n".join(lines) + "\n")
    assert alone.stdout == first.stdout
    refused = command("translate", kept, "--engine", "ctranslate2", "--set", "decode.beam=2", text="")
    assert refused.returncode == 2 and "whose settings are fixed" in refused.stderr


def test_processes_that_need_the_same_export_make_it_once(run, monkeypatch):
    shutil.rmtree(run / CACHE, ignore_errors=True)
    best = open_best(run)
    made = []
    original = sys.modules["facetmt.export.run"].write_ctranslate2

    def slow(*arguments):
        made.append(arguments)
        time.sleep(0.5)
        original(*arguments)

    monkeypatch.setattr("facetmt.export.run.write_ctranslate2", slow)
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(cached_export(best, "float32"))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1 and len(set(found)) == 1 and is_export(found[0])


def test_row_36_another_vocabulary_another_file_or_another_format_is_refused(exported, rich, tmp_path):
    def copy() -> Path:
        shutil.rmtree(tmp_path / "copy", ignore_errors=True)
        return shutil.copytree(exported, tmp_path / "copy")

    with pytest.raises(UserError, match="exported with another vocabulary"):
        open_engine(exported, load_model(rich).codec)
    folder = copy()
    shutil.rmtree(folder / "vocabulary")
    shutil.copytree(rich / "vocabulary", folder / "vocabulary")
    with pytest.raises(UserError, match=r"vocabulary.*not the file that was exported"):
        open_engine(folder)
    folder = copy()
    words = json.loads((folder / "shared_vocabulary.json").read_text("utf-8"))
    (folder / "shared_vocabulary.json").write_text(json.dumps([*words[:10], *words[:9:-1]]), encoding="utf-8")
    with pytest.raises(UserError, match=r"shared_vocabulary.json: missing, or not the file"):
        open_engine(folder)
    folder = copy()
    about = json.loads((folder / "facetmt.json").read_text("utf-8"))
    (folder / "facetmt.json").write_text(json.dumps({**about, "format": 99}), encoding="utf-8")
    with pytest.raises(UserError, match="has export format 99"):
        open_engine(folder)
    with pytest.raises(UserError, match="export again with --to safetensors"):
        open_export(exported, "safetensors")


def test_row_36_a_newer_engine_must_compute_the_same(exported, tmp_path):
    folder = shutil.copytree(exported, tmp_path / "copy")
    path = folder / "facetmt.json"
    about = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**about, "engine": "3.0.0"}), encoding="utf-8")
    open_engine(folder)  # another version, but the probe comes out right
    about["probe"][0]["log_probability"][2] += 0.5
    path.write_text(json.dumps({**about, "engine": "3.0.0"}), encoding="utf-8")
    with pytest.raises(UserError, match=r"does not compute what .* differ by up to 0\.5"):
        open_engine(folder)


def test_longer_texts_than_were_exported_for_are_refused(exported, run):
    best = open_best(run, ["decode.max_length=5000"])
    with pytest.raises(UserError, match="at most 1024 tokens, but decode asks for 5000"):
        open_engine(exported, best.codec, best.decode)


def test_nothing_is_overwritten_and_nothing_half_written_is_left(run, tmp_path, monkeypatch):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(UserError, match="already exists; name a new folder"):
        export_run(run, "ctranslate2", tmp_path / "full", "float32", [])
    with pytest.raises(UserError, match="--quantization int4: choose one of float32"):
        export_run(run, "ctranslate2", tmp_path / "new", "int4", [])

    def fails(*arguments, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr("facetmt.export.run.finish", fails)
    with pytest.raises(KeyboardInterrupt):
        export_run(run, "ctranslate2", tmp_path / "new", "float32", [])
    assert [path.name for path in tmp_path.iterdir()] == ["full"]
    assert os.listdir(tmp_path / "full") == ["notes.txt"]


def test_a_kill_leaves_nothing_under_the_name(run, tmp_path):
    child = subprocess.Popen(
        [sys.executable, "-m", "facetmt", "export", run, "--to", "ctranslate2", "--out", tmp_path / "model"]
    )
    while child.poll() is None and not list(tmp_path.glob(".model.*.partial")):
        time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert not (tmp_path / "model").exists() or is_export(tmp_path / "model")
