"""`python -m benchmarks [--data DIR]`: one after the other, each in a process of its own.

Against JoeyNMT only by `python -m benchmarks.bench_joeynmt`: that one installs an environment of its own.
"""

import argparse
import subprocess
import sys

ALONE = ("bench_bandit", "bench_step", "bench_decode", "bench_opus", "bench_store", "bench_report")
WITH_TEXT = ("bench_prepare", "bench_sampler")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="folder with one subfolder a facet, for those that need real text")
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
