"""The bandit, usable alone: it needs nothing but NumPy."""

from facetmt.bandit.exp3 import Exp3, Exp3S
from facetmt.bandit.multidds import MultiDds
from facetmt.bandit.odm import AsMeasured, Odm
from facetmt.bandit.policy import Policy, Pull, Static, temperature_probs
from facetmt.bandit.reward import REWARDS, QuantileScaler
from facetmt.bandit.scheduler import FacetScheduler, Health, Record

__all__ = [
    "REWARDS",
    "AsMeasured",
    "Exp3",
    "Exp3S",
    "FacetScheduler",
    "Health",
    "MultiDds",
    "Odm",
    "Policy",
    "Pull",
    "QuantileScaler",
    "Record",
    "Static",
    "temperature_probs",
]
