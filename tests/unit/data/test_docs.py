"""The recipes in docs/data.md are recipes."""

import re
from pathlib import Path

import pytest
import yaml
from pydantic import TypeAdapter

from facetmt.data.config import DataConfig

PAGE = (Path(__file__).parents[3] / "docs" / "data.md").read_text("utf-8")
BLOCKS = [block for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.S) if block.startswith("data:")]


def test_every_layout_has_a_recipe():
    layouts = {yaml.safe_load(block)["data"].get("layout", "pairs") for block in BLOCKS}
    assert layouts == {"pairs", "tsv", "ted", "opus100"}


@pytest.mark.parametrize("block", BLOCKS)
def test_it_is_valid(block):
    config = TypeAdapter(DataConfig).validate_python(yaml.safe_load(block)["data"])
    assert config.root and (config.pivot or (config.source and config.target))
