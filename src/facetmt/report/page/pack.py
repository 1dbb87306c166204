"""Figures as JSON for the page: every array once, as base64 of its bytes."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

# plotly's short names of array types -> JavaScript's
KINDS = {
    "f4": "Float32Array",
    "f8": "Float64Array",
    "i1": "Int8Array",
    "i2": "Int16Array",
    "i4": "Int32Array",
}
KINDS |= {"u1": "Uint8Array", "u2": "Uint16Array", "u4": "Uint32Array"}


class Packer:
    """Turns figures into JSON and collects their arrays; equal ones, such as shared steps, are kept once."""

    def __init__(self) -> None:
        self.arrays: list[tuple[str, str]] = []  # (kind, base64)
        self._places: dict[tuple[str, str], int] = {}

    def figure(self, figure: go.Figure | None) -> Any:
        """Traces and layout; the page brings its own theme, so plotly's template is left out."""
        if figure is None:
            return None
        plain = figure.to_plotly_json()
        layout = {key: value for key, value in plain["layout"].items() if key != "template"}
        return self.value({"data": plain["data"], "layout": layout})

    def value(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            if value.keys() == {"dtype", "bdata"}:  # plotly's own form of an array
                return self._place(KINDS[value["dtype"]], value["bdata"])
            return {key: self.value(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(item) for item in value]
        if isinstance(value, np.ndarray):
            data = np.ascontiguousarray(value, dtype="<f4").tobytes()
            return self._place(KINDS["f4"], base64.b64encode(data).decode("ascii"))
        return value.item() if isinstance(value, np.generic) else value

    def _place(self, kind: str, data: str) -> dict[str, int]:
        key = (kind, data)
        if key not in self._places:
            self._places[key] = len(self.arrays)
            self.arrays.append(key)
        return {"array": self._places[key]}


def script_json(value: Any) -> str:
    """JSON that is safe inside a script element: no text in it can close the element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
