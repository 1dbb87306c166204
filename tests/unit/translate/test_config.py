import pytest

from facetmt.translate.config import DecodeConfig, EvaluateConfig


def test_outputs_are_bounded_by_their_source_only_where_a_ratio_is_set():
    assert DecodeConfig(max_length=100).longest_output(3) == 100
    assert DecodeConfig(max_length=100, max_ratio=None).longest_output(3) == 100
    assert DecodeConfig(max_length=100, max_ratio=1.5).longest_output(3) == 4 + 8
    assert DecodeConfig(max_length=100, max_ratio=1.5).longest_output(90) == 100


def test_no_line_that_training_would_take_is_cut():
    assert DecodeConfig().for_training(512).max_source == 512
    assert DecodeConfig(max_source=256).for_training(512).max_source == 512
    assert DecodeConfig(max_source=1000).for_training(512).max_source == 1000


@pytest.mark.parametrize(
    "settings", [{"max_source": 0}, {"max_ratio": 0.0}, {"max_ratio": -1.0}, {"beam": 0}]
)
def test_impossible_settings_are_refused(settings):
    with pytest.raises(ValueError, match=f"{next(iter(settings))} is"):
        DecodeConfig(**settings)


def test_null_is_no_bound_on_either_side_of_a_size_group():
    sizes = {"a": 10, "b": 2500, "c": 90_000}
    config = EvaluateConfig(size_groups={"low": (None, 2500), "rest": (2500, None), "all": (None, None)})
    assert config.members(sizes) == {"low": ["a"], "rest": ["b", "c"], "all": ["a", "b", "c"]}
