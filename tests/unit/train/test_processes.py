"""What needs no second process: refusals, exit codes, the digest, and being alone."""

import numpy as np
import pytest

from facetmt.errors import UserError
from facetmt.train import processes
from facetmt.train.interrupt import Interrupt
from facetmt.train.processes import LOST, Agreement, Cluster, first_line, leave, on_first_process, one_of_many


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("node0:1234", None, None), "together"),
        ((None, 2, 1), "together"),
        (("node0:1234", 2, 2), "--process is 2, but 2 processes are numbered 0 to 1"),
        (("node0:1234", 2, -1), "--process is -1"),
        (("node0", 2, 1), "write it as HOST:PORT"),
    ],
)
def test_contradictory_options_are_refused(options, complaint):
    with pytest.raises(UserError, match=complaint):
        Cluster(*options)


def test_options_that_agree_are_taken():
    assert Cluster("node0:12345", 2, 1).process == 1
    assert Cluster().address is None


def test_the_digest_depends_on_pulls_and_rewards():
    seen = []
    for values in ((1, 0, 0.5), (1, 0, 0.5), (1, 1, 0.5), (1, 0, np.nextafter(0.5, 1))):
        agreement = Agreement(Interrupt(), every=1)
        agreement.record(*values)
        seen.append(agreement._history.digest())
    assert seen[0] == seen[1] and len(set(seen)) == 3


def test_the_first_line_of_an_error_is_short_and_never_empty():
    assert first_line(ValueError("one\ntwo")) == "one"
    assert first_line(TimeoutError()) == "TimeoutError"
    assert first_line(ValueError("x" * 900)) == "x" * 200


def caused(error, cause):
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (UserError("a.yaml: no such key; fix it"), 2, "facetmt: a.yaml: no such key; fix it\n"),
        (RuntimeError("Gloo: closed by peer\nmore"), LOST, "lost another one (Gloo: closed by peer)"),
        (caused(UserError("could not save"), OSError("UNAVAILABLE: peer")), LOST, "(UNAVAILABLE: peer)"),
        (caused(UserError("no room left"), OSError("disk full")), 2, "facetmt: no room left\n"),
        (ZeroDivisionError("by zero"), 1, "facetmt: process 0 of 1 failed\n"),
    ],
)
def test_a_process_that_leaves_says_why_with_its_exit_code(monkeypatch, capsys, error, code, said):
    def end(status):
        raise SystemExit(status)

    monkeypatch.setattr(processes.os, "_exit", end)
    with pytest.raises(SystemExit) as left:
        leave(error)
    text = capsys.readouterr().err
    assert left.value.code == code and said in text
    assert ("by zero" in text) == (code == 1)  # the traceback, where it is a fault of the program


def test_alone_it_is_the_first_process_and_does_its_work_itself():
    assert not processes.several() and processes.is_first_process()
    answer = object()  # nothing that could be sent to others
    assert on_first_process(lambda: answer) is answer
    with pytest.raises(ZeroDivisionError), one_of_many(None):
        on_first_process(lambda: 1 // 0)
