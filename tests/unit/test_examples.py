"""The examples run as a reader would run them, and show what they claim."""

import ast
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_bandit_in_a_foreign_loop():
    path = EXAMPLES / "own_loop.py"
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 30
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True)
    counts = ast.literal_eval(done.stdout)
    assert sum(counts.values()) == 500
    assert counts["useless"] < min(counts["first half"], counts["second half"])
