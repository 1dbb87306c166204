"""The parameters in one safetensors file, named by their place in the module tree."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facetmt.export.folder import About, required

FILE = "model.safetensors"


def named(tree: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, NDArray[np.float32]]]:
    """encoder.0.attention.query_key_value.kernel, ... with their arrays, in sorted order."""
    for key in sorted(tree, key=str):
        name = f"{prefix}{key}"
        if isinstance(tree[key], Mapping):
            yield from named(tree[key], f"{name}.")
        else:
            yield name, np.ascontiguousarray(np.asarray(tree[key], np.float32))


def write_parameters(params: Mapping[Any, Any], about: About, folder: Path) -> None:
    """model.safetensors; its metadata are strings, those that are not text as JSON."""
    metadata = {key: value if isinstance(value, str) else json.dumps(value) for key, value in about.items()}
    library = required("safetensors.numpy", "ctranslate2")
    library.save_file(dict(named(params)), str(folder / FILE), metadata=metadata)
