"""PyTorch: a causal language model on three text facets, one of them noise. `python torch_lm.py [RUN]`"""

import random
import sys

import torch
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader

from facetmt.adapters.log import FacetLog
from facetmt.adapters.torch import FacetBatchSampler
from facetmt.bandit import Exp3, FacetScheduler

random.seed(1)
torch.manual_seed(1)
ORDER = {"ascending": sorted, "descending": lambda line: sorted(line, reverse=True), "noise": list}
lines = [(name, ORDER[name](random.choices(range(64), k=24))) for name in ORDER for _ in range(2000)]
facets, data = [name for name, _ in lines], torch.tensor([line for _, line in lines])
dev = torch.cat([data[:50], data[2000:2050]])  # noise does not count

embed, recur = torch.nn.Embedding(64, 32), torch.nn.GRU(32, 64, batch_first=True)
predict = torch.nn.Linear(64, 64)
optimiser = torch.optim.Adam(torch.nn.ModuleList([embed, recur, predict]).parameters(), lr=0.003)


def loss(batch: torch.Tensor) -> torch.Tensor:
    return cross_entropy(predict(recur(embed(batch[:, :-1]))[0]).flatten(0, 1), batch[:, 1:].flatten())


scheduler = FacetScheduler(list(ORDER), Exp3(3, learning_rate=0.05, exploration=0.25), "dev-pgnorm", seed=1)
sampler = FacetBatchSampler(scheduler, facets, batch_size=16, batches=300)
with FacetLog(sys.argv[1] if len(sys.argv) > 1 else "runs/torch", sampler, steps=300, every=20) as log:
    for batch in DataLoader(data, batch_sampler=sampler, num_workers=1):
        before = loss(dev).item()
        optimiser.zero_grad()
        (trained := loss(batch)).backward()
        optimiser.step()
        log(sampler.feedback(before=before, after=loss(dev).item()), loss=trained.item())
print(sampler.shares())
