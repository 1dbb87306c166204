import base64
import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from facetmt.report.figures.plots import curve, framed
from facetmt.report.page.pack import Packer, script_json


def unpacked(packer, place):
    kind, data = packer.arrays[place["array"]]
    assert kind == "Float32Array"
    return np.frombuffer(base64.b64decode(data), dtype="<f4")


def test_arrays_come_back_and_equal_ones_are_kept_once():
    steps, seconds = np.arange(5), np.arange(5, dtype=np.float32) / 2
    lines = [curve(steps, steps * n, str(n), {"color": "#123456"}, seconds=seconds) for n in (1, 2, 3)]
    packer = Packer()
    figure = packer.figure(framed(lines, x="step", y="π"))
    assert len(packer.arrays) == 4  # steps (which is the first curve too), two more curves, seconds
    assert unpacked(packer, figure["data"][2]["y"]).tolist() == [0, 3, 6, 9, 12]
    assert unpacked(packer, figure["data"][0]["meta"]["seconds"]).tolist() == seconds.tolist()
    assert "template" not in figure["layout"] and packer.figure(None) is None


@given(st.text())
def test_no_text_can_leave_its_script_element(text):
    packed = script_json({"x": text, "y": ["</script>", text]})
    assert "<" not in packed and "\u2028" not in packed
    assert json.loads(packed) == {"x": text, "y": ["</script>", text]}
