"""`facetmt export`: the best parameters of a run in another format, and the copy that `--engine` keeps."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from facetmt.errors import UserError
from facetmt.export.folder import FORMAT, describe, finish, is_export, new_folder, required
from facetmt.files import LOCK, claimed, sha256, sha256_of
from facetmt.train.best import BestOfRun, open_best
from facetmt.train.checkpoint import MANIFEST

CACHE = "exports"  # in a run: what `translate --engine` made, by what it was made from
KEEP = 4  # of them
TYPES = ("float32", "float16", "bfloat16", "int16", "int8", "int8_float32", "int8_float16", "int8_bfloat16")
WAIT = 0.2  # seconds between looks at what another process is exporting


def export_run(run: Path, to: str, out: Path, quantization: str, overrides: Sequence[str]) -> list[str]:
    """Write an export; the sentences say what is in it."""
    best = open_best(run, overrides)
    if to == "safetensors" and quantization != "float32":
        raise UserError("--quantization is for --to ctranslate2; safetensors keeps parameters as they are")
    write_export(best, to, out, quantization)
    steps = " and ".join(f"{step:,}" for step in best.steps)
    return [*best.notes, f"{out}: the model of step {steps}; {out / 'README.md'} shows how to use it"]


def write_export(best: BestOfRun, to: str, out: Path, quantization: str = "float32") -> None:
    """The folder `out`, whole or not at all."""
    if to == "ctranslate2":
        write_ctranslate2(best, out, quantization)
    else:
        write_safetensors(best, out)


def write_ctranslate2(best: BestOfRun, out: Path, quantization: str) -> None:
    """Convert, then let the engine prove that it computes what our model computes."""
    if quantization not in TYPES:
        raise UserError(f"--quantization {quantization}: choose one of {', '.join(TYPES)}")
    engine = required("ctranslate2", "ctranslate2")
    with new_folder(out) as folder:
        # the heavy imports come after the checks
        import jax
        import numpy as np

        from facetmt.export.ctranslate2 import POSITIONS, write_model
        from facetmt.export.engine import compare
        from facetmt.export.probe import probe
        from facetmt.export.readme import ctranslate2_readme
        from facetmt.train.restore import read_arrays

        model, decode = read_arrays(best), best.decode
        positions = max(POSITIONS, decode.max_length, decode.max_source or 0)
        folder.rmdir()  # the converter makes it
        params = jax.tree.map(np.array, model.params)  # copies: quantisation works in place
        write_model(
            best.recipe.model,
            params,
            best.codec.vocabulary,
            folder,
            quantization=quantization,
            positions=positions,
        )
        about = describe(
            best,
            "ctranslate2",
            quantization=quantization,
            positions=positions,
            engine=engine.__version__,
            probe=probe(model),
        )
        translator = engine.Translator(str(folder))
        compare(translator, best.codec.vocabulary, about, out, engine.__version__)
        finish(folder, best, about, ctranslate2_readme(best.codec, decode, about))


def write_safetensors(best: BestOfRun, out: Path) -> None:
    """model.safetensors with the parameters by name, and what their ids mean."""
    required("safetensors", "ctranslate2")
    with new_folder(out) as folder:
        from facetmt.export.readme import safetensors_readme
        from facetmt.export.safetensors import write_parameters
        from facetmt.train.restore import read_arrays

        about = describe(best, "safetensors")
        write_parameters(read_arrays(best).params, about, folder)
        finish(folder, best, about, safetensors_readme(best.codec, about))


def cached_export(best: BestOfRun, quantization: str) -> Path:
    """RUN/exports/KEY for the engine: made by the first process that needs it, shared by the others."""
    folder = best.directory / CACHE
    key = sha256_of(
        [FORMAT, quantization, best.decode.max_length, best.decode.max_source]
        + [sha256(one.path / MANIFEST) for one in best.chosen]
        + [best.codec.vocabulary.fingerprint]
    )
    final = folder / f"ctranslate2-{key[:16]}"
    while not is_export(final):
        try:
            folder.mkdir(exist_ok=True)
            with claimed(folder / LOCK) as free:
                if free and not is_export(final):
                    clear(folder)
                    write_ctranslate2(best, final, quantization)
        except OSError as error:
            raise UserError(
                f"{folder}: cannot be written ({error.strerror}); use `facetmt export` with --out elsewhere, "
                "then `facetmt translate` with that folder"
            ) from error
        if not is_export(final):
            time.sleep(WAIT)
    return final


def clear(folder: Path) -> None:
    """Make room: what a killed process left, and all but the newest exports."""
    whole = sorted(filter(is_export, folder.glob("ctranslate2-*")), key=lambda path: path.stat().st_mtime)
    for path in (*folder.glob(".*.partial"), *whole[: -(KEEP - 1)]):
        shutil.rmtree(path, ignore_errors=True)
