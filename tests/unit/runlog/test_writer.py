import json
import math

import numpy as np
import pytest

from facetmt.errors import UserError
from facetmt.runlog import METRICS, PROBS, PULLS, RECIPE, VALIDATION, Run, RunLog, SilentLog

FACETS = ("it", 'odd, "name"')


def written(directory, steps=3, log=None):
    log = log or RunLog(directory, FACETS, fresh=True)
    for step in range(1, steps + 1):
        log.pull(step, FACETS[step % 2], (0.5, 2.0 + step, 0.1 + 0.2, math.nan, 1.0))
        log.probs(step, np.array([0.25, 0.75]))
    log.metrics({"step": steps, "loss": math.nan, "nested": {"x": math.inf}})
    log.validation({"step": steps, "bleu": {"average": 12.5}})
    return log


def opened(directory):
    (directory / RECIPE).write_text("x", encoding="utf-8")
    return Run(directory)


def test_what_is_written_is_read_back_exactly(tmp_path):
    written(tmp_path).close()
    run = opened(tmp_path)
    assert run.facets == FACETS
    assert run.pulls.step.tolist() == [1, 2, 3]
    assert run.pulls.facet.tolist() == [1, 0, 1]
    assert run.pulls.after.tolist() == [0.1 + 0.2] * 3
    assert np.isnan(run.pulls.raw).all()
    steps, probs = run.probs
    assert steps.tolist() == [1, 2, 3] and probs.tolist() == [[0.25, 0.75]] * 3
    assert run.validation == [{"step": 3, "bleu": {"average": 12.5}}]


def test_json_holds_no_nan(tmp_path):
    written(tmp_path).close()
    assert json.loads((tmp_path / METRICS).read_text()) == {"step": 3, "loss": None, "nested": {"x": None}}


def test_cutting_back_gives_the_bytes_of_a_run_never_stopped(tmp_path):
    whole = written(tmp_path / "whole", 2)
    written(tmp_path / "whole", 2, whole)
    whole.close()
    broken = written(tmp_path / "broken", 2)
    position = broken.position()
    broken.pull(3, "it", (0.1, 0.2, 0.3, 0.4, 0.5))
    broken.metrics({"step": 3})
    broken.close()
    resumed = RunLog(tmp_path / "broken", FACETS, fresh=False)
    resumed.cut(position)
    written(tmp_path / "broken", 2, resumed)
    resumed.close()
    for name in (PULLS, PROBS, METRICS, VALIDATION):
        assert (tmp_path / "broken" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_a_log_that_lost_lines_is_an_error(tmp_path):
    log = written(tmp_path)
    position = log.position()
    log.close()
    (tmp_path / PULLS).write_text("step\n", encoding="utf-8")
    resumed = RunLog(tmp_path, FACETS, fresh=False)
    with pytest.raises(UserError, match=r"pulls\.csv: shorter than when the checkpoint was saved"):
        resumed.cut(position)
    resumed.close()


def test_a_fresh_log_forgets_an_old_one(tmp_path):
    written(tmp_path).close()
    RunLog(tmp_path, FACETS, fresh=True).close()
    assert len((tmp_path / PULLS).read_text(encoding="utf-8").splitlines()) == 1


def test_a_checkpoint_without_the_length_of_a_log_is_refused(tmp_path):
    log = written(tmp_path)
    position = log.position()
    del position[PROBS]
    with pytest.raises(UserError, match=r"probs\.csv: the checkpoint does not record its length; delete"):
        log.cut(position)
    log.close()


def test_a_silent_log_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    log = written(tmp_path, log=SilentLog())
    log.cut({PULLS: 10})
    assert log.position() == {}
    log.close()
    assert list(tmp_path.iterdir()) == []
