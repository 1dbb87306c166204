"""Archives that are too large, damaged or contradictory; row 27 has the malicious ones."""

import io
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facetmt.errors import UserError
from facetmt.fetch import unpack as module
from facetmt.fetch.unpack import unpack


@pytest.mark.parametrize("kind", ["data.zip", "data.tgz"])
def test_size_and_number_of_files_are_capped(tmp_path, kind, monkeypatch, pack):
    archive = tmp_path / kind
    archive.write_bytes(pack(kind, {f"{number}": b"0" * 1000 for number in range(9)}))
    with pytest.raises(UserError, match="more than 5,000 bytes"):
        unpack(archive, tmp_path / "small", 5000)
    monkeypatch.setattr(module, "MAX_FILES", 8)
    with pytest.raises(UserError, match="more than 8 files"):
        unpack(archive, tmp_path / "many", 10**6)


def test_a_name_that_occurs_twice_is_refused(tmp_path):
    with tarfile.open(tmp_path / "data.tar", "w") as archive:
        for text in (b"one", b"two"):
            info = tarfile.TarInfo("same")
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text))
    with pytest.raises(UserError, match="twice"):
        unpack(tmp_path / "data.tar", tmp_path / "in", 10**6)


@given(cut=st.floats(0.05, 0.98), kind=st.sampled_from(["data.zip", "data.tgz"]))
def test_a_truncated_archive_is_a_users_error(tmp_path_factory, cut, kind, pack):
    folder = tmp_path_factory.mktemp("cut")
    content = {f"file{number}": bytes(range(256)) * 20 for number in range(3)}
    whole = pack(kind, content)
    (folder / kind).write_bytes(whole[: int(cut * len(whole))])
    with pytest.raises(UserError, match="not a whole archive"):
        unpack(folder / kind, folder / "in", 10**6)


def test_only_the_members_asked_for_come_out(tmp_path, pack):
    (tmp_path / "data.tgz").write_bytes(pack("data.tgz", {"./cc.de-en.de": b"a", "cc.fr-en.fr": b"b"}))
    unpack(tmp_path / "data.tgz", tmp_path / "in", 10**6, only="cc.de-en.*")
    assert [path.name for path in (tmp_path / "in").iterdir()] == ["cc.de-en.de"]
