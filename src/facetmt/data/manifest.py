"""prepared.json: the settings that a folder was prepared with, so that others do not overwrite it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from facetmt.data.config import DataConfig
from facetmt.errors import UserError

VERSION = 1
MANIFEST = "prepared.json"
SECTIONS = ("tags", "clean", "vocab")  # of the recipe's `data`

Manifest = dict[str, Any]


def read_manifest(output: Path) -> Manifest:
    """The manifest of a prepared folder; an error says if it is missing, damaged or of another version."""
    try:
        manifest = json.loads((output / MANIFEST).read_text("utf-8"))
    except FileNotFoundError:
        raise UserError(f"{output}: no prepared corpus; run prepare first") from None
    except (OSError, ValueError, RecursionError):
        raise UserError(f"{output / MANIFEST}: damaged; prepare again") from None
    if not isinstance(manifest, dict) or manifest.get("version") != VERSION:
        raise UserError(f"{output}: prepared by another version of facetmt; prepare again")
    return manifest


def former_manifest(output: Path) -> Manifest | None:
    """The manifest of what was prepared in a folder before, if it can be read."""
    try:
        return read_manifest(output)
    except UserError:
        return None


def new_manifest(config: DataConfig, fingerprints: Mapping[str, str], former: Manifest | None) -> Manifest:
    """The manifest of what was prepared now; a folder of an earlier version keeps its dev set."""
    return {
        "version": VERSION,
        "dev_pairs": config.dev_pairs,
        "dev_cut": former is not None and cuts_dev(former),
        "seed": config.seed,
        "settings": settings_of(config),
        "facets": dict(fingerprints),
    }


def cuts_dev(manifest: Manifest) -> bool:
    """Whether every facet has only as many dev pairs as the smallest one, as in earlier versions."""
    return bool(manifest.get("dev_cut", True))


def settings_of(config: DataConfig) -> dict[str, Any]:
    """The recipe's `data` as JSON, without the folder of the text, which may move."""
    settings = json.loads(json.dumps({**asdict(config), "max_length": config.longest}))
    del settings["root"]
    for section in SECTIONS:
        settings |= {f"{section}.{key}": value for key, value in settings.pop(section).items()}
    return dict(settings)


def check_settings(manifest: Manifest, config: DataConfig, facets: Sequence[str], output: Path) -> None:
    """Refuse to prepare a folder again with other settings: runs may depend on it."""
    now = settings_of(config)
    was = manifest.get("settings")
    if not isinstance(was, dict):  # earlier versions recorded only this
        was = {key: manifest.get(key) for key in ("dev_pairs", "seed")}
        if set(manifest.get("facets") or ()) - set(facets):
            was, now = {**was, "facets": list(manifest["facets"])}, {**now, "facets": list(facets)}
    changed = [key for key in was if key in now and was[key] != now[key]]
    if changed:
        said = "; ".join(f"data.{key}: {_said(was[key])} -> {_said(now[key])}" for key in changed)
        raise UserError(
            f"{output}: prepared with other settings ({said}); give another folder as `prepared`, or replace"
            " it by `facetmt prepare --overwrite`: runs trained on it can then be neither resumed nor scored"
        )


def _said(value: Any) -> str:
    """A setting as a person would write it."""
    if value is None:
        return "not set"
    if isinstance(value, dict):
        value = [_facet(name, entry) for name, entry in value.items()]
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list) else str(value)


def _facet(name: str, entry: Mapping[str, Any]) -> str:
    given = ", ".join(f"{key}: {value}" for key, value in entry.items() if value is not None)
    return f"{name} {{{given}}}" if given else name
