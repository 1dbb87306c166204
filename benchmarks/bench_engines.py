"""Decoding speed of a trained run: our search beside CTranslate2 and JoeyNMT, and where our own time goes.

`python -m benchmarks.bench_engines RUN --source FILE --target FILE` needs the extra `ctranslate2`. Each
engine has the same weights and a process of its own, which may use as many processors as it is given
threads; they take turns. `--joeynmt DIR` adds JoeyNMT, whose environment is made in DIR at the first call.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TextIO, cast

ENGINES = ("facetmt", "float32", "int8")  # the last two: CTranslate2 by type of the weights


def lines_of(path: Path, count: int | None) -> list[str]:
    """The first lines of a plain or gzipped file."""
    import gzip

    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return raw.decode("utf-8").removesuffix("\n").split("\n")[:count]


def translator(
    run: Path, engine: str, settings: Sequence[str]
) -> tuple[Callable[[list[str]], list[str]], Any]:
    """A function that translates lines, and the codec."""
    if engine == "facetmt":
        from facetmt.train.restore import load_model
        from facetmt.translate.translate import Translator

        model = load_model(run, settings)
        ours = Translator(model.graph, model.codec, model.decode)
        facet = model.codec.facets[0].name
        return lambda lines: ours.translate(model.params, lines, facet), model.codec
    from facetmt.export.engine import open_engine
    from facetmt.export.run import cached_export
    from facetmt.train.best import open_best
    from facetmt.translate.text import TextTranslator

    best = open_best(run, settings)
    search, codec, decode = open_engine(cached_export(best, engine), best.codec, best.decode)
    theirs = TextTranslator(search, codec, decode)
    name = codec.facets[0].name
    return lambda lines: [found[0].text for found in theirs.n_best(lines, name, 1)], codec


def work(given: argparse.Namespace) -> None:
    """One engine: translates whenever the parent says so, the first time to compile."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: given.threads])
    translate, codec = translator(given.run, given.worker, given.settings)
    lines, facet = lines_of(given.source, given.lines), codec.facets[0].name
    for _ in sys.stdin:
        began = time.perf_counter()
        outputs = translate(lines)
        seconds = time.perf_counter() - began
        tokens = sum(len(ids) for ids in codec.encode_target(outputs, facet))
        print(json.dumps({"seconds": seconds, "tokens": tokens, "outputs": outputs}), flush=True)


class Worker:
    """A process that translates when asked."""

    def __init__(self, given: argparse.Namespace, engine: str, threads: int) -> None:
        command = [sys.executable, "-m", "benchmarks.bench_engines", str(given.run)]
        command += ["--source", str(given.source), "--target", str(given.target), "--lines", str(given.lines)]
        command += [word for setting in given.settings for word in ("--set", setting)]
        command += ["--worker", engine, "--threads", str(threads)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def measure(self) -> dict[str, Any]:
        cast(TextIO, self.process.stdin).write("go\n")
        cast(TextIO, self.process.stdin).flush()
        answer: dict[str, Any] = json.loads(cast(TextIO, self.process.stdout).readline())
        return answer

    def close(self) -> None:
        self.process.communicate()


def table(given: argparse.Namespace) -> None:
    """Output tokens per second, our share of them, BLEU, and how many outputs are the same as ours."""
    from facetmt.translate.evaluate import corpus_scores

    references = lines_of(given.target, given.lines)
    for threads in map(int, given.counts.split(",")):
        workers: dict[str, Any] = {engine: Worker(given, engine, threads) for engine in ENGINES}
        if given.joeynmt is not None:
            workers["joeynmt"] = joeynmt(given, threads)
        rounds: dict[str, list[dict[str, Any]]] = {engine: [] for engine in workers}
        for turn in range(given.rounds + 1):
            for engine, worker in workers.items():
                found = worker.measure()
                if turn:
                    rounds[engine].append(found)
        for worker in workers.values():
            worker.close()
        ours = rounds["facetmt"][0]["outputs"]
        rates = {name: [one["tokens"] / one["seconds"] for one in found] for name, found in rounds.items()}
        for engine, found in rounds.items():
            outputs = found[0]["outputs"]
            same = sum(a == b for a, b in zip(ours, outputs, strict=True)) / len(ours)
            ratios = [a / b for a, b in zip(rates["facetmt"], rates[engine], strict=True)]
            print(
                f"{threads} threads, {engine:>8}: {statistics.median(rates[engine]):,.0f} tokens/s, "
                f"facetmt at {statistics.median(ratios):.2f} of it "
                f"({', '.join(f'{ratio:.2f}' for ratio in ratios)}), "
                f"BLEU {corpus_scores(outputs, references, 'en')[0]['bleu']:.2f}, same as ours {same:.1%}",
                flush=True,
            )


def joeynmt(given: argparse.Namespace, threads: int) -> Any:
    """JoeyNMT with the run's weights, on as many processors."""
    from benchmarks.joeynmt_engine import JoeyEngine

    cores = sorted(os.sched_getaffinity(0))[:threads]
    return JoeyEngine(given.run, given.settings, given.joeynmt, lines_of(given.source, given.lines), cores)


def parts(given: argparse.Namespace) -> None:
    """Milliseconds of each part of our search; its own steps copy no cache, as the one here does."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from flax import nnx

    from facetmt.train.restore import load_model
    from facetmt.translate import beam as search
    from facetmt.translate.pool import slots_for

    model = load_model(given.run, given.settings)
    rows, width, beam, slots = (
        model.decode.batch,
        16,
        model.decode.beam,
        slots_for(0, model.decode.max_length),
    )
    graph, params, time_now = model.graph, model.params, jnp.int32(slots // 2)
    size = {"sentences": rows, "width": width, "beam": beam, "longest": model.decode.max_length}
    source, limit = np.full((rows, width), 5, np.int32), np.full(rows, model.decode.max_length, np.int32)

    def filled() -> search.Pool:
        empty = search.empty_pool(graph, params, slots=slots, **size)
        numbers = np.arange(rows, dtype=np.int32)
        return search.fill(empty, numbers, search.encode(graph, params, source), numbers, limit)

    begun, cache = filled()
    # everything is an argument: XLA would compute constants while compiling
    step = jax.jit(lambda params, *state: nnx.merge(graph, params).advance(*state)[0])
    state = begun.tokens, cache, time_now, begun.begun, begun.lineage
    logits, ends = step(params, *state), jnp.zeros((rows,), bool)
    best = jax.jit(lambda *found: search.best_extensions(*found, None))
    chosen, move = best(begun.totals, logits, ends), jax.jit(search.advance)
    calls: dict[str, Callable[[], Any]] = {
        "a pool of new sentences: encoder, source's keys": filled,
        "step of the decoder": lambda: step(params, *state),
        "best extensions (top-k)": lambda: best(begun.totals, logits, ends),
        "book-keeping of hypotheses": lambda: move(begun, *chosen),
    }
    vocabulary = model.codec.vocabulary.target_size
    print(f"pool of {rows}, beam {beam}, {vocabulary} subwords, source {width}, {slots} slots")
    for name, call in calls.items():
        jax.block_until_ready(call())
        seconds = []
        for _ in range(given.repeats):
            began = time.perf_counter()
            jax.block_until_ready(call())
            seconds.append(time.perf_counter() - began)
        print(f"{name:>48}: {1000 * statistics.median(seconds):8.2f} ms", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--lines", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--counts", default="1,2", help="numbers of threads to try")
    parser.add_argument("--repeats", type=int, default=50, help="calls of each part of our search")
    parser.add_argument("--set", dest="settings", action="append", default=[], help="decode.beam=4, ...")
    parser.add_argument("--joeynmt", type=Path, metavar="DIR", help="compare with JoeyNMT too")
    parser.add_argument("--worker", choices=ENGINES, help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, default=1, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        work(given)
    else:
        parts(given)
        table(given)


if __name__ == "__main__":
    main()
