"""`python -m benchmarks`: what needs no outside text, one after the other."""

from benchmarks import bench_bandit

if __name__ == "__main__":
    bench_bandit.main()
