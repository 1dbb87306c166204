"""The report: one HTML page that needs nothing but a browser."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from facetmt.errors import UserError
from facetmt.files import write_whole
from facetmt.report.digest import Digest, digests
from facetmt.report.figures.charts import all_figures, leader, ranked_facets
from facetmt.report.figures.plots import line_styles
from facetmt.report.page.body import body
from facetmt.report.page.headline import title_of
from facetmt.report.page.markup import safe
from facetmt.report.page.pack import Packer, script_json
from facetmt.runlog import Run

RELOAD = 15  # seconds between two checks of a live page for news


def write_report(runs: Sequence[Path], out: Path, watch: bool = False) -> Path:
    """Write the page of these runs, of which the first is the baseline; with `watch` it reloads itself."""
    page = render([Run(Path(run)) for run in runs], reload=RELOAD if watch else 0)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_whole(out, page)  # a browser that reloads must never see half a page
    except OSError as error:
        raise UserError(f"{out}: cannot be written ({error.strerror}); give another --out") from error
    return out


def render(runs: Sequence[Run], reload: int = 0, tag: str = "") -> str:
    """The page as text; `tag` is the version that a live page compares with the server's."""
    if not runs:
        raise UserError("RUN: no run is named; name at least one run directory")
    seen = digests(runs)
    facets = ranked_facets(seen)
    packer = Packer()
    charts = {
        key: packed(packer, value) for key, value in all_figures(seen, facets, line_styles(facets)).items()
    }
    data = {
        "charts": charts,
        "arrays": packer.arrays,
        "facets": facet_facts(seen, facets),
        "runs": [run.name for run in seen],
        "run": next(index for index, run in enumerate(seen) if run is leader(seen)),
        "seconds": max(run.seconds for run in seen),
        "reload": reload,
        "tag": tag,
    }
    return document(title_of(seen), body(seen, facets), data)


def packed(packer: Packer, value: go.Figure | list[go.Figure | None] | None) -> Any:
    return [packer.figure(figure) for figure in value] if isinstance(value, list) else packer.figure(value)


def facet_facts(runs: Sequence[Digest], facets: Sequence[str]) -> list[dict[str, Any]]:
    """What the page can sort facets by."""
    sizes = next(
        (dict(zip(run.facets, run.sizes.tolist(), strict=True)) for run in runs if run.sizes is not None), {}
    )
    scores = [(run.logs.scores or {}).get("facets", {}) for run in runs]
    facts = []
    for rank, name in enumerate(facets):
        known = [score[name]["bleu"] for score in scores if name in score]
        gain = max(known[1:]) - known[0] if len(known) > 1 else None
        best = max(known, default=None)
        facts.append({"name": name, "share": -rank, "size": sizes.get(name), "bleu": best, "gain": gain})
    return facts


def document(title: str, content: str, data: dict[str, Any]) -> str:
    """The whole page. Only its own two scripts may run: its security policy lists their hashes."""
    folder = files("facetmt.report.page")
    style, script = (folder.joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    plotly = get_plotlyjs()
    hashes = " ".join(f"'sha256-{sha256(code)}'" for code in (plotly, script))
    network = "'self'" if data["reload"] else "'none'"
    policy = (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
        f"connect-src {network}; base-uri 'none'; form-action 'none'"
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{safe(title)} · facetmt</title>\n<style>{style}</style>\n</head>\n<body>\n{content}\n"
        f'<script type="application/json" id="data">{script_json(data)}</script>\n'
        f"<script>{plotly}</script>\n<script>{script}</script>\n</body>\n</html>\n"
    )


def sha256(code: str) -> str:
    return base64.b64encode(hashlib.sha256(code.encode("utf-8")).digest()).decode("ascii")
