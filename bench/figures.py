"""The few figures that are made of samples."""

from collections.abc import Sequence
from math import ceil


def percentile(ordered: Sequence[float], share: float) -> float:
    """The smallest of the samples, given in ascending order, that at least `share` of them do not exceed."""
    return ordered[max(ceil(len(ordered) * share) - 1, 0)]


def median(samples: Sequence[float]) -> float:
    """The middle sample, or the mean of the two middle ones."""
    ordered = sorted(samples)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
