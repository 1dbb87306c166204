from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from facetmt.data.names import check_facets, check_name, fault
from facetmt.errors import UserError

BAD = [
    "",
    ".",
    "..",
    "../x",
    "a/b",
    "/etc",
    "a\\b",
    "c:x",
    ".hidden",
    " a",
    "a ",
    "a\n",
    "a\0",
    "<2de>",
    "x" * 101,
]


@pytest.mark.parametrize("name", [*BAD, None, 3, ["a"]])
def test_a_name_that_could_lead_elsewhere_is_refused_with_the_reason(name):
    assert fault(name)
    with pytest.raises(UserError, match=r"cannot name a language because .*; rename it"):
        check_name(name, "language")


@given(st.text(max_size=12) | st.text(st.sampled_from("./\\:a~$ \0"), max_size=6))
@example("a..b")
@example("de-en")
def test_what_is_not_refused_is_one_step_down_on_every_system(name):
    if fault(name) is None:
        for kind in (PurePosixPath, PureWindowsPath):
            assert (kind("base") / name).parts == ("base", name)
            assert (kind("base") / f"truecase.{name}.txt").parent == kind("base")
        assert Path("base", name).resolve().parent == Path("base").resolve()


def test_facets_are_different_folders_on_every_system():
    check_facets(["it", "law", "IT2"])
    with pytest.raises(UserError, match="the facet it is listed twice"):
        check_facets(["it", "law", "it"])
    with pytest.raises(UserError, match="the facets it and IT differ in case alone"):
        check_facets(["it", "IT"])
