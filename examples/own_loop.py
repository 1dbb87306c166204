"""The bandit in your own training loop: linear regression from three facets, one of them useless."""

import numpy as np

from facetmt.bandit import Exp3, FacetScheduler

FACETS = ["first half", "second half", "useless"]
rng = np.random.default_rng(1)
truth, model = rng.normal(size=20), np.zeros(20)


def batch(facet: str, size: int = 16) -> tuple[np.ndarray, np.ndarray]:
    x = rng.normal(size=(size, 20))
    x[:, 10:] *= facet != "first half"
    x[:, :10] *= facet != "second half"
    return x, x @ truth if facet != "useless" else rng.normal(size=size)


dev = [np.concatenate(part) for part in zip(*(batch(name, 200) for name in FACETS[:2]), strict=True)]
scheduler = FacetScheduler(FACETS, Exp3(3, learning_rate=0.1, exploration=0.25), reward="dev-pg", seed=1)
for _ in range(500):
    pull = scheduler.pull()
    x, y = batch(scheduler.facets[pull.arm])
    before = np.mean((dev[0] @ model - dev[1]) ** 2)
    model -= 0.01 * x.T @ (x @ model - y) / len(y)
    scheduler.feedback(pull, before=before, after=np.mean((dev[0] @ model - dev[1]) ** 2))
print(scheduler.counts())
