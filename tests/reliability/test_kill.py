"""A run killed at random moments and resumed is bit-identical to an undisturbed one."""

import random

from facetmt.train import checkpoint

KINDS = ("steps", "steps", "save", "any time", "save")


def live_and_die(lives, project, run, schedule, kills):
    """Kill the run `kills` times, then let it finish; returns how each process ended."""
    moments = random.Random(f"{schedule} 1")
    hit = []
    while sum(end.killed for end in hit) < kills:
        process = lives.start(project, run, lives.SCHEDULES[schedule])
        hit.append(lives.kill_once(process, run, moments, KINDS[len(hit) % len(KINDS)]))
        assert hit[-1].killed, hit[-1].said
    lives.finish(project, run, lives.SCHEDULES[schedule])
    return hit


def test_row_01_a_run_killed_ten_times_ends_as_if_never_killed(project, lives, undisturbed):
    run = project / "killed-lagged"
    ends = live_and_die(lives, project, run, "lagged", kills=10)
    assert lives.differences(undisturbed("lagged"), run) == []
    assert any(end.saving for end in ends)
    assert sum(end.resumed for end in ends) >= 5


def test_row_01_so_does_a_run_with_another_schedule(project, lives, undisturbed):
    run = project / "killed-exp3s"
    ends = live_and_die(lives, project, run, "exp3s", kills=3)
    assert any(end.resumed for end in ends)
    assert lives.differences(undisturbed("exp3s"), run) == []


def test_row_32_so_does_a_policy_that_holds_averages_of_what_it_measured(project, lives, undisturbed):
    run = project / "killed-auto"
    moments = random.Random("auto 1")
    late = lives.start(project, run, lives.SCHEDULES["auto"])
    assert lives.await_moment(late, lambda: lives.steps_logged(run) > 60)
    late.kill()
    late.communicate()
    newest, _ = checkpoint.newest_whole(run / "checkpoints")
    assert 60 < newest.host()["dev_sampler"]["next"] < 100  # between two measurements
    end = lives.kill_once(lives.start(project, run, lives.SCHEDULES["auto"]), run, moments, "save")
    assert end.killed and end.resumed
    lives.finish(project, run, lives.SCHEDULES["auto"])
    whole = undisturbed("auto")
    assert lives.differences(whole, run) == []
    shares = (whole / "probs.csv").read_text(encoding="utf-8").splitlines()
    assert shares[45].split(",")[1:] != shares[-1].split(",")[1:]  # it had learned something


def test_row_01_a_run_killed_as_soon_as_it_has_logs_can_be_resumed(project, lives):
    run = project / "newborn"
    process = lives.start(project, run, lives.SCHEDULES["lagged"])
    assert lives.await_moment(process, (run / "pulls.csv").exists)
    process.kill()
    process.communicate()
    process = lives.start(project, run, lives.SCHEDULES["lagged"])
    begun = lives.await_moment(process, lambda: lives.steps_logged(run) > 0)
    process.kill()
    _, said = process.communicate()
    assert begun, said


def test_row_16_two_runs_with_the_same_seed_are_bit_identical(project, lives, undisturbed):
    run = project / "twin"
    lives.finish(project, run, lives.SCHEDULES["lagged"])
    assert lives.differences(undisturbed("lagged"), run) == []
