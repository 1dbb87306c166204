"""The sampler as a loader with prefetching uses it, without the loader."""

import json
from collections import Counter, deque

import pytest

from facetmt.adapters import draws
from facetmt.adapters.batches import FacetBatches
from facetmt.bandit import Exp3, FacetScheduler, Static

FACETS = {"a": range(10), "b": range(10, 40), "c": range(40, 200)}


def sampler(rows=None, kappa=4.0, policy=None, **settings):
    policy = policy or Exp3(3, learning_rate=0.3, exploration=0.25)
    scheduler = FacetScheduler(list(FACETS), policy, "dev-pg", seed=3, rows=rows, kappa=kappa)
    return FacetBatches(scheduler, FACETS, **{"batch_size": 6, **settings})


KINDS = {
    "size": {},
    "mixed": {"rows": 6},
    "tokens": {"batch_size": None, "tokens": 60, "lengths": [1 + n * 7 % 19 for n in range(200)]},
    "mixed tokens": {"rows": 4, "batch_size": None, "tokens": 60, "lengths": [1 + n % 9 for n in range(200)]},
}


class Loader:
    """Draws `ahead` batches before the first one is used, as PyTorch's does."""

    def __init__(self, batches, ahead):
        self._draws, self._ahead, self._queue = iter(batches), ahead, deque()

    def __next__(self):
        while len(self._queue) < max(self._ahead, 1):
            self._queue.append(next(self._draws))
        batch = self._queue.popleft()
        if self._ahead:
            self._queue.append(next(self._draws))
        return batch


def train(batches, loader, steps):
    """(facet, samples, reward) of each step; a reward that depends on the samples alone."""
    rows = []
    for _ in range(steps):
        batch = next(loader)
        name = batches.name(batches.waiting[0])
        record = batches.feedback(before=0.0, after=-sum(map(float, batch)) / 1e3)
        rows.append((name, batch, record.scaled))
    return rows


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ahead", [0, 5])
def test_a_restored_sampler_continues_as_if_nothing_had_happened(kind, ahead):
    whole = sampler(**KINDS[kind])
    expected = train(whole, Loader(whole, ahead), 60)
    first = sampler(**KINDS[kind])
    done = train(first, Loader(first, ahead), 23)
    state = json.loads(
        json.dumps(first.state_dict(), sort_keys=True)
    )  # what was drawn ahead is thrown away here
    second = sampler(**KINDS[kind])
    second.load_state_dict(state)
    assert done + train(second, Loader(second, ahead), 37) == expected
    assert second.state_dict() == whole.state_dict()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ahead", [0, 5])
def test_a_state_asked_for_when_a_batch_is_drawn_is_complete_once_it_was_used(kind, ahead):
    """As torchdata's StatefulDataLoader asks."""
    whole = sampler(**KINDS[kind])
    expected = train(whole, Loader(whole, ahead), 40)
    first = sampler(**KINDS[kind])
    draws, queue, states, done = iter(first), deque(), deque(), []

    def draw():
        queue.append(next(draws))
        states.append((first.state_dict(), draws.state_dict()))

    for _ in range(17):
        while len(queue) < max(ahead, 1):
            draw()
        batch, kept = queue.popleft(), states.popleft()
        if ahead:
            draw()
        name = first.name(first.waiting[0])
        record = first.feedback(before=0.0, after=-sum(map(float, batch)) / 1e3)
        done.append((name, batch, record.scaled))
    if not ahead:
        kept = first.state_dict(), draws.state_dict()
    train(first, Loader(first, ahead), 3)  # what happens after must not change what was saved
    second = sampler(**KINDS[kind])
    second.load_state_dict(kept[0])
    iterator = iter(second)
    iterator.load_state_dict(kept[1])
    assert done + train(second, Loader(second, ahead), 23) == expected


def test_policies_that_learn_nothing_are_exact_without_feedback():
    first, draws, states = sampler(policy=Static([0.2, 0.3, 0.5])), None, []
    draws = iter(first)
    expected = []
    for _ in range(9):
        expected.append(next(draws))
        states.append((json.loads(json.dumps(first.state_dict())), draws.state_dict()))
    second = sampler(policy=Static([0.2, 0.3, 0.5]))
    second.load_state_dict(states[3][0])
    rest = iter(second)
    rest.load_state_dict(states[3][1])
    assert [next(rest) for _ in range(5)] == expected[4:]


@pytest.mark.parametrize("kind", KINDS)
def test_ranks_draw_the_same_arms_and_share_the_samples(kind):
    settings = {"kappa": 4.0, **KINDS[kind]}
    if kind == "mixed":
        settings["rows"] = 12
    ranks = [sampler(**settings, rank=rank, world=2) for rank in (0, 1)]
    seen: Counter[int] = Counter()
    for left, right in zip(*map(iter, ranks), strict=True):
        assert ranks[0].waiting == ranks[1].waiting
        seen.update(left + right)
        for batches in ranks:
            batches.feedback(before=1.0, after=1 / (1 + min(left + right)))
        assert ranks[0].fingerprint() == ranks[1].fingerprint()
        if ranks[0].used_batches == 50:
            break
    for name, epochs in ranks[0].epochs().items():
        assert {seen[index] for index in FACETS[name]} <= {int(epochs), int(epochs) + 1}
    ranks[0].scheduler.measured([0.0, 0.0, 1.0])
    assert ranks[0].fingerprint() != ranks[1].fingerprint()


@pytest.mark.parametrize("rows", [None, 12])
def test_two_ranks_have_the_samples_of_one_with_the_same_batch(rows):
    one = iter(sampler(rows, batch_size=12))
    two = [iter(sampler(rows, rank=rank, world=2)) for rank in (0, 1)]
    for _ in range(20):
        whole = next(one)
        assert [next(draws) for draws in two] == [whole[::2], whole[1::2]]


def test_mixed_batches_have_the_rows_of_their_pull():
    batches = sampler(rows=6)
    for batch, _ in zip(batches, range(50), strict=False):
        rows = batches.waiting[0].pull.rows
        assert [sum(index in samples for index in batch) for samples in FACETS.values()] == list(rows)
        batches.feedback(before=1.0, after=0.9)
    shares = batches.shares()  # of the rows that were used
    assert sum(shares.values()) == pytest.approx(1) and min(shares.values()) > 0


@pytest.mark.parametrize("ahead", [0, 4])
def test_leaving_a_loader_early_loses_and_repeats_nothing(ahead):
    batches = sampler(batches=7)
    seen: Counter[int] = Counter()
    for _ in range(60):
        loader = Loader(batches, 0) if not ahead else iter(batches)
        for _ in range(3 if ahead else 5):
            try:
                batch = next(loader)
            except StopIteration:
                break
            seen.update(batch)
            batches.feedback(before=1.0, after=0.9)
        if ahead:
            for _ in range(ahead):
                next(loader, None)  # drawn ahead, then given up
    for name, epochs in batches.epochs().items():
        counts = [seen[index] for index in FACETS[name]]
        assert {int(epochs)} <= set(counts) <= {int(epochs), int(epochs) + 1}


def test_an_iteration_has_the_number_of_batches_asked_for_also_after_a_restore():
    batches = sampler(batches=5)
    assert len(batches) == 5
    draws = iter(batches)
    for _ in range(2):
        next(draws)
        batches.used()
    other = sampler(batches=5)
    other.load_state_dict(batches.state_dict())
    assert len(list(other)) == 3  # none of them was reported as used: they all come again
    for _ in iter(other):
        other.used()
    assert len(list(other)) == 5


def test_mistakes_are_told(monkeypatch):
    batches = sampler()
    with pytest.raises(TypeError, match="never ends"):
        len(batches)
    with pytest.raises(RuntimeError, match="take the next batch"):
        batches.feedback(before=1.0, after=0.5)
    old = iter(batches)
    next(old)
    iter(batches)
    with pytest.raises(RuntimeError, match="one loader at a time"):
        next(old)
    monkeypatch.setattr(draws, "MOST_WAITING", 3)
    with pytest.raises(RuntimeError, match="call feedback"):
        list(zip(range(5), batches, strict=False))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"batch_size": None}, "either batch_size, or tokens"),
        ({"tokens": 5}, "either batch_size, or tokens"),
        ({"batch_size": None, "tokens": 5}, "either batch_size, or tokens"),
        ({"batch_size": 0}, "at least 1"),
        ({"rank": 2, "world": 2}, "rank from 0 to below world"),
        ({"rows": 7}, "give FacetScheduler rows=6"),
        ({"rows": 5, "world": 2, "batch_size": None, "tokens": 9, "lengths": [1] * 200}, "shared by 2 ranks"),
    ],
)
def test_settings_that_cannot_be_meant(settings, message):
    with pytest.raises(ValueError, match=message):
        sampler(**settings)


def test_a_state_of_other_settings_or_data_is_refused():
    state = sampler().state_dict()
    with pytest.raises(ValueError, match="saved with seed 1, not 2"):
        sampler(seed=2).load_state_dict(state)
    scheduler = FacetScheduler(list(FACETS), Exp3(3), "dev-pg")
    with pytest.raises(ValueError, match="a had 10 samples when saved, now 11"):
        FacetBatches(scheduler, {**FACETS, "a": range(11)}, batch_size=6).load_state_dict(state)
    two = FacetBatches(FacetScheduler(["a", "b"], Exp3(2), "dev-pg"), {"a": [1], "b": [2]}, batch_size=6)
    with pytest.raises(ValueError, match="saved with the facets a, b, c"):
        two.load_state_dict(state)
