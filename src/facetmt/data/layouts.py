"""What each layout looks like on disk: one small function per layout, from a folder to facets."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from facetmt.data.chunks import Files
from facetmt.data.config import DataConfig
from facetmt.data.corpus import Facet
from facetmt.data.lines import read_lines
from facetmt.errors import UserError

SPLITS = ("train", "dev", "test")
TED_MISSING = ("__NULL__", "_ _ NULL _ _")


def zero_based(config: DataConfig) -> tuple[int, int]:
    """The columns of source and target, counted from 0."""
    return config.columns[0] - 1, config.columns[1] - 1


def _find(folder: Path, name: str) -> Path | None:
    """The file or its .gz."""
    found = [path for path in (folder / name, folder / f"{name}.gz") if path.is_file()]
    if len(found) == 2:
        raise UserError(f"{found[0]}: {found[1].name} is there too; remove one of them")
    return found[0] if found else None


def _folders(root: Path, pattern: str) -> list[tuple[str, Path]]:
    """(facet name, folder): the root itself if it has training text, else its subfolders that have some."""
    if any(root.glob(pattern)):
        return [(root.resolve().name, root)]
    return [(path.name, path) for path in sorted(root.iterdir()) if path.is_dir() and any(path.glob(pattern))]


def _directions(config: DataConfig, other: str) -> list[tuple[str, str]]:
    """(source, target) languages between the pivot and another language."""
    assert config.pivot is not None
    both = [(other, config.pivot), (config.pivot, other)]
    return {"many-to-one": both[:1], "one-to-many": both[1:], "many-to-many": both}[config.direction]


def _wanted(config: DataConfig, available: Sequence[str], where: Path) -> list[str]:
    """The languages to pair with the pivot."""
    if config.languages is None:
        return [language for language in available if language != config.pivot]
    for language in config.languages:
        if language not in available:
            raise UserError(f"{where}: there is no language {language}; choose among {', '.join(available)}")
    return list(config.languages)


def pairs(config: DataConfig, root: Path) -> Iterator[Facet]:
    """[FACET/]{train,dev,test}.LANGUAGE."""
    missing = set(config.languages or ())
    for name, folder in _folders(root, "train.*"):
        if config.pivot is None:
            if config.source is None or config.target is None:
                raise UserError(
                    "set data.source and data.target, or data.pivot, to the languages' file extensions"
                )
            directions = [(config.source, config.target)]
        else:
            other = _other_language(config, folder)
            if config.languages is not None and other not in config.languages:
                continue
            missing.discard(other)
            directions = _directions(config, other)
        for source, target in directions:
            facet = Facet(name, source, target, _pair_files(config, folder, source, target))
            if len(directions) > 1:
                facet = replace(facet, name=f"{name}_{source}-{target}")
            yield from _labelled(config, facet, alone=folder == root and len(directions) == 1)
    if missing:
        raise UserError(f"{root}: no folder has text in {', '.join(sorted(missing))}; check data.languages")


def _other_language(config: DataConfig, folder: Path) -> str:
    sidecars = {config.labels, config.keep, "facet", "keep", "scores"}
    extensions = {
        path.name.removesuffix(".gz").split(".", 1)[1] for path in folder.glob("train.*")
    } - sidecars
    others = sorted(str(extension) for extension in extensions - {config.pivot})
    if config.pivot not in extensions or len(others) != 1:
        found = ", ".join(sorted(map(str, extensions)))
        hint = _hint(folder, "train") if "tsv" in extensions else "remove the others"
        raise UserError(
            f"{folder}: train.* must be {config.pivot} and one other language, not {found}; {hint}"
        )
    return others[0]


def _pair_files(config: DataConfig, folder: Path, source: str, target: str) -> dict[str, Files]:
    splits = {}
    for split in SPLITS:
        left, right = _find(folder, f"{split}.{source}"), _find(folder, f"{split}.{target}")
        if left is not None and right is not None:
            splits[split] = _with_sidecars(config, folder, split, Files(left, right))
        elif split == "train" or left is not None or right is not None:
            lost = f"{split}.{source if left is None else target}"
            raise UserError(f"{folder}: no {lost} (nor {lost}.gz); {_hint(folder, split)}")
    return splits


def _hint(folder: Path, split: str) -> str:
    """What to do about a missing file, given the files that exist."""
    found = sorted(path.name for path in folder.glob(f"{split}.*"))
    if {f"{split}.tsv", f"{split}.tsv.gz"} & set(found):
        return f"it has {split}.tsv: for tables set data.layout to tsv (docs/data.md)"
    if found:
        return f"it has {', '.join(found)}: the extensions must be data.source and data.target"
    return "add it"


def tsv(config: DataConfig, root: Path) -> Iterator[Facet]:
    """[FACET/]{train,dev,test}.tsv, two or more columns."""
    if config.source is None or config.target is None:
        raise UserError("the layout tsv needs data.source and data.target, the languages of data.columns")
    for name, folder in _folders(root, "train.tsv*"):
        splits = {}
        for split in SPLITS:
            if path := _find(folder, f"{split}.tsv"):
                files = Files(path, path, zero_based(config))
                splits[split] = _with_sidecars(config, folder, split, files)
        yield from _labelled(config, Facet(name, config.source, config.target, splits), alone=folder == root)


def _with_sidecars(config: DataConfig, folder: Path, split: str, files: Files) -> Files:
    """Labels apply to every split, keep to training text alone."""
    labels: Path | int | None = None
    if isinstance(config.labels, int):
        labels = config.labels - 1
    elif config.labels is not None:
        labels = _labels_file(folder, f"{split}.{config.labels}", split, files.target)
    keep = None
    if config.keep is not None and split == "train":
        advice = f"`facetmt filter RUN --trusted SOURCE TARGET --out {config.root}` writes such files"
        keep = _sidecar(folder, f"{split}.{config.keep}", "data.keep", advice)
    return replace(files, labels=labels, keep=keep)


def _labels_file(folder: Path, name: str, split: str, target: Path) -> Path:
    advice = (
        "write one label per line, or let the two language models write natural or translationese: "
        f"facetmt label --models DIR --text {target} --out {folder / name}"
    )
    if split == "test":
        advice += "; or rename the test text and name it in evaluate.sets, where it needs no labels"
    return _sidecar(folder, name, "data.labels", advice)


def _sidecar(folder: Path, name: str, key: str, advice: str) -> Path:
    path = _find(folder, name)
    if path is None:
        raise UserError(f"{folder}: no {name} (nor {name}.gz), which {key} asks for; {advice}")
    return path


def _labelled(config: DataConfig, facet: Facet, alone: bool) -> Iterator[Facet]:
    """The facet itself, or one facet per label of its training text."""
    if config.labels is None:
        yield facet
        return
    for label in _labels(facet.files["train"]):
        splits = {split: replace(files, label=label) for split, files in facet.files.items()}
        yield replace(facet, name=label if alone else f"{facet.name}-{label}", files=splits)


def _labels(files: Files) -> list[str]:
    path = files.labels if isinstance(files.labels, Path) else files.source
    found: set[bytes] = set()
    for line in read_lines(path):
        cell = line if isinstance(files.labels, Path) else _cell(line, files.labels)
        if cell is not None and cell.strip():
            found.add(cell.strip())
            if len(found) > 1000:
                raise UserError(f"{path}: more than 1000 different labels; check data.labels")
    try:
        return sorted(label.decode() for label in found)
    except UnicodeDecodeError:
        raise UserError(f"{path}: a label is not valid UTF-8; repair the file") from None


def _cell(line: bytes | None, column: int | None) -> bytes | None:
    cells = [] if line is None else line.split(b"\t")
    return cells[column] if column is not None and column < len(cells) else None


def ted(config: DataConfig, root: Path) -> Iterator[Facet]:
    """all_talks_{train,dev,test}.tsv: a header of language codes, __NULL__ where there is no translation."""
    paths = {split: path for split in SPLITS if (path := _find(root, f"all_talks_{split}.tsv"))}
    if "train" not in paths:
        raise UserError(
            f"{root}: no all_talks_train.tsv (nor all_talks_train.tsv.gz); check data.root and data.layout"
        )
    headers = {}
    for split, path in paths.items():
        first = next(read_lines(path), None) or b""
        headers[split] = first.decode("utf-8", "replace").split("\t")
    languages = headers["train"][1:]  # the first column names the talk
    if config.pivot not in languages:
        raise UserError(f"{paths['train']}, line 1: no column {config.pivot} in the header; check data.pivot")
    for other in _wanted(config, languages, paths["train"]):
        for source, target in _directions(config, other):
            splits = {
                split: Files(
                    path,
                    path,
                    (headers[split].index(source), headers[split].index(target)),
                    True,
                    TED_MISSING,
                )
                for split, path in paths.items()
                if {source, target} <= set(headers[split])
            }
            yield Facet(f"{source}-{target}", source, target, splits)


def opus100(config: DataConfig, root: Path) -> Iterator[Facet]:
    """[supervised/]de-en/opus.de-en-train.de and so on."""
    root = root / "supervised" if (root / "supervised").is_dir() else root
    folders = {}
    for path in sorted(root.iterdir()):
        languages = path.name.split("-")
        if path.is_dir() and len(languages) == 2 and config.pivot in languages:
            folders[languages[languages[0] == config.pivot]] = path
    for other in _wanted(config, list(folders), root):
        folder = folders[other]
        for source, target in _directions(config, other):
            splits = {}
            for split in SPLITS:
                left, right = (
                    _find(folder, f"opus.{folder.name}-{split}.{language}") for language in (source, target)
                )
                if left is not None and right is not None:
                    splits[split] = Files(left, right)
            if "train" not in splits:
                raise UserError(
                    f"{folder}: no opus.{folder.name}-train.{source} and .{target}; unpack the corpus again"
                )
            yield Facet(f"{source}-{target}", source, target, splits)


LAYOUTS: dict[str, Callable[[DataConfig, Path], Iterator[Facet]]] = {
    "pairs": pairs,
    "tsv": tsv,
    "ted": ted,
    "opus100": opus100,
}
