import json
import os
import shutil
from dataclasses import asdict, replace

import pytest

from facetmt.data.codec import open_codec
from facetmt.data.config import CleanConfig, DataConfig, FacetConfig, TagConfig, VocabConfig
from facetmt.data.corpus import Facet
from facetmt.data.prepare import prepare, vocabulary_settings
from facetmt.data.prepared import open_prepared
from facetmt.data.stats import losses, stats
from facetmt.errors import UserError
from facetmt.files import sha256_of

CONFIG = DataConfig(
    root="corpus",
    source="de",
    target="en",
    dev_pairs=7,
    max_length=40,
    vocab=VocabConfig("bpe", 120, coverage=1.0),
)


@pytest.fixture
def run(tmp_path):
    def go(config=CONFIG, **more):
        return prepare(config, tmp_path, tmp_path / "out", **more)

    return go


def snapshot(folder):
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.stat().st_ino)
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_everything_is_there_and_means_the_text(corpus, run, tmp_path, sentences):
    prepared = run()
    assert [facet.name for facet in prepared.facets] == ["it", "law"]
    assert [len(store) for store in prepared.stores("train")] == [60, 20]
    german, english = sentences(60)
    for index in (0, 31, 59):
        source, target = prepared.stores("train")[0].pair(index)
        assert prepared.vocabulary.decode([source], "source") == [german[index]]
        assert prepared.codec.decode([target], "it") == [english[index]]
    assert prepared.text("law", "test") == sentences(4, 7)
    assert prepared.text("it", "dev") == sentences(9, 1)
    assert [len(chosen) for chosen in prepared.dev.chosen] == [7, 6]
    assert prepared.dev_text("law") == sentences(6, 6)
    source, _ = prepared.dev_text("it")
    assert source == [sentences(9, 1)[0][i] for i in prepared.dev.chosen[0]]
    assert set(prepared.fingerprint) == {"vocabulary", "dev set", "facet it", "facet law"}
    prepared.copy_vocabulary(tmp_path / "run")
    assert open_codec(tmp_path / "run").vocabulary.fingerprint == prepared.fingerprint["vocabulary"]


def test_nothing_is_done_again_when_nothing_changed(corpus, run, tmp_path):
    first = run().fingerprint
    before = snapshot(tmp_path / "out")
    steps = []
    assert run(progress=lambda *step: steps.append(step)).fingerprint == first
    assert snapshot(tmp_path / "out") == before and steps == []
    # another time of change with the same content is no change either
    os.utime(tmp_path / "corpus" / "it" / "train.de", ns=(1, 1))
    run()
    assert snapshot(tmp_path / "out") == before


def test_only_the_changed_facet_is_rebuilt(corpus, run, tmp_path):
    first = run().fingerprint
    before = snapshot(tmp_path / "out")
    corpus("law", "train", 21, 5)
    prepared = run()
    changed = {
        name.split("/")[1]
        for name, state in snapshot(tmp_path / "out").items()
        if before.get(name) != state and name.startswith("facets/")
    }
    assert changed == {"law"}
    assert {k for k, v in prepared.fingerprint.items() if v != first[k]} == {"facet law"}
    assert len(prepared.stores("train")[1]) == 21


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"max_length": 8}, {"dev set", "facet it", "facet law"}),
        ({"dev_pairs": 3}, {"dev set"}),
        ({"vocab": VocabConfig("bpe", 100, coverage=1.0)}, {"vocabulary", "facet it", "facet law"}),
        ({"tags": TagConfig(facet=True)}, {"vocabulary", "facet it", "facet law"}),
        ({"limit": 30}, {"facet it"}),
        ({"errors": "replace"}, set()),
    ],
)
def test_settings_change_what_depends_on_them(corpus, run, change, parts):
    first = run().fingerprint
    second = run(replace(CONFIG, **change), overwrite=True).fingerprint
    assert {name for name in first if first[name] != second.get(name)} == parts


def test_the_order_of_facets_is_the_recipes_and_changes_nothing_else(corpus, run):
    first = run()
    second = run(replace(CONFIG, facets=("law", "it")), overwrite=True)
    assert [facet.name for facet in second.facets] == ["law", "it"]
    assert {k: v for k, v in second.fingerprint.items() if k != "dev set"} == {
        k: v for k, v in first.fingerprint.items() if k != "dev set"
    }


def test_a_facet_that_left_the_recipe_leaves_the_folder(corpus, run, tmp_path):
    run()
    run(replace(CONFIG, facets=("law",)), overwrite=True)
    assert [path.name for path in (tmp_path / "out" / "facets").iterdir()] == ["law"]


def test_processes_give_the_same_as_one(corpus, run, tmp_path):
    alone = run(workers=1).fingerprint
    shutil.rmtree(tmp_path / "out")
    assert run(workers=2).fingerprint == alone


def test_what_was_dropped_is_reported_and_counted(corpus, run, tmp_path, write_lines, sentences):
    german, english = sentences(10)
    german[2], english[5] = "", "   "
    german[7] = "haus " * 50
    english[8] = "tree " * 10_000
    write_lines(tmp_path / "corpus" / "it" / "train.de", german)
    write_lines(tmp_path / "corpus" / "it" / "train.en", english)
    prepared = run()
    dropped = {"blank": 2, "too long (bytes)": 1, "too long (subwords)": 1}
    assert prepared.reports["it"]["train"] == {"read": 10, "kept": 6, "dropped": dropped}
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report == prepared.reports
    whole, rows = stats(prepared)
    assert (rows[0].pairs, rows[0].dropped, rows[0].test_pairs) == (6, {"train": dropped}, 4)
    assert (whole.facets, whole.language_pairs, whole.pairs) == (2, 1, 26)
    assert whole.dropped == {"train": dropped} and 0 < whole.entropy < 100
    assert whole.source_tokens == sum(store.header.source_tokens for store in prepared.stores("train"))


def test_a_facet_that_lost_much_for_its_length_is_named(corpus, run, tmp_path, write_lines, sentences):
    german, english = sentences(10)
    write_lines(tmp_path / "corpus" / "it" / "train.de", german)
    for long, said in (
        (2, []),
        (3, ["facet it: 3 of 10 train pairs (30%) were dropped as too long (subwords)"]),
    ):
        write_lines(tmp_path / "corpus" / "it" / "train.en", [*english[long:], *["tree " * 50] * long])
        assert [warning.split(";")[0] for warning in losses(run())] == said


def test_each_facet_gives_what_it_has_to_the_dev_set_and_earlier_folders_keep_theirs(corpus, run, tmp_path):
    first = run()
    assert [len(chosen) for chosen in first.dev.chosen] == [7, 6]
    path = tmp_path / "out" / "prepared.json"
    manifest = json.loads(path.read_text("utf-8"))
    old = {key: manifest[key] for key in ("version", "dev_pairs", "seed", "facets")}
    path.write_text(json.dumps(old), "utf-8")  # as earlier versions wrote it
    assert [len(chosen) for chosen in open_prepared(tmp_path / "out").dev.chosen] == [6, 6]
    kept = run()
    assert [len(chosen) for chosen in kept.dev.chosen] == [6, 6]
    assert kept.fingerprint["dev set"] != first.fingerprint["dev set"]
    assert run().fingerprint == kept.fingerprint
    assert run(overwrite=True).fingerprint == first.fingerprint


def test_a_folder_of_other_settings_is_not_overwritten(corpus, run, tmp_path):
    run()
    before = snapshot(tmp_path / "out")
    for change, said in (
        ({"facets": ("it",)}, r"data\.facets: not set -> \[it\]"),
        ({"dev_pairs": 3}, r"data\.dev_pairs: 7 -> 3"),
        ({"vocab": VocabConfig("bpe", 100, coverage=1.0)}, r"data\.vocab\.size: 120 -> 100"),
        ({"facets": {"it": FacetConfig(limit=5)}}, r"data\.facets: not set -> \[it \{limit: 5\}\]"),
    ):
        with pytest.raises(UserError, match=rf"other settings \({said}\); give another .* --overwrite"):
            run(replace(CONFIG, **change))
    assert snapshot(tmp_path / "out") == before
    corpus("law", "train", 25, 5)  # other text with the same settings is taken up
    assert len(run().stores("train")[1]) == 25


def test_what_an_earlier_version_learned_is_not_learned_again():
    names = [["it", "de", "en"]]
    for balance, before in (("facet", True), ("none", False)):
        config = replace(CONFIG, vocab=VocabConfig(balance=balance))
        old = [1, {**asdict(config.vocab), "balance": before}, False, asdict(config.tags), 1, names]
        assert vocabulary_settings(config, [Facet("it", "de", "en")]) == sha256_of(old)


def test_a_folder_of_an_earlier_version_does_not_lose_facets_silently(corpus, run, tmp_path):
    run()
    path = tmp_path / "out" / "prepared.json"
    manifest = json.loads(path.read_text("utf-8"))
    del manifest["settings"]
    path.write_text(json.dumps(manifest), "utf-8")
    with pytest.raises(UserError, match=r"data\.facets: \[it, law\] -> \[it\]"):
        run(replace(CONFIG, facets=("it",)))
    with pytest.raises(UserError, match=r"data\.dev_pairs: 7 -> 3"):
        run(replace(CONFIG, dev_pairs=3))
    run()
    assert json.loads(path.read_text("utf-8"))["settings"]["vocab.size"] == 120


def test_target_tags_come_by_themselves_where_there_are_several_targets(
    tmp_path, run, write_lines, sentences
):
    for split in ("train", "dev"):
        for language, lines in zip(("de", "en"), sentences(30), strict=True):
            write_lines(tmp_path / "corpus" / "x" / f"{split}.{language}", lines)
    both = replace(CONFIG, source=None, target=None, pivot="en", direction="many-to-many")
    prepared = run(both)
    assert prepared.vocabulary.tags == ["<2de>", "<2en>"]
    assert prepared.stores("train")[0].pair(0)[0][0] == prepared.vocabulary.tag("<2en>")
    assert prepared.codec.prefix("x_en-de") == [prepared.vocabulary.tag("<2de>")]
    assert run(replace(both, direction="many-to-one"), overwrite=True).vocabulary.tags == []


def test_moses_is_undone_in_the_output(corpus, run):
    prepared = run(replace(CONFIG, clean=CleanConfig(moses=True, max_words=50)))
    assert prepared.cleaner.moses
    target = prepared.stores("train")[0].pair(0)[1]
    assert prepared.codec.decode([target], "it") == ["The haus theis the auto number 0"]


def test_a_prepared_folder_may_be_moved(corpus, run, tmp_path):
    first = run().fingerprint
    shutil.move(tmp_path / "out", tmp_path / "elsewhere")
    shutil.move(tmp_path / "corpus", tmp_path / "text")
    assert open_prepared(tmp_path / "elsewhere").fingerprint == first
    before = snapshot(tmp_path / "elsewhere")
    prepare(replace(CONFIG, root="text"), tmp_path, tmp_path / "elsewhere")
    assert snapshot(tmp_path / "elsewhere") == before


def test_progress_tells_every_stage_to_its_end(corpus, run):
    steps = []
    run(progress=lambda *step: steps.append(step))
    assert list(dict.fromkeys(step[0] for step in steps)) == ["scan", "sample", "vocabulary", "encode"]
    for stage in ("scan", "sample", "vocabulary", "encode"):
        last = [step for step in steps if step[0] == stage][-1]
        assert last[1] == last[2] > 0


def test_only_what_prepare_wrote_is_ever_removed(corpus, run, tmp_path):
    run()
    mine = tmp_path / "out" / "facets" / "holiday photos"
    mine.mkdir()
    (mine / "beach.jpg").write_bytes(b"x")
    (tmp_path / "out" / "facets" / ".law-left-by-a-crash").mkdir()
    run(replace(CONFIG, facets=("it",)), overwrite=True)
    assert sorted(path.name for path in mine.parent.iterdir()) == ["holiday photos", "it"]
