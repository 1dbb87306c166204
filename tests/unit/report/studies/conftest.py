"""The folder of a study whose cells are generated run directories; nothing is trained."""

import json

import pytest

from facetmt.report.studies.folder import Cell, System, study_json

STEPS = 60
SYSTEMS = {
    "uniform": (
        System("{schedule: {policy: static, tau: .inf}}", (1,)),
        {"policy": "static", "tau": float("inf")},
    ),
    "take-it-all": (System("{schedule: {policy: mixed}}", (1, 2, 3)), {"policy": "mixed"}),
    "EXP3 | <b>": (System("{schedule: {policy: exp3}}", (1, 2, 3)), {"policy": "exp3"}),
    "late": (System("{schedule: {policy: odm}}", (1,)), None),  # not run yet
}
BASE = "data: {root: /home/someone/text, source: de, target: en}\nprepared: /home/someone/stores\n"


def write_study(folder, fake):
    """A study of four systems, of which one has not started; returns its folder."""
    folder.mkdir()
    systems = {name: system for name, (system, _) in SYSTEMS.items()}
    (folder / "study.json").write_text(study_json(BASE, "take-it-all", systems), encoding="utf-8")
    for name, (system, settings) in SYSTEMS.items():
        for seed in system.seeds if settings else ():
            cell = Cell(name, seed)
            fake.write_run(
                cell.run(folder), steps=STEPS, seed=seed, sentences=12, validations=6, log_every=5, **settings
            )
            fake.change_scores(cell.run(folder), trained_steps=STEPS)
            cell.about(folder).write_text(json.dumps([{"facetmt": "0.2.0", "cores": 1}]), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def study_dir(tmp_path_factory, fake):
    return write_study(tmp_path_factory.mktemp("studies") / "A", fake)


@pytest.fixture(scope="session")
def content(study_dir):
    """The summary of the study, as tables read it."""
    from facetmt.report.studies.folder import open_folder
    from facetmt.report.studies.kept import as_text
    from facetmt.report.studies.summary import summary

    return json.loads(as_text(summary(open_folder(study_dir))))
