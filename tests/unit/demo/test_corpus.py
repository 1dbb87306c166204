"""The demo corpus: the same bytes for the same settings."""

import hashlib

import pytest

from facetmt.data.demo import DemoConfig, write

NOISY = {"noise": 0.2, "misaligned": 0.3}
# The sha256 of all files, each after its path: documents quote figures that were measured on this text.
PINNED = [
    ({}, "994510bc46f244a61f1b1fb6a801856ce889fefaeb146c8128a060d78ca426c0"),
    (NOISY, "b6d87fcb2d6be19b379c83340e93e1fee92fcc5cc1a2109bb9d2e2571d7c487e"),
    ({"translationese": True}, "a8a32c61260e5977b726dee5edb8465165015a0d7d1fe8a42bb7100c354b3feb"),
]


@pytest.mark.parametrize(("settings", "expected"), PINNED)
def test_the_same_settings_give_the_same_bytes(tmp_path, settings, expected):
    write(DemoConfig(size=150, dev=20, test=20, **settings), tmp_path)
    digest = hashlib.sha256()
    for path in sorted(path for path in tmp_path.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(tmp_path).as_posix()}\n".encode() + path.read_bytes())
    assert digest.hexdigest() == expected
