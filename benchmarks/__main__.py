"""`python -m benchmarks [--data DIR]`: run all benchmarks in turn, each in its own process.

The comparisons with JoeyNMT install its own environment: `python -m benchmarks.bench_joeynmt` (training) and
`python -m benchmarks.bench_engines` (decoding, of a trained run). That of the sampler for PyTorch needs
the libraries of `make test-adapters`: `python -m benchmarks.bench_sampler_torch`.
"""

import argparse
import subprocess
import sys

ALONE = (
    "bench_bandit",
    "bench_step",
    "bench_auto",
    "bench_decode",
    "bench_opus",
    "bench_store",
    "bench_report",
    "bench_filter",
)
WITH_TEXT = ("bench_prepare", "bench_sampler")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="folder with one subfolder per facet, for those that need real text")
    data = parser.parse_args().data
    commands = [[name] for name in ALONE] + [[name, "--data", data] for name in WITH_TEXT if data]
    failed = []
    for name, *arguments in commands:
        print(f"== {name}", flush=True)
        if subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *arguments]).returncode:
            failed.append(name)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
