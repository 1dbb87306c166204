"""summary.json, small enough to keep: written from a study's folder, and read back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from facetmt.errors import UserError
from facetmt.files import write_whole
from facetmt.report.studies.folder import SUMMARY, open_folder
from facetmt.report.studies.merge import merged
from facetmt.report.studies.summary import VERSION, Content, summary


def write_summary(path: Path, others: Sequence[Path] = ()) -> Path:
    """Of the finished cells of a study's folder, and of those that only the summaries `others` have."""
    folder = open_folder(path)
    if not folder.finished():
        raise UserError(f"{path}: no cell is finished; run the study first")
    content = summary(folder)
    for file in others:
        content = merged(content, read_summary(file), file)
    out = path / SUMMARY
    write_whole(out, as_text(content))
    return out


def as_text(content: Content) -> str:
    """JSON in which whatever holds plain values alone is one line: short, and changes show in a diff."""
    return _lines(content, "") + "\n"


def _lines(value: Any, margin: str) -> str:
    nested = isinstance(value, dict) and any(isinstance(item, dict) for item in value.values())
    if not nested and not (isinstance(value, dict) and margin == ""):
        return json.dumps(value, ensure_ascii=False)
    inner = margin + " "
    rows = (
        f"{inner}{json.dumps(key, ensure_ascii=False)}: {_lines(one, inner)}" for key, one in value.items()
    )
    return "{\n" + ",\n".join(rows) + f"\n{margin}}}"


def read_summaries(root: Path) -> dict[str, Content]:
    """Name of the study -> its summary, for every folder of `root` that has one."""
    paths: Sequence[Path] = sorted(root.glob(f"*/{SUMMARY}"))
    if not paths:
        raise UserError(f"{root}: no folder in it has a {SUMMARY}; `facetmt study DIR --summary` writes one")
    return {path.parent.name: read_summary(path) for path in paths}


def read_summary(path: Path) -> Content:
    try:
        content: Content = json.loads(path.read_text(encoding="utf-8"))
        version = content["version"]
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such file; `facetmt study DIR --summary` writes one") from None
    except (OSError, ValueError, KeyError, TypeError):
        raise UserError(f"{path}: damaged; write it again with `facetmt study DIR --summary`") from None
    if version != VERSION:
        raise UserError(f"{path}: written by another version of facetmt; write it again with this one")
    return content
