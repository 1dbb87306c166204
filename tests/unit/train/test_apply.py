"""What is said before and after scoring; translating itself has tests of its own."""

import os
from pathlib import Path
from types import SimpleNamespace

from facetmt.data.corpus import Facet
from facetmt.train.apply import evaluation_notes, print_scores
from facetmt.train.standard_input import regular_size

MODEL = SimpleNamespace(
    steps=(400,),
    trained_steps=600,
    codec=SimpleNamespace(facets=[Facet("it", "de", "en")]),
    fingerprint={"facet it": "x"},
)
ABOUT = {"steps": [400], "tag": None}


def notes(fingerprint="x", validated=(200, 400), before=None):
    prepared = SimpleNamespace(directory=Path("prepared"), fingerprint={"facet it": fingerprint})
    run = SimpleNamespace(
        validation=[{"step": step} for step in validated],
        outcomes=lambda: {} if before is None else {"": before},
        directory=Path("run"),
    )
    return evaluation_notes(MODEL, prepared, run, "", ABOUT, [])


def test_the_checkpoint_is_named_and_why_it_was_chosen():
    assert notes() == ["scoring the checkpoint of step 400 (best by dev BLEU; trained to step 600)"]
    assert "(no validation yet; trained" in notes(validated=())[0]


def test_what_changed_since_is_said():
    assert "prepared was prepared again after the run was trained (facet it changed)" in notes("y")[1]
    assert len(notes(before={**ABOUT, "facets": {}})) == 1
    (_, said) = notes(before={**ABOUT, "tag": "law"})
    assert said.startswith("run/scores.json is replaced") and "(tag was law); use --name NAME" in said


def test_the_table_has_facets_groups_and_the_average(capsys):
    row = {"bleu": 12.345, "chrf": 34.5}
    print_scores(
        {
            "facets": {"[bold]": row},
            "groups": {"low": row},
            "average": row,
            "signature": {"bleu": "nrefs:1"},
            "signature_of": {"[bold]": {"bleu": "nrefs:2"}},
        },
        Path("run"),
    )
    said = capsys.readouterr().out
    assert all(text in said for text in ("[bold]", "group low", "average", "12.35", "34.50", "of run"))
    assert said.endswith("BLEU nrefs:1\nBLEU of [bold] nrefs:2\n")


def test_only_a_regular_file_has_a_size(tmp_path):
    (tmp_path / "text").write_bytes(b"12345")
    with (tmp_path / "text").open("rb") as file:
        assert regular_size(file.fileno()) == 5
    reader, writer = os.pipe()
    assert regular_size(reader) is None
    os.close(reader)
    os.close(writer)
