import json

from facetmt.report.digest import digest
from facetmt.report.figures.heat import transfer
from facetmt.runlog import TRANSFER, Run


def test_cells_keep_their_place_and_names_are_not_markup(fake, tmp_path):
    directory = fake.write_run(tmp_path / "run", steps=40, sentences=2, validations=1)
    assert transfer(digest(Run(directory))) is None
    planes = {
        name: [[1.5, 0.5], [None, None]]
        for name in ("matrix", "errors", "freedom", "over_own", "over_own_errors", "over_own_freedom")
    }
    found = {"rows": ["a", "<b>"], "columns": ["a", "<b>"], "step": 1, "trained_steps": 1, "left_out": {}}
    (directory / TRANSFER).write_text(json.dumps({**found, **planes}), encoding="utf-8")
    (trace,) = transfer(digest(Run(directory))).data
    assert [list(row) for row in trace.z] == [[1.5, 0.5], [None, None]]
    assert list(trace.y) == ["a", "&lt;b&gt;"] and trace.customdata[0][1] == "0.50 ± 0.50"
    assert trace.zmin == 0.5 and trace.zmax == 1.5  # the average, 1, is in the middle of the scale
