"""The median of a few paired ratios and an interval for it."""

from __future__ import annotations

import math
import statistics


def median_interval(values: list[float]) -> dict:
    """The median and the narrowest symmetric pair of order statistics that covers the true median with 95 % or more.

    Distribution-free. With fewer than six values no pair does: then it is the range, and `coverage` says how much that
    is.
    """
    ordered = sorted(values)
    count = len(ordered)

    # Of the interval from the rank-th lowest to the rank-th highest value, rank counted from 1: how often the true median
    # lies outside, in units of 2**-count.
    rank, outside = 1, 2
    while rank < count // 2 and outside + 2 * math.comb(count, rank) <= 2**count * 5 // 100:
        outside += 2 * math.comb(count, rank)
        rank += 1
    return {
        "median": statistics.median(ordered),
        "low": ordered[rank - 1],
        "high": ordered[count - rank],
        "coverage": max(1.0 - outside / 2**count, 0.0),
        "count": count,
    }
