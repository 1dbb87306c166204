"""PyTorch: a batch sampler for `DataLoader`, and what several processes must agree on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy.typing as npt
import torch
import torch.distributed as dist
from torch.utils.data import Sampler

from facetmt.adapters.batches import FacetBatches
from facetmt.adapters.draws import FacetDraws
from facetmt.bandit import FacetScheduler


class FacetBatchSampler(FacetBatches, Sampler[list[int]]):
    """`DataLoader(dataset, batch_sampler=...)`, with any number of workers and prefetched batches.

    Call `feedback` (or `used`) once after each batch; the loader must keep its order (`in_order=True`).
    Every process of `torch.distributed` draws the same facets and has its own part of the samples: leave
    the loader out of `accelerator.prepare`, and give all processes the same losses (`mean_over_ranks`).
    """

    def __init__(
        self,
        scheduler: FacetScheduler,
        facets: Mapping[str, Sequence[int] | npt.NDArray[Any] | range] | Sequence[Any] | npt.NDArray[Any],
        *,
        batch_size: int | None = None,
        tokens: int | None = None,
        lengths: Sequence[int] | npt.NDArray[Any] | None = None,
        seed: int = 1,
        batches: int | None = None,
        rank: int | None = None,
        world: int | None = None,
    ) -> None:
        """As `FacetBatches`; rank and world are those of `torch.distributed` where it was initialised."""
        here, all_of_them = ranks()
        super().__init__(
            scheduler,
            facets,
            batch_size=batch_size,
            tokens=tokens,
            lengths=lengths,
            seed=seed,
            batches=batches,
            rank=here if rank is None else rank,
            world=all_of_them if world is None else world,
        )


def ranks() -> tuple[int, int]:
    """Rank of this process, and number of processes."""
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    return 0, 1


def mean_over_ranks(values: torch.Tensor) -> torch.Tensor:
    """The mean over all processes, the same to the last bit on each of them."""
    _, world = ranks()
    if world == 1:
        return values
    total = values.detach().clone()
    dist.all_reduce(total)
    return total / world


def check_agreement(sampler: FacetDraws, device: torch.device | str = "cpu") -> None:
    """RuntimeError where processes have drawn or learned different things, such as after unequal losses."""
    rank, world = ranks()
    if world == 1:
        return
    mine = torch.tensor([sampler.fingerprint()], dtype=torch.int64, device=device)
    found = [torch.zeros_like(mine) for _ in range(world)]
    dist.all_gather(found, mine)
    if others := [other for other, value in enumerate(found) if value.item() != mine.item()]:
        raise RuntimeError(
            f"ranks {rank} and {others[0]} drew or learned different things by batch {sampler.used_batches}; "
            "give feedback with the same losses on all ranks (mean_over_ranks)"
        )
