import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from facetmt.data.workers import Workers, open_workers
from facetmt.errors import UserError


def slow_square(number):
    time.sleep(0.02 * (number % 3))
    return number * number, os.getpid()


def die(number):
    os._exit(9)


def complain(number):
    raise UserError(f"line {number}")


def test_results_keep_their_order_and_come_from_other_processes():
    with open_workers(2, worthwhile=True) as workers:
        results = list(workers.run(slow_square, range(12)))
        with pytest.raises(UserError, match="line 3"):
            list(workers.run(complain, [3]))
    assert [value for value, _ in results] == [n * n for n in range(12)]
    assert os.getpid() not in {process for _, process in results}


def test_jobs_are_taken_only_as_fast_as_results():
    taken = []

    def jobs():
        for number in range(100):
            taken.append(number)
            yield number

    with open_workers(2, worthwhile=True) as workers:
        results = workers.run(slow_square, jobs())
        next(results)
        assert len(taken) <= 6


def test_small_work_is_done_here():
    with open_workers(None, worthwhile=False) as workers:
        assert list(workers.run(slow_square, [3])) == [(9, os.getpid())]
    assert list(Workers().run(slow_square, [3])) == [(9, os.getpid())]


def test_a_worker_that_dies_is_said_in_a_sentence():
    with pytest.raises(UserError, match="a worker process died"):  # noqa: SIM117
        with open_workers(2, worthwhile=True) as workers:
            list(workers.run(die, [1]))


ORPHANS = """
import os, signal
from facetmt.data.workers import open_workers
if __name__ == "__main__":
    with open_workers(2, worthwhile=True) as workers:
        print(*sorted(set(workers.run(abs, range(8)))), flush=True)
        print(*open(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read().split(), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc; run it on Linux")
def test_no_worker_outlives_a_killed_parent(tmp_path):
    (tmp_path / "script.py").write_text(ORPHANS)
    done = subprocess.run(
        [sys.executable, tmp_path / "script.py"], capture_output=True, text=True, check=False
    )
    numbers, children = done.stdout.splitlines()
    assert numbers == "0 1 2 3 4 5 6 7" and children
    for _ in range(100):
        alive = [child for child in children.split() if Path("/proc", child).exists()]
        if not alive:
            return
        time.sleep(0.1)
    raise AssertionError(f"still there: {alive}")
