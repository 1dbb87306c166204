from facetmt.report.outcomes import plain
from facetmt.report.significance import Comparison, agreed, compared, interval, of_mean, paired_test, partners
from facetmt.runlog import Run


def test_a_clear_difference_is_significant_and_a_copy_is_not(fake, seeds, tmp_path):
    perfect = fake.rewritten(
        seeds[0], tmp_path / "perfect", lambda row: {**row, "hypothesis": row["reference"]}
    )
    same = fake.rewritten(seeds[0], tmp_path / "same", lambda row: row)
    result = paired_test(plain(seeds[0]), plain(perfect), "Law", "bleu")
    assert result.p < 0.01 and result.gain > 0
    assert paired_test(plain(seeds[0]), plain(same), "Law", "bleu")[:2] == (1.0, 0.0)
    assert paired_test(plain(seeds[0]), plain(perfect), "Law", "chrf").p < 0.01


def test_other_sentences_cannot_be_compared(fake, seeds, tmp_path):
    other = fake.rewritten(
        seeds[0], tmp_path / "other", lambda row: {**row, "reference": row["reference"] + " x"}
    )
    base, run = plain(seeds[0]), plain(other)
    assert paired_test(base, run, "Law", "bleu") is None
    tested = compared([[base], [run]], ["Law"], "bleu")
    assert tested.values == {} and "Significance not tested" in tested.notes[0]
    assert paired_test(base, run, "no such facet", "bleu") is None


def test_seeds_must_agree():
    def result(p, gain):
        return Comparison(p, gain, None)

    assert agreed([result(0.01, 1.0), result(0.04, 0.5)], 2) == (0.04, 0.5)
    assert agreed([result(0.01, -1.0), result(0.04, -0.5)], 2) == (0.04, -0.5)
    assert agreed([result(0.01, 1.0), result(0.01, -1.0)], 2)[0] == 1.0
    assert agreed([result(0.01, 1.0)], 2) is None


def test_a_page_does_not_test_for_hours(seeds):
    outcomes = [[plain(seeds[0])], [plain(seeds[1])]]
    tested = compared(outcomes, ["Law", "IT"], "bleu", most_lines=100, intervals=True)
    assert tested.values == {} and tested.intervals == {} and "facetmt compare" in tested.notes[0]


def test_the_interval_of_a_mean_shrinks_with_the_number_of_sets():
    assert of_mean([2.0]) == 2.0 and of_mean([2.0] * 4) == 1.0


def test_what_was_not_translated_has_no_interval(seeds):
    assert interval(plain(seeds[0]), "nowhere", "bleu") is None


def test_a_run_is_compared_with_the_same_seed(fake, seeds, tmp_path):
    base = [plain(run) for run in seeds]
    other = [
        plain(Run(fake.write_run(tmp_path / f"{n}", steps=20, seed=seed, sentences=2)))
        for n, seed in enumerate((3, 2, 7))
    ]
    assert partners(base, other) == [base[2], base[1], base[2]]  # the last one by its place
