"""lt.Mixture: several loaders as one, by weight."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from . import _loader

# Shares and credits are whole numbers, this many to a batch: a resumed run adds up to the same bits, and weights change
# without rounding what is owed. Weights in thousandths, and ratios of small numbers, are exact.
_ONE = math.lcm(*range(1, 29)) * 5 << 8

Weights = Sequence[float] | Mapping[str, float]


class Source(NamedTuple):
    """Which of a mixture's loaders it is."""

    index: int  # type: ignore[assignment]  # a tuple's method of that name is not missed
    name: str


class MixtureStats(NamedTuple):
    """How a mixture has done: all together, and each of its loaders by name."""

    total: _loader.LoaderStats
    by_source: dict[str, _loader.LoaderStats]

    def __str__(self) -> str:
        return "\n".join([str(self.total), *(f"  {name}: {stats}" for name, stats in self.by_source.items())])


class Mixture(_loader.Loader):
    """Batches of several loaders, each as often as its weight says, in an order that is the same on every rank.

    Every batch goes to the loader that is furthest behind its share; ties go to the first. Each has then had its share
    of the batches so far, less than one batch more, and less than ``len(loaders) - 1`` batches fewer.

    >>> web = lt.TokenLoader(tokens_path, block=8, batch=4)
    >>> code = lt.TokenLoader(tokens_path, block=8, batch=4, seed=1)
    >>> mixture = lt.Mixture({"web": web, "code": code}, weights={"web": 3, "code": 1})
    >>> [mixture.source.name for _, batch in zip(range(8), mixture)]
    ['web', 'web', 'code', 'web', 'web', 'web', 'code', 'web']
    >>> mixture.counts
    {'web': 6, 'code': 2}
    >>> mixture.weights = [1, 1]                       # from here on; nothing is lost or repeated
    >>> mixture.close()

    :param loaders: a list, or a dict by name. Each must be the mixture's alone.
    :param weights: by order or by name; all alike by default. Only their ratios matter; 0 leaves a loader out.
    :param until: what ends a loop, if loaders end (``epochs=``): "all" goes on with the rest until every loader has
        ended, "any" stops when the first has. The next loop begins the next epoch of those that ended. Ranks agree on
        the order if they get the same number of batches: use ``drop_last=True`` with more than one.
    """

    def __init__(
        self,
        loaders: Sequence[_loader.Loader] | Mapping[str, _loader.Loader],
        weights: Weights | None = None,
        *,
        names: Sequence[str] | None = None,
        until: str = "all",
    ) -> None:
        if isinstance(loaders, Mapping):
            names = list(loaders) if names is None else names
            loaders = list(loaders.values())
        self._loaders = list(loaders)
        self._names = [str(i) for i in range(len(self._loaders))] if names is None else [str(name) for name in names]
        _check_loaders(self._loaders, self._names)
        if until not in ("all", "any"):
            raise ValueError(f'until must be "all" or "any", not {until!r}')
        self._until = until
        count = len(self._loaders)
        self._counts, self._credits, self._ended = [0] * count, [0] * count, [False] * count
        self._last: int | None = None
        self._loop_ended = False
        self._turn, self._turns = 0, 1
        self.weights = [1.0] * count if weights is None else weights

    @property
    def weights(self) -> list[float]:
        """The weights as they were given. They may be set between two batches, by order or by name."""
        return list(self._weights)

    @weights.setter
    def weights(self, weights: Weights) -> None:
        self._weights = _checked_weights(weights, self._names)
        self._shares = _shares(self._weights, self._ended)

    @property
    def loaders(self) -> list[_loader.Loader]:
        """The loaders, in order."""
        return list(self._loaders)

    @property
    def names(self) -> list[str]:
        """Their names."""
        return list(self._names)

    @property
    def source(self) -> Source | None:
        """Where the last batch came from."""
        return None if self._last is None else Source(self._last, self._names[self._last])

    @property
    def counts(self) -> dict[str, int]:
        """Batches so far, by name."""
        return dict(zip(self._names, self._counts, strict=True))

    def _next(self) -> Any:
        batch = None
        # In a worker, the others' batches are made and dropped: which loader a turn gets depends on all before it.
        for turn in range(self._turns):
            made = self._advance()
            if made is None:
                if turn > self._turn:
                    self._loop_ended = True
                break
            if turn == self._turn:
                batch = made
        return batch

    def _advance(self) -> Any:
        if self._loop_ended:
            self._loop_ended = False
            return None
        while (chosen := _furthest_behind(self._credits, self._shares)) is not None:
            batch = self._loaders[chosen]._next()
            if batch is not None:
                self._serve(chosen)
                return batch
            self._end(chosen)
            if self._until == "any":
                break
        self._begin_loop()
        return None

    def _serve(self, chosen: int) -> None:
        self._credits = _served(self._credits, self._shares, chosen)
        self._counts[chosen] += 1
        self._last = chosen

    def _end(self, chosen: int) -> None:
        self._ended[chosen] = True
        self._credits[chosen] = 0
        self._shares = _shares(self._weights, self._ended)

    def _begin_loop(self) -> None:
        count = len(self._loaders)
        self._ended = [False] * count
        self._credits = [0] * count
        self._shares = _shares(self._weights, self._ended)

    def state_dict(self, *, ahead: int = 0) -> dict[str, Any]:
        """Where the mixture and each of its loaders stand, or will stand after ``ahead`` more batches: exact, JSON.

        >>> mixture = lt.Mixture([lt.TokenLoader(tokens_path, block=8, batch=4)])
        >>> mixture.state_dict(ahead=5)["counts"]
        [5]
        """
        plan = _Plan(self)
        plan.advance(ahead)
        return self._packed(plan)

    def _state_after_loop(self) -> dict[str, Any]:
        plan = _Plan(self)
        plan.finish()
        return self._packed(plan)

    def _packed(self, plan: _Plan) -> dict[str, Any]:
        return {
            "lowtide": "mixture",
            "version": 1,
            "names": list(self._names),
            "weights": list(self._weights),
            "counts": plan.counts,
            "credits": plan.credits,
            "ended": plan.ended,
            "loop_ended": plan.loop_ended,
            "loaders": [
                loader._state_after_loop() if past else loader.state_dict(ahead=taken)
                for loader, taken, past in zip(self._loaders, plan.taken, plan.past, strict=True)
            ],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on with the very next batch of a saved state, with its weights."""
        fields = _loader.checked_state(state, "mixture")
        with _loader.damage("mixture"):
            if list(fields["names"]) != self._names:
                raise ValueError(f"it is of {fields['names']}, and this is a mixture of {self._names}")
            weights = _checked_weights(fields["weights"], self._names)
            counts, credits = [int(n) for n in fields["counts"]], [int(n) for n in fields["credits"]]
            ended, loop_ended = [bool(n) for n in fields["ended"]], bool(fields["loop_ended"])
            states = list(fields["loaders"])
            if not len(counts) == len(credits) == len(ended) == len(states) == len(self._loaders):
                raise ValueError("not one entry a loader")
        for loader, own in zip(self._loaders, states, strict=True):
            loader.load_state_dict(own)
        self._counts, self._credits, self._ended = counts, credits, ended
        self._weights, self._loop_ended, self._last = weights, loop_ended, None
        self._shares = _shares(weights, ended)

    def stats(self) -> MixtureStats:
        """How the loaders have done, together and by name."""
        parts = {name: loader.stats() for name, loader in zip(self._names, self._loaders, strict=True)}
        return MixtureStats(_loader.total_stats(list(parts.values())), parts)

    def _stop(self) -> None:
        for loader in self._loaders:
            loader._stop()

    def _take_turns(self, worker: int, worker_count: int) -> None:
        self._turn, self._turns = worker, worker_count

    def _batches_left(self) -> int | None:
        return None if (plan := _Plan(self)).endless() else plan.finish()

    def __len__(self) -> int:
        """Batches of a loop; TypeError if it never ends, or if which loader ends first decides."""
        served = [loader for loader, weight in zip(self._loaders, self._weights, strict=True) if weight > 0]
        if self._until == "any":
            raise TypeError('a mixture with until="any" has no length before it has run')
        return sum(len(loader) for loader in served)

    def __repr__(self) -> str:
        whole = sum(self._weights)
        parts = ", ".join(f"{n} {w / whole:.1%}" for n, w in zip(self._names, self._weights, strict=True))
        return f"<lowtide.Mixture of {len(self._loaders)}: {parts}; until {self._until}>"


class _Plan:
    """The order of a mixture's batches, worked out without making them."""

    def __init__(self, mixture: Mixture) -> None:
        self._weights, self._until = mixture._weights, mixture._until
        self._left = [loader._batches_left() for loader in mixture._loaders]
        self._shares = list(mixture._shares)
        self.counts, self.credits, self.ended = list(mixture._counts), list(mixture._credits), list(mixture._ended)
        self.loop_ended = mixture._loop_ended
        self.taken = [0] * len(self.counts)
        self.past = [False] * len(self.counts)  # who would have been asked for a batch behind its last

    def advance(self, batches: int) -> None:
        """So many batches further on; ValueError if the loop ends before."""
        for done in range(batches):
            if not self._step():
                raise ValueError(f"the loop ends after {done} batches, so there is no state {batches} ahead")

    def finish(self) -> int:
        """To where the next loop begins; how many batches that took."""
        count = 0
        while self._step():
            count += 1
        self.ended, self.credits, self.loop_ended = [False] * len(self.ended), [0] * len(self.credits), False
        return count

    def endless(self) -> bool:
        """Whether no loop of this mixture ends."""
        left = [n for n, share in zip(self._left, self._shares, strict=True) if share > 0]
        return not self.loop_ended and (None in left if self._until == "all" else all(n is None for n in left))

    def _step(self) -> bool:
        while (chosen := None if self.loop_ended else _furthest_behind(self.credits, self._shares)) is not None:
            left = self._left[chosen]
            if left is None or self.taken[chosen] < left:
                self.credits = _served(self.credits, self._shares, chosen)
                self.counts[chosen] += 1
                self.taken[chosen] += 1
                return True
            self.ended[chosen] = self.past[chosen] = True
            self.credits[chosen] = 0
            self._shares = _shares(self._weights, self.ended)
            if self._until == "any":
                return False
        return False


def _furthest_behind(credits: list[int], shares: list[int]) -> int | None:
    """Who is served next: the largest credit, once each has got its share; the first of equals."""
    candidates = [i for i, share in enumerate(shares) if share > 0]
    return max(candidates, key=lambda i: credits[i] + shares[i], default=None)


def _served(credits: list[int], shares: list[int], chosen: int) -> list[int]:
    return [
        credit + share - (_ONE if i == chosen else 0)
        for i, (credit, share) in enumerate(zip(credits, shares, strict=True))
    ]


def _shares(weights: list[float], ended: list[bool]) -> list[int]:
    """Weights as whole units that add up to one exactly; nothing for who has ended."""
    ratios = [(0, 1) if over else weight.as_integer_ratio() for weight, over in zip(weights, ended, strict=True)]
    scale = math.lcm(*(denominator for _, denominator in ratios))
    exact = [numerator * (scale // denominator) for numerator, denominator in ratios]
    whole = sum(exact)
    if whole == 0:
        return [0] * len(weights)
    # Rounded up for whoever has a weight at all, so that none is left out for being light.
    shares = [max(weight * _ONE // whole, 1 if weight else 0) for weight in exact]
    heaviest = max(range(len(shares)), key=lambda i: shares[i])
    by_remainder = sorted(range(len(shares)), key=lambda i: -(exact[i] * _ONE % whole))
    for i in by_remainder[: max(0, _ONE - sum(shares))]:
        shares[i] += 1
    shares[heaviest] += _ONE - sum(shares)
    return shares


def _checked_weights(weights: Any, names: list[str]) -> list[float]:
    if isinstance(weights, Mapping):
        if set(weights) != set(names):
            raise ValueError(
                f"weights must be given for {', '.join(names)}, but they are for {', '.join(map(str, weights))}"
            )
        weights = [weights[name] for name in names]
    values = [float(weight) for weight in weights]
    if len(values) != len(names):
        raise ValueError(f"there are {len(names)} loaders and {len(values)} weights")
    for name, value in zip(names, values, strict=True):
        if not math.isfinite(value) or value < 0:
            raise ValueError(f"weights must be finite and not negative, but that of {name} is {value}")
    if not any(values):
        raise ValueError("all weights are 0: nothing would ever be loaded")
    return values


def _check_loaders(loaders: list[Any], names: list[str]) -> None:
    if not loaders:
        raise ValueError("a mixture needs at least one loader")
    for loader in loaders:
        if not isinstance(loader, _loader.Loader):
            raise TypeError(f"a mixture is of lowtide's loaders, not of {type(loader).__name__}")
    if len({id(loader) for loader in loaders}) < len(loaders):
        raise ValueError("a loader can be in a mixture only once: open the same data twice, or raise its weight")
    if len(names) != len(loaders):
        raise ValueError(f"there are {len(loaders)} loaders and {len(names)} names")
    if len(set(names)) < len(names):
        raise ValueError(f"names must differ, but they are {json.dumps(names)}")
