import numpy as np
import pytest

from facetmt.data.batch import EOS
from facetmt.data.chunks import Chunk, Files
from facetmt.data.clean import Cleaner, train_truecaser
from facetmt.data.codec import Codec, open_codec, save_codec, tag_names, truecaser_path
from facetmt.data.config import CleanConfig, TagConfig, VocabConfig
from facetmt.data.corpus import Facet
from facetmt.data.encode import EncodeJob, encode_chunk
from facetmt.data.vocab import Vocabulary, train_model

TEXT = ["eins zwei drei vier", "one two three four"]


@pytest.fixture
def job(tmp_path):
    vocabulary = Vocabulary([train_model(TEXT * 5, VocabConfig("bpe", 36, coverage=1.0))], ["<2en>"])
    save_codec(Codec(vocabulary, Cleaner(False), [Facet("it", "de", "en")], TagConfig(True)), tmp_path)

    def make(pairs, split="train", **more):
        chunk = Chunk(
            [*range(1, len(pairs) + 1)], [p[0] for p in pairs], [p[1] for p in pairs], {"filtered": 2}
        )
        files = Files(tmp_path / "t.de", tmp_path / "t.en")
        values = {"errors": "strict", "clean": CleanConfig(), "max_length": 100, **more}
        return EncodeJob("it", split, chunk, files, tmp_path, **values)

    make.vocabulary = vocabulary
    return make


def test_pairs_are_interleaved_with_tags_and_ends(job):
    encoded = encode_chunk(job([(b"eins zwei", b"one"), (b"drei", b"three four")]))
    ids = [job.vocabulary.encode([text])[0] for text in ("eins zwei", "one", "drei", "three four")]
    tag = job.vocabulary.tag("<2en>")
    whole = [[tag, *ids[0], EOS], [*ids[1], EOS], [tag, *ids[2], EOS], [*ids[3], EOS]]
    assert encoded.ids.tolist() == [index for part in whole for index in part]
    assert encoded.ids.dtype == np.uint16
    assert encoded.lengths.ravel().tolist() == [len(part) for part in whole]
    assert encoded.text == [] and encoded.read == 4 and encoded.dropped == {"filtered": 2}


def test_what_is_dropped_is_counted_by_reason(job):
    pairs = [
        (b"eins", b"one"),
        (b"eins " * 60, b"one"),
        (b"", b"one"),
        (None, b"one"),
        (b"eins zwei drei vier", b"one"),
        (b"zwei", b"two"),
    ]
    encoded = encode_chunk(job(pairs, "dev", clean=CleanConfig(max_words=20, max_ratio=3)))
    assert encoded.dropped == {
        "filtered": 2,
        "too long (words)": 1,
        "blank": 1,
        "too long (bytes)": 1,
        "ratio": 1,
    }
    assert [pair.line for pair in encoded.text] == [1, 6] and len(encoded.lengths) == 2
    short = encode_chunk(job(pairs, "dev", max_length=int(encoded.lengths.max())))
    assert short.text == encoded.text
    none = encode_chunk(job(pairs, "dev", max_length=2))
    assert none.text == [] and none.ids.tolist() == [] and none.dropped["too long (subwords)"] == 4


def test_test_text_is_kept_however_long(job):
    pairs = [(b"eins " * 500, b"one"), (b"", b"two")]
    encoded = encode_chunk(job(pairs, "test", max_length=3, clean=CleanConfig(max_words=2)))
    assert encoded.text == [("eins " * 500, "one", 1)]
    assert encoded.dropped == {"filtered": 2, "blank": 1}


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize(
    "tags", [TagConfig(False), TagConfig(True), TagConfig(True, True), TagConfig(False, True)]
)
@pytest.mark.parametrize("moses", [True, False])
def test_text_becomes_the_same_ids_in_training_and_in_translation(tmp_path, kind, joint, tags, moses):
    facet = Facet("it", "de", "en")
    sides = [TEXT * 5] if joint else [TEXT[:1] * 5, TEXT[1:] * 5]
    models = [train_model(side, VocabConfig(kind, 30, coverage=1.0, exact=False)) for side in sides]
    truecasers = {language: truecaser_path(tmp_path, language) for language in ("de", "en")}
    for path in truecasers.values():
        train_truecaser([f"x {line}" for line in TEXT], path)
    vocabulary = Vocabulary(models, tag_names(facet, tags))
    save_codec(Codec(vocabulary, Cleaner(moses, truecasers if moses else {}), [facet], tags), tmp_path)
    pairs = [("Eins, zwei", "\ufeffOne,\ttwo"), (" drei\u200b vier ", "<2en> „three“ four."), ("z" * 40, "é")]
    chunk = Chunk([1, 2, 3], [s.encode() for s, _ in pairs], [t.encode() for _, t in pairs], {})
    files = Files(tmp_path / "t.de", tmp_path / "t.en")
    trained = encode_chunk(
        EncodeJob("it", "train", chunk, files, tmp_path, "strict", CleanConfig(moses), 200)
    )
    codec = open_codec(tmp_path)
    source = codec.encode_source([source for source, _ in pairs], "it")
    target = codec.encode_target([target for _, target in pairs], "it")
    assert trained.lengths.tolist() == [[len(s), len(t)] for s, t in zip(source, target, strict=True)]
    whole = [index for pair in zip(source, target, strict=True) for side in pair for index in side]
    assert trained.ids.tolist() == whole
    assert [line[: len(vocabulary.tags)] for line in source] == [codec.prefix("it")] * 3
