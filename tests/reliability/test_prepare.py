"""Preparing without disk space or killed in the middle, and stores damaged afterwards."""

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from facetmt.cli_data import data_verify
from facetmt.cli_data import prepare as prepare_recipe
from facetmt.data import build
from facetmt.data.config import VocabConfig
from facetmt.data.prepared import open_prepared
from facetmt.data.store import open_store
from facetmt.errors import UserError
from facetmt.train.session import check_fingerprint


def snapshot(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.stat().st_ino)
        for path in folder.rglob("*")
        if path.is_file()
    }


def child(tmp_path: Path, *before: str) -> subprocess.CompletedProcess[str]:
    """Prepare the corpus in its own process, after running some lines of code."""
    script = f"""
import os, resource, sys
from pathlib import Path
from facetmt.data import build, prepare
from facetmt.data.config import DataConfig, VocabConfig
from facetmt.errors import UserError
config = DataConfig(root="corpus", source="de", target="en", dev_pairs=7, max_length=40,
                    vocab=VocabConfig("bpe", 120, coverage=1.0))
{chr(10).join(before)}
try:
    prepare.prepare(config, Path({str(tmp_path)!r}), Path({str(tmp_path / "out")!r}))
except UserError as error:
    sys.exit(str(error))
"""
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("room", [600, 2500])
def test_row_30_without_room_nothing_half_made_is_opened_and_it_continues(
    corpus, prepare_corpus, tmp_path, room
):
    done = child(tmp_path, f"resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, {room}))")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert (
        f"{tmp_path / 'out'}: cannot be written (File too large); make room and prepare again" in done.stderr
    )
    with pytest.raises(UserError, match=r"no prepared corpus; run prepare first"):
        open_prepared(tmp_path / "out")
    resumed = prepare_corpus().fingerprint
    assert not list((tmp_path / "out").rglob(".*"))
    shutil.rmtree(tmp_path / "out")
    assert prepare_corpus().fingerprint == resumed


def test_row_30_a_full_disk_leaves_the_former_state(corpus, prepare_corpus, tmp_path, monkeypatch):
    first = prepare_corpus().fingerprint
    corpus("law", "train", 25, 5)
    real = build.StoreWriter.append

    def full(self, ids, lengths):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(build.StoreWriter, "append", full)
    with pytest.raises(UserError, match=r"out: cannot be written \(No space left on device\); make room"):
        prepare_corpus()
    assert open_prepared(tmp_path / "out").fingerprint == first
    assert not list((tmp_path / "out" / "facets").glob(".*"))
    monkeypatch.setattr(build.StoreWriter, "append", real)
    assert len(prepare_corpus().stores("train")[1]) == 25


MOMENTS = {
    "before the facets": ["prepare._build = lambda *given: os.kill(os.getpid(), 9)"],
    "between the facets": [
        "real = build.build_facet",
        "def once(*given):",
        "    real(*given)",
        "    os.kill(os.getpid(), 9)",
        "build.build_facet = once",
    ],
    "before the manifest": ["prepare._finish = lambda *given: os.kill(os.getpid(), 9)"],
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_row_30_killed_while_preparing_nothing_half_made_is_opened_and_it_continues(
    corpus, prepare_corpus, tmp_path, moment
):
    assert child(tmp_path, *MOMENTS[moment]).returncode == -9
    with pytest.raises(UserError, match="no prepared corpus"):
        open_prepared(tmp_path / "out")
    before = snapshot(tmp_path / "out" / "vocabulary")
    resumed = prepare_corpus()
    assert snapshot(tmp_path / "out" / "vocabulary") == before  # what was finished is not done again
    assert not list((tmp_path / "out").rglob(".*"))
    shutil.rmtree(tmp_path / "out")
    assert prepare_corpus().fingerprint == resumed.fingerprint


@pytest.mark.parametrize("damage", ["truncate", "empty", "delete"])
def test_row_04_a_truncated_or_missing_store_is_named_and_fixed_by_preparing(
    corpus, prepare_corpus, tmp_path, damage
):
    first = prepare_corpus().fingerprint
    for name in ("ids.bin", "offsets.bin", "header.json"):
        victim = tmp_path / "out" / "facets" / "it" / "train" / name
        content = victim.read_bytes()
        if damage == "delete":
            victim.unlink()
        else:
            os.truncate(victim, len(content) - 2 if damage == "truncate" else 0)
        with pytest.raises(UserError) as caught:
            open_prepared(tmp_path / "out")
        assert str(victim.parent) in str(caught.value) and "prepare" in str(caught.value)
        assert prepare_corpus().fingerprint == first


def test_row_04_a_flipped_bit_in_a_store_is_found_by_its_hash(corpus, prepare_corpus, tmp_path):
    prepare_corpus()
    for name in ("ids.bin", "offsets.bin"):
        store = open_store(tmp_path / "out" / "facets" / "law" / "train")
        store.verify()
        content = (store.path / name).read_bytes()
        for place in range(0, len(content), 97):
            flipped = bytearray(content)
            flipped[place] ^= 1 << place % 8
            (store.path / name).write_bytes(flipped)
            with pytest.raises(
                UserError, match=f"{store.path}: does not match its own hash; delete it and prep"
            ):
                store.verify()
        (store.path / name).write_bytes(content)


def test_row_04_other_prepared_files_are_checked_too(corpus, prepare_corpus, tmp_path):
    first = prepare_corpus().fingerprint
    out = tmp_path / "out"
    (out / "facets" / "it" / "facet.json").unlink()
    with pytest.raises(UserError, match=r"facet\.json: missing or damaged; prepare again"):
        open_prepared(out)
    assert prepare_corpus().fingerprint == first
    (out / "vocabulary" / "spm.model").write_bytes(b"x")
    with pytest.raises(UserError, match=r"the vocabulary is damaged; delete it and prepare again"):
        open_prepared(out)
    assert prepare_corpus().fingerprint == first
    (out / "prepared.json").write_text('{"version": 0}')
    with pytest.raises(UserError, match="another version of facetmt; prepare again"):
        open_prepared(out)
    (out / "prepared.json").write_text("{")
    with pytest.raises(UserError, match=r"prepared\.json: damaged; prepare again"):
        open_prepared(out)


def test_row_10_another_vocabulary_or_list_of_facets_is_named(corpus, prepare_corpus):
    first = prepare_corpus().fingerprint
    check_fingerprint(first, prepare_corpus().fingerprint)
    changes = {
        "vocabulary": {"vocab": VocabConfig("bpe", 100, coverage=1.0)},
        "facet law": {"facets": ("it",)},
    }
    for name, change in changes.items():
        with pytest.raises(UserError) as caught:
            check_fingerprint(first, prepare_corpus(**change).fingerprint)
        assert name in str(caught.value) and "restore the former text, or start a new run" in str(
            caught.value
        )
    corpus("news", "train", 20, 3)
    corpus("news", "dev", 6, 4)
    with pytest.raises(UserError, match="facet news, vocabulary"):
        check_fingerprint(first, prepare_corpus(facets=None).fingerprint)


def test_a_folder_that_runs_depend_on_is_only_overwritten_when_asked(corpus, tmp_path, refusal, monkeypatch):
    recipe = tmp_path / "recipe.yaml"
    settings = "dev_pairs: 7, vocab: {size: 120, kind: bpe, coverage: 1.0}"
    recipe.write_text(f"data: {{root: corpus, source: de, target: en, {settings}}}\n", encoding="utf-8")
    prepare_recipe(recipe)
    fewer = ("--set", "data.facets=[it]")
    for arguments in (("prepare", recipe, *fewer), ("train", recipe, "--run", tmp_path / "run", *fewer)):
        said = refusal(*arguments)
        assert "(data.facets: not set -> [it])" in said and "prepare --overwrite" in said
    assert [facet.name for facet in open_prepared(tmp_path / "prepared").facets] == ["it", "law"]
    assert not (tmp_path / "run").exists()
    prepare_recipe(recipe, overwrite=True, overrides=["data.facets=[it]"])
    assert [facet.name for facet in open_prepared(tmp_path / "prepared").facets] == ["it"]


def test_row_04_data_verify_names_every_damaged_store(corpus, prepare_corpus, refusal, tmp_path, capsys):
    prepared = prepare_corpus()
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("data: {root: corpus, source: de, target: en}\nprepared: out\n", encoding="utf-8")
    stores = [*prepared.stores("train"), *prepared.stores("dev")]
    size = sum((store.path / name).stat().st_size for store in stores for name in ("ids.bin", "offsets.bin"))
    assert prepared.verify() == size
    data_verify(recipe)
    assert capsys.readouterr().out.startswith("2 facets, 0.0 MB: all as they were written")
    victims = [stores[0].path, stores[-1].path]
    for victim in victims:
        content = bytearray((victim / "ids.bin").read_bytes())
        content[1] ^= 1
        (victim / "ids.bin").write_bytes(content)
    said = refusal("data", "verify", recipe)
    assert all(
        f"{victim}: does not match its own hash; delete it and prepare again" in said for victim in victims
    )
    for victim in victims:  # following the advice works
        shutil.rmtree(victim)
    assert prepare_corpus().verify() == size
