"""Finding the facets of a corpus: what its layout holds, what the recipe picks, and whether it is usable."""

import difflib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from facetmt.data.chunks import Files
from facetmt.data.config import DataConfig, FacetConfig
from facetmt.data.corpus import Facet
from facetmt.data.layouts import LAYOUTS, SPLITS, zero_based
from facetmt.data.names import check_facets, check_name
from facetmt.errors import UserError


def discover(config: DataConfig, base: Path) -> list[Facet]:
    """The facets of a corpus in their order; an error says what is wrong with a name or a file."""
    root = base / config.root
    if not root.is_dir():
        raise UserError(f"{root}: the corpus folder does not exist; check data.root")
    chosen = _chosen(config)
    written = [
        _written(config, root, name, entry) for name, entry in chosen.items() if entry.train is not None
    ]
    all_written = bool(chosen) and len(written) == len(chosen)
    found = [] if all_written else list(LAYOUTS[config.layout](config, root))
    if not found and not written:
        raise UserError(
            f"{root}: no facet found; data.layout is {config.layout} (docs/data.md shows what it looks like)"
        )
    facets = {facet.name: facet for facet in (*found, *written)}
    selected = [_limited(_get(facets, name, root), entry.limit) for name, entry in chosen.items()] or found
    result = [_limited(facet, config.limit) for facet in selected]
    _check(result, config)
    return result


def _chosen(config: DataConfig) -> dict[str, FacetConfig]:
    if isinstance(config.facets, dict):
        check_facets(list(config.facets))
        return config.facets
    names = list(config.facets or ())
    check_facets(names)
    return dict.fromkeys(names, FacetConfig())


def _get(facets: dict[str, Facet], name: str, root: Path) -> Facet:
    if name not in facets:
        near = difflib.get_close_matches(name, facets, 1, 0.0)
        raise UserError(f"{root}: there is no facet {name}; the nearest of {len(facets)} is {near[0]}")
    return facets[name]


def _limited(facet: Facet, limit: int | None) -> Facet:
    """The facet with a limit on its training pairs, unless it has one."""
    train = facet.files["train"]
    if limit is None or train.limit is not None:
        return facet
    return replace(facet, files={**facet.files, "train": replace(train, limit=limit)})


def _check(facets: Sequence[Facet], config: DataConfig) -> None:
    check_facets([facet.name for facet in facets])
    for language in {side for facet in facets for side in (facet.source_language, facet.target_language)}:
        check_name(language, "language")
    seen: dict[Files, str] = {}
    for facet in facets:
        train = replace(facet.files["train"], limit=None)
        if train in seen:
            raise UserError(
                f"the facets {seen[train]} and {facet.name} read the same files; remove one of them"
            )
        seen[train] = facet.name
        if "dev" not in facet.files and not config.allow_missing_dev:
            raise UserError(
                f"facet {facet.name} has no dev text beside {train.source}; add it, leave the facet out of"
                " data.facets, or set data.allow_missing_dev"
            )


def _written(config: DataConfig, root: Path, name: str, entry: FacetConfig) -> Facet:
    """A facet whose files the recipe names."""
    source, target = entry.source or config.source, entry.target or config.target
    if source is None or target is None:
        raise UserError(f"facet {name} names its files, but not its languages; give it source and target")
    if config.labels is not None or config.keep is not None:
        raise UserError(
            f"facet {name} names its files, so data.labels and data.keep cannot apply; remove either"
        )
    splits = {}
    for split, names in zip(SPLITS, (entry.train, entry.dev, entry.test), strict=True):
        if names is not None:
            paths = [root / file for file in names]
            columns = zero_based(config) if len(paths) == 1 else None
            splits[split] = Files(
                paths[0], paths[-1], columns, limit=entry.limit if split == "train" else None
            )
            for path in paths:
                if not path.is_file():
                    raise UserError(f"{path}: does not exist, but facet {name} names it; check data.facets")
    return Facet(name, source, target, splits)
