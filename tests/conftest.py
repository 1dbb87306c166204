"""Settings for all tests, and the small project that those which run the command share."""

import gzip
import io
import os
import signal
import subprocess
import sys
import tarfile
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from facetmt.demo.corpus import DemoConfig, write

# most of what the tests do is compile: code that is quickly made serves them better than quick code
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")
# tests leave the user's cache folder alone
os.environ["FACETMT_CACHE"] = "off"

# a shell that starts the tests in the background ignores SIGINT, and what they start would inherit that
signal.signal(signal.SIGINT, signal.default_int_handler)

# a slow machine must not fail a property
settings.register_profile(
    "steady", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.load_profile("steady")

RECIPE = """\
data:
  root: corpus
  source: de
  target: en
  max_length: 40
  dev_pairs: 12
  vocab: {size: 700}
batch: {rows: 8, length: 48}
schedule: {policy: exp3}
model: {preset: tiny, width: 32, mlp: 64, heads: 2, encoder_layers: 1, decoder_layers: 1}
optimiser: {schedule: peak-rsqrt, learning_rate: 0.003, warmup: 20}
train: {steps: 30, validate_every: 10, save_every: 4, log_every: 5, dev_hold: 3}
decode: {beam: 2, max_length: 24, batch: 16}
"""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was skipped and how to have it; each reason says so."""
    skipped = terminalreporter.stats.get("skipped", [])
    for reason, count in Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skipped).items():
        terminalreporter.write_line(f"{count} {'test' if count == 1 else 'tests'} skipped: {reason}")


def write_project(folder: Path) -> None:
    """A generated German-English corpus and a recipe for a model that is too small to be good, but quick."""
    write(DemoConfig(size=300, dev=12, test=12), folder / "corpus")
    (folder / "recipe.yaml").write_text(RECIPE, encoding="utf-8")


@pytest.fixture(scope="session")
def project(tmp_path_factory, facetmt) -> Path:
    """A folder with a prepared corpus and its recipe."""
    folder = tmp_path_factory.mktemp("project")
    write_project(folder)
    done = facetmt("prepare", folder / "recipe.yaml")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="session")
def compiled(tmp_path_factory) -> None:
    """Processes of these tests share what JAX has compiled: most of a short run would be compiling."""
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(tmp_path_factory.mktemp("compiled"))
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "0"


@pytest.fixture(scope="session")
def facetmt(compiled) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The command as a user runs it."""

    def run(*arguments: object, text: str | None = None) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "facetmt", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, input=text, timeout=300)

    return run


@pytest.fixture
def write_lines():
    """Write lines (str or bytes) with LF ends, gzip if the name says so."""

    def write(path: Path, lines) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        data = b"".join((line.encode() if isinstance(line, str) else line) + b"\n" for line in lines)
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
        return path

    return write


@pytest.fixture(scope="session")
def pack():
    """File name, and name -> bytes, and other entries of a tar file -> the archive."""

    def make(kind: str, content: dict[str, bytes], extra: Sequence[tarfile.TarInfo] = ()) -> bytes:
        buffer = io.BytesIO()
        if kind.endswith(".zip"):
            with zipfile.ZipFile(buffer, "w") as archive:
                for name, data in content.items():
                    archive.writestr(name, data)
            return buffer.getvalue()
        with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
            for name, data in content.items():
                info = tarfile.TarInfo(name)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
            for info in extra:
                archive.addfile(info)
        return buffer.getvalue()

    return make


NOUNS = ["haus", "baum", "hund", "auto", "garten", "fluss", "berg", "fenster", "buch", "stadt"]
VERBS = ["sieht", "findet", "kennt", "malt", "sucht", "braucht"]


@pytest.fixture(scope="session")
def sentences():
    """Count -> so many German lines, and as many English ones."""

    def make(count: int, shift: int = 0) -> tuple[list[str], list[str]]:
        chosen = [(NOUNS[(i + shift) % 10], VERBS[i % 6], NOUNS[(i * 7 + 3) % 10], i) for i in range(count)]
        german = [f"der {a} {verb} den {b} nummer {i}" for a, verb, b, i in chosen]
        english = [f"the {a} {verb[::-1]} the {b} number {i}" for a, verb, b, i in chosen]
        return german, english

    return make


@pytest.fixture
def corpus(tmp_path, write_lines, sentences):
    """Two small facets in tmp_path/corpus; returns a function that writes one split of one facet."""

    def write(name: str, split: str, count: int, shift: int = 0) -> None:
        for language, lines in zip(("de", "en"), sentences(count, shift), strict=True):
            write_lines(tmp_path / "corpus" / name / f"{split}.{language}", lines)

    for name, count, shift in (("it", 60, 0), ("law", 20, 5)):
        write(name, "train", count, shift)
        write(name, "dev", 9 if name == "it" else 6, shift + 1)
        write(name, "test", 4, shift + 2)
    return write
