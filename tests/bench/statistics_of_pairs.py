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

    def coverage(rank: int) -> float:
        """Of the interval from the rank-th lowest to the rank-th highest value, rank counted from 1."""
        return 1.0 - 2 * sum(math.comb(count, k) for k in range(rank)) / 2**count

    rank = max((r for r in range(1, count // 2 + 1) if coverage(r) >= 0.95), default=1)
    return {
        "median": statistics.median(ordered),
        "low": ordered[rank - 1],
        "high": ordered[count - rank],
        "coverage": max(coverage(rank), 0.0),
        "count": count,
    }
