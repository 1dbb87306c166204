"""The page of results: tables put between the marks of a hand-written page, plots beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from facetmt.errors import UserError
from facetmt.files import write_whole
from facetmt.report.studies.kept import read_summaries
from facetmt.report.studies.overview import overview
from facetmt.report.studies.plots import PLOTS
from facetmt.report.studies.tables import TABLES

PLACE = re.compile(r"<!-- table: (?P<name>\S+)\.(?P<kind>\w+) -->\n(?P<old>.*?)<!-- end -->", re.DOTALL)
OPENING = re.compile(r"<!-- table:[^\n]*")


def write_results(root: Path, out: Path) -> list[Path]:
    """Fill the tables of OUT.md, a new page if there is none, and write the plots into the folder OUT."""
    summaries = read_summaries(root)
    page = out.with_name(f"{out.name}.md")
    try:
        former = page.read_text(encoding="utf-8") if page.is_file() else new_page(summaries, out.name)
        text = filled(former, summaries, page)
        plots = {
            out / f"{name}.{kind}.svg": drawn
            for name, summary in summaries.items()
            for kind, draw in PLOTS.items()
            if (drawn := draw(summary)) is not None
        }
        if (picture := overview(summaries)) is not None:
            plots[out / "overview.svg"] = picture
        out.mkdir(parents=True, exist_ok=True)
        for path, content in {page: text, **plots}.items():
            write_whole(path, content)
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{page}: cannot be read or written ({error}); give another --out") from error
    return [page, *plots]


def filled(page: str, summaries: Mapping[str, dict[str, Any]], path: Path) -> str:
    """The page with the content of every `<!-- table: NAME.KIND --> ... <!-- end -->` made anew."""

    for opening in OPENING.finditer(page):
        found = PLACE.match(page, opening.start())
        where = f"{path}, line {page.count(chr(10), 0, opening.start()) + 1}: {opening[0]}"
        if found is None or OPENING.search(found["old"]):
            raise UserError(
                f"{where}: write it as `<!-- table: NAME.KIND -->` on a line of its own, and `<!-- end -->` "
                "below it"
            )
        if found["name"] not in summaries:
            raise UserError(f"{where}: there is no such study; choose among {', '.join(summaries)}")
        if found["kind"] not in TABLES:
            raise UserError(f"{where}: there is no such table; choose among {', '.join(TABLES)}")

    def new(found: re.Match[str]) -> str:
        name, kind = found["name"], found["kind"]
        return f"<!-- table: {name}.{kind} -->\n{TABLES[kind](summaries[name])}<!-- end -->"

    return PLACE.sub(new, page)


def new_page(summaries: Mapping[str, dict[str, Any]], folder: str) -> str:
    """A page with everything, to be cut down and commented by hand."""
    parts = ["# Results\n"]
    for name, summary in summaries.items():
        parts.append(f"## {name}\n")
        parts += [f"<!-- table: {name}.{kind} -->\n<!-- end -->\n" for kind in TABLES]
        parts += [
            f"![{name}: {kind}]({folder}/{name}.{kind}.svg)\n"
            for kind, draw in PLOTS.items()
            if draw(summary) is not None
        ]
    return "\n".join(parts)
