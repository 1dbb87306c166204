"""The batch sampler in PyTorch's own loaders, with workers that prefetch."""

import multiprocessing
from collections import Counter

import pytest

torch = pytest.importorskip("torch", reason="the adapters' libraries are missing: make test-adapters")

from accelerate import Accelerator  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402
from torchdata.stateful_dataloader import StatefulDataLoader  # noqa: E402

from facetmt.adapters.torch import FacetBatchSampler  # noqa: E402
from facetmt.bandit import Exp3, FacetScheduler  # noqa: E402

FACETS = {"a": range(10), "b": range(10, 40), "c": range(40, 200)}
LENGTHS = [1 + number * 7 % 19 for number in range(200)]
KINDS = {
    "size": {"batch_size": 6},
    "mixed": {"batch_size": 6, "rows": 6},
    "tokens": {"tokens": 60, "lengths": LENGTHS},
}
# other tests may have loaded JAX into this process, and a fork of its threads can hang
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["torch"])
ONE_WORKER = {"num_workers": 1, "multiprocessing_context": SERVER}
TWO_WORKERS = {"num_workers": 2, "multiprocessing_context": SERVER}
LOADERS = {
    "no workers": {},
    "two workers": {**TWO_WORKERS, "prefetch_factor": 3},
    "persistent workers": {**TWO_WORKERS, "persistent_workers": True},
}
NUMBERS = range(200)  # a data set whose samples are their own indices


def sampler(rows=None, **settings):
    policy = Exp3(3, learning_rate=0.3, exploration=0.25)
    scheduler = FacetScheduler(list(FACETS), policy, "dev-pg", seed=3, rows=rows, kappa=4.0)
    return FacetBatchSampler(scheduler, FACETS, **settings)


def train(batches, loader, steps):
    """(facet, samples, scaled reward) of each step."""
    rows = []
    for batch in loader:
        name = batches.name(batches.waiting[0])
        record = batches.feedback(before=0.0, after=-float(batch.sum()) / 1e3)
        rows.append((name, batch.tolist(), record.scaled))
        if len(rows) == steps:
            return rows
    return rows


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("workers", LOADERS)
def test_a_saved_and_restored_sampler_draws_what_an_undisturbed_one_draws(kind, workers, tmp_path):
    whole = sampler(**KINDS[kind])
    expected = train(whole, DataLoader(NUMBERS, batch_sampler=whole, **LOADERS[workers]), 40)
    first = sampler(**KINDS[kind])
    done = train(first, DataLoader(NUMBERS, batch_sampler=first, **LOADERS[workers]), 13)
    torch.save(first.state_dict(), tmp_path / "state.pt")
    second = sampler(**KINDS[kind])
    second.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    rest = train(second, DataLoader(NUMBERS, batch_sampler=second, **LOADERS[workers]), 27)
    assert done + rest == expected


@pytest.mark.filterwarnings("ignore:'set_vital' is deprecated")  # torchdata calls it
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("workers", LOADERS)
def test_the_stateful_loader_saves_the_sampler_with_it(kind, workers, tmp_path):
    whole = sampler(**KINDS[kind])
    expected = train(whole, StatefulDataLoader(NUMBERS, batch_sampler=whole, **LOADERS[workers]), 30)
    first = sampler(**KINDS[kind])
    loader = StatefulDataLoader(NUMBERS, batch_sampler=first, **LOADERS[workers])
    done = train(first, loader, 11)
    torch.save(loader.state_dict(), tmp_path / "state.pt")
    second = sampler(**KINDS[kind])
    loader = StatefulDataLoader(NUMBERS, batch_sampler=second, **LOADERS[workers])
    loader.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    assert done + train(second, loader, 19) == expected


def test_accelerate_saves_and_restores_the_sampler(tmp_path):
    whole = sampler(batch_size=6)
    expected = train(whole, DataLoader(NUMBERS, batch_sampler=whole, **ONE_WORKER), 30)
    first, saving = sampler(batch_size=6), Accelerator(cpu=True)
    saving.register_for_checkpointing(first)
    done = train(first, DataLoader(NUMBERS, batch_sampler=first, **ONE_WORKER), 11)
    saving.save_state(tmp_path / "state")
    second, loading = sampler(batch_size=6), Accelerator(cpu=True)
    loading.register_for_checkpointing(second)
    loading.load_state(tmp_path / "state")
    assert done + train(second, DataLoader(NUMBERS, batch_sampler=second, **ONE_WORKER), 19) == expected


def test_every_epoch_of_a_facet_has_each_sample_once_with_other_workers_after_each_restore():
    seen: Counter[int] = Counter()
    state = None
    for number, workers in enumerate([*LOADERS.values()] * 3):
        batches = sampler(batch_size=6)
        if state is not None:
            batches.load_state_dict(state)
        loader = DataLoader(NUMBERS, batch_sampler=batches, **workers)
        for _, samples, _ in train(batches, loader, 5 + number):
            seen.update(samples)
        state = batches.state_dict()
    for name, epochs in batches.epochs().items():
        assert {seen[index] for index in FACETS[name]} <= {int(epochs), int(epochs) + 1}


def test_iterations_of_a_number_of_batches():
    batches = sampler(batch_size=6, batches=4)
    loader = DataLoader(NUMBERS, batch_sampler=batches, **ONE_WORKER, persistent_workers=True)
    assert len(loader) == 4
    assert [len(train(batches, loader, 100)) for _ in range(3)] == [4, 4, 4]
