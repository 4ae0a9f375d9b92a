"""Whose turn it is in a mixture, worked out in whole numbers, and without making a batch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .mixture import Mixture

# Shares and credits are whole numbers, this many to a batch: a resumed run adds up to the same bits, and weights change
# without rounding what is owed. Weights in thousandths, and ratios of small numbers, are exact.
ONE = math.lcm(*range(1, 29)) * 5 << 8


class Plan:
    """The order of a mixture's batches, worked out without making them."""

    def __init__(self, mixture: Mixture) -> None:
        self._weights, self._until, self._size = mixture._weights, mixture._until, mixture._size
        self._left = [loader._batches_left() for loader in mixture._loaders]
        self._shares = list(mixture._shares)
        self.counts, self.credits, self.ended = list(mixture._counts), list(mixture._credits), list(mixture._ended)
        self.loop_ended, self.begun = mixture._loop_ended, mixture._begun
        self.taken = [0] * len(self.counts)
        self.past = [False] * len(self.counts)  # who would have been asked for a batch behind its last

    def advance(self, batches: int) -> None:
        """So many batches further on; ValueError if the loop ends before."""
        for done in range(batches):
            if not self._batch():
                raise ValueError(f"the loop ends after {done} batches, so there is no state {batches} ahead")

    def finish(self) -> int:
        """To where the next loop begins; how many batches that took."""
        count = 0
        while self._batch():
            count += 1
        self.ended, self.credits, self.loop_ended = [False] * len(self.ended), [0] * len(self.credits), False
        self.begun = False
        return count

    def _batch(self) -> bool:
        if self.loop_ended:
            return False
        steps = 0
        while steps < self._size and self._step():
            steps += 1
        if 0 < steps < self._size:  # the loop ended with it, and the next one begins as Mixture._start_over leaves it
            self.ended, self.credits = [False] * len(self.ended), [0] * len(self.credits)
            self.loop_ended, self.begun = True, False
        return steps > 0

    def endless(self) -> bool:
        """Whether no loop of this mixture ends."""
        left = [n for n, share in zip(self._left, self._shares, strict=True) if share > 0]
        return not self.loop_ended and (None in left if self._until == "all" else all(n is None for n in left))

    def _step(self) -> bool:
        while (chosen := furthest_behind(self.credits, self._shares)) is not None:
            left = self._left[chosen]
            if left is None or self.taken[chosen] < left:
                self.credits = served(self.credits, self._shares, chosen)
                self.counts[chosen] += 1
                self.taken[chosen] += 1
                self.begun = True
                return True
            self.ended[chosen] = self.past[chosen] = True
            self.credits[chosen] = 0
            self._shares = shares_of(self._weights, self.ended)
            if self._until == "any":
                return False
        return False


def furthest_behind(credits: list[int], shares: list[int]) -> int | None:
    """Who is served next: the largest credit, once each has got its share; the first of equals."""
    candidates = [i for i, share in enumerate(shares) if share > 0]
    return max(candidates, key=lambda i: credits[i] + shares[i], default=None)


def served(credits: list[int], shares: list[int], chosen: int) -> list[int]:
    return [
        credit + share - (ONE if i == chosen else 0)
        for i, (credit, share) in enumerate(zip(credits, shares, strict=True))
    ]


def shares_of(weights: list[float], ended: list[bool]) -> list[int]:
    """Weights as whole units that add up to one exactly; nothing for who has ended."""
    ratios = [(0, 1) if over else weight.as_integer_ratio() for weight, over in zip(weights, ended, strict=True)]
    scale = math.lcm(*(denominator for _, denominator in ratios))
    exact = [numerator * (scale // denominator) for numerator, denominator in ratios]
    whole = sum(exact)
    if whole == 0:
        return [0] * len(weights)
    # Rounded up for whoever has a weight at all, so that none is left out for being light.
    shares = [max(weight * ONE // whole, 1 if weight else 0) for weight in exact]
    heaviest = max(range(len(shares)), key=lambda i: shares[i])
    by_remainder = sorted(range(len(shares)), key=lambda i: -(exact[i] * ONE % whole))
    for i in by_remainder[: max(0, ONE - sum(shares))]:
        shares[i] += 1
    shares[heaviest] += ONE - sum(shares)
    return shares
