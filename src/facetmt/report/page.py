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
from facetmt.report import bars, curves
from facetmt.report.body import body
from facetmt.report.digest import Digest, digests
from facetmt.report.headline import title_of
from facetmt.report.markup import safe
from facetmt.report.pack import Packer, script_json
from facetmt.report.plots import Style, line_styles
from facetmt.runlog import Run

RELOAD = 15  # seconds after which a live page looks for news


def write_report(runs: Sequence[Path], out: Path, watch: bool = False) -> Path:
    """Write the page of these runs, the first one the baseline; with `watch` it reloads itself."""
    page = render([Run(Path(run)) for run in runs], reload=RELOAD if watch else 0)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_whole(out, page)  # a browser that reloads must never see half a page
    except OSError as error:
        raise UserError(
            f"the report cannot be written to {out} ({error.strerror}); give another --out"
        ) from error
    return out


def render(runs: Sequence[Run], reload: int = 0, tag: str = "") -> str:
    """The page as text; `tag` is the version that a live page compares with the server's."""
    if not runs:
        raise UserError("name at least one run directory to report on")
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
        "run": next(place for place, run in enumerate(seen) if run is leader(seen)),
        "seconds": max(run.seconds for run in seen),
        "reload": reload,
        "tag": tag,
    }
    return document(title_of(seen), body(seen, facets), data)


def packed(packer: Packer, value: go.Figure | list[go.Figure | None] | None) -> Any:
    return [packer.figure(figure) for figure in value] if isinstance(value, list) else packer.figure(value)


def leader(runs: Sequence[Digest]) -> Digest:
    """The run to look at first: the first one that learns what to draw."""
    return next((run for run in runs if run.kind not in ("Base", "Static")), runs[0])


def ranked_facets(runs: Sequence[Digest]) -> list[str]:
    """All facets of all runs; those that the first bandit run drew most come first."""
    names = list(dict.fromkeys(name for run in runs for name in run.facets))
    first = leader(runs)
    share = {} if first.share is None else dict(zip(first.facets, first.share.tolist(), strict=True))
    return sorted(names, key=lambda name: -share.get(name, 0.0))


def facet_facts(runs: Sequence[Digest], facets: Sequence[str]) -> list[dict[str, Any]]:
    """What the page can sort facets by."""
    sizes = next(
        (dict(zip(run.facets, run.sizes.tolist(), strict=True)) for run in runs if run.sizes is not None), {}
    )
    scores = [(run.run.scores or {}).get("facets", {}) for run in runs]
    facts = []
    for rank, name in enumerate(facets):
        known = [score[name]["bleu"] for score in scores if name in score]
        gain = max(known[1:]) - known[0] if len(known) > 1 else None
        best = max(known, default=None)
        facts.append({"name": name, "share": -rank, "size": sizes.get(name), "bleu": best, "gain": gain})
    return facts


def all_figures(runs: Sequence[Digest], facets: Sequence[str], styles: Style) -> dict[str, Any]:
    """By key: one figure, or a list with one a run; None where there is nothing to draw."""
    return {
        "probs": [curves.probabilities(run, styles) for run in runs],
        "shares": bars.batch_shares(runs, facets),
        "epochs": bars.effective_epochs(runs, facets),
        "scaled": [curves.facet_rewards(run, styles) for run in runs],
        "bleu": curves.average_quality(runs, "bleu"),
        "loss": curves.average_quality(runs, "loss"),
        "facet-bleu": [curves.facet_quality(run, styles, "bleu") for run in runs],
        "facet-loss": [curves.facet_quality(run, styles, "loss") for run in runs],
        "raw": [curves.raw_rewards(run, curves.run_colour(place, runs)) for place, run in enumerate(runs)],
        "training": curves.training_loss(runs),
        "costs": bars.costs(runs),
    }


def document(title: str, content: str, data: dict[str, Any]) -> str:
    """The whole page. Only the two scripts that we put in may run: their hashes are in its security policy."""
    folder = files("facetmt.report")
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
