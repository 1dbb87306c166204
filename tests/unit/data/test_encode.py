import numpy as np
import pytest

from facetmt.data.batch import EOS
from facetmt.data.chunks import Chunk, Files
from facetmt.data.clean import CleanConfig, Cleaner
from facetmt.data.codec import Codec, save_codec
from facetmt.data.corpus import Facet, TagConfig
from facetmt.data.encode import EncodeJob, encode_chunk
from facetmt.data.vocab import VocabConfig, Vocabulary, train_model

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
