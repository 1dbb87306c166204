"""Names of facets, languages and test sets: each becomes part of a path, so none may point elsewhere."""

import re
from collections.abc import Sequence

from facetmt.errors import UserError

LONGEST = 100  # characters


def fault(name: object) -> str | None:
    """Why a name cannot be used for a file, a column and a tag; None if it can."""
    if not isinstance(name, str):
        return "because it is not text"
    ends = name.startswith(".") or name != name.strip()
    if not name or len(name) > LONGEST or ends or not name.isprintable():
        return "because it is empty, too long, unprintable, or has dots or spaces at its ends"
    bad = re.search(r"[/\\<>:\"|?*,]", name)
    return f"because of the character {bad[0]}" if bad else None


def check_name(name: object, kind: str) -> None:
    """Refuse a name that is not safe; `kind` says what it names."""
    if reason := fault(name):
        raise UserError(f"{name!r} cannot name a {kind} {reason}; rename it")


def check_facets(names: Sequence[str]) -> None:
    """Every name is safe, and no two are the same folder on any file system."""
    seen: dict[str, str] = {}
    for name in names:
        check_name(name, "facet")
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            raise UserError(
                f"the facets {other} and {name} differ in case alone, which some file systems ignore;"
                " rename one of them"
            )
    if len(seen) < len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        raise UserError(f"the facet {twice} is listed twice; remove one")
