"""Cores are shared out evenly, and a process gets only its own."""

import os
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facetmt.study.cores import all_cores, shared_out, start_on


@given(st.integers(1, 64), st.integers(1, 80))
def test_every_core_is_used_and_none_by_two_where_there_are_enough(cores, jobs):
    shares = shared_out(list(range(cores)), jobs)
    assert len(shares) == jobs and all(shares)
    used = [core for share in shares for core in share]
    assert set(used) == set(range(cores))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1
    if jobs <= cores:
        assert len(used) == cores
    else:
        assert max(map(used.count, set(used))) - min(map(used.count, set(used))) <= 1


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system cannot bind processes to cores")
def test_a_process_is_bound_and_this_one_is_not(tmp_path):
    before = all_cores()
    code = "import os; print(*os.sched_getaffinity(0), os.environ['NPROC'], os.getsid(0) == os.getpid())"
    with (tmp_path / "log").open("ab") as output:
        process = start_on(before[-1:], [sys.executable, "-c", code], output)
        assert process.wait(timeout=60) == 0
    assert (tmp_path / "log").read_text("utf-8").split() == [str(before[-1]), "1", "True"]
    assert all_cores() == before


def test_a_command_that_cannot_start_leaves_this_process_unbound(tmp_path):
    before = all_cores()
    with (tmp_path / "log").open("ab") as output, pytest.raises(OSError):
        start_on(before[:1], [str(tmp_path / "no such program")], output)
    assert all_cores() == before
