"""lt.Mixture: several loaders as one, by weight."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from . import _loader
from ._join import joined
from ._mixture_plan import Plan, furthest_behind, served, shares_of

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
    """Samples of several loaders, each as often as its weight says, in an order that is the same on every rank.

    Every sample is of the loader that is furthest behind its share; ties go to the first. Each has then had its share
    of the samples so far, less than one sample more, and less than ``len(loaders) - 1`` fewer. ``by="batch"`` mixes
    whole batches in the same way.

    >>> web = lt.TokenLoader(tokens_path, block=8, batch=4)
    >>> code = lt.TokenLoader(tokens_path, block=8, batch=4, seed=1)
    >>> mixture = lt.Mixture({"web": web, "code": code}, weights={"web": 3, "code": 1})
    >>> x, y = next(mixture)
    >>> x.shape, [source.name for source in mixture.sources]
    ((4, 8), ['web', 'web', 'code', 'web'])
    >>> mixture.counts
    {'web': 3, 'code': 1}
    >>> mixture.weights = [1, 1]                       # from here on; nothing is lost or repeated
    >>> mixture.add("wiki", lt.TokenLoader(tokens_path, block=8, batch=4, seed=2), weight=0.5)
    >>> mixture.close()

    :param loaders: a list, or a dict by name. Each must be the mixture's alone. Give each a seed of its own.
    :param weights: by order or by name; all alike by default. Only their ratios matter; 0 leaves a loader out.
    :param until: what ends a loop, if loaders end (``epochs=``): "all" goes on with the rest until every loader has
        ended, "any" stops when the first has. The next loop begins the next epoch of those that ended. Ranks agree on
        the order if they get the same number of batches: use ``drop_last=True`` with more than one.
    :param by: "sample" mixes within batches, of :class:`TokenLoader` and :class:`RowLoader` of the same batch, which
        are then asked for single samples: a ``transform`` of theirs sees one at a time. "batch" leaves batches whole.
    """

    def __init__(
        self,
        loaders: Sequence[_loader.Loader] | Mapping[str, _loader.Loader],
        weights: Weights | None = None,
        *,
        names: Sequence[str] | None = None,
        until: Literal["all", "any"] = "all",
        by: Literal["sample", "batch"] = "sample",
    ) -> None:
        if isinstance(loaders, Mapping):
            names = list(loaders) if names is None else names
            loaders = list(loaders.values())
        self._loaders = list(loaders)
        self._names = [str(i) for i in range(len(self._loaders))] if names is None else [str(name) for name in names]
        _check_loaders(self._loaders, self._names)
        if until not in ("all", "any"):
            raise ValueError(f'until must be "all" or "any", not {until!r}')
        if by not in ("sample", "batch"):
            raise ValueError(f'by must be "sample" or "batch", not {by!r}')
        self._until, self._by = until, by
        self._size = 1 if by == "batch" else _take_single_samples(self._loaders, None)
        count = len(self._loaders)
        self._counts, self._credits, self._ended = [0] * count, [0] * count, [False] * count
        self._row_sources: list[int] = []
        self._begun = False  # this loop has had a batch
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
        self._shares = shares_of(self._weights, self._ended)

    @property
    def loaders(self) -> list[_loader.Loader]:
        """The loaders, in order."""
        return list(self._loaders)

    @property
    def names(self) -> list[str]:
        """Their names."""
        return list(self._names)

    @property
    def sources(self) -> list[Source]:
        """Where the last batch came from: one for each sample, or, mixed by batch, one."""
        return [Source(i, self._names[i]) for i in self._row_sources]

    @property
    def source(self) -> Source | None:
        """Where the last batch came from, or, mixed by sample, the last of its samples."""
        return self.sources[-1] if self._row_sources else None

    @property
    def counts(self) -> dict[str, int]:
        """Samples so far, or, mixed by batch, batches, by name."""
        return dict(zip(self._names, self._counts, strict=True))

    @property
    def epochs(self) -> dict[str, float]:
        """How often each loader has gone through its data, by name: 1.25 is a quarter into the second time."""
        return {
            name: loader._core.place()[0] / loader._core.samples_per_epoch
            for name, loader in zip(self._names, self._loaders, strict=True)
            if isinstance(loader, _loader.CoreLoader)
        }

    def add(self, name: str, loader: _loader.Loader, weight: float) -> None:
        """One loader more, from here on. A state of before goes on in a mixture that has more loaders than it knew."""
        loaders, names = [*self._loaders, loader], [*self._names, str(name)]
        _check_loaders(loaders, names)
        weights = _checked_weights([*self._weights, weight], names)
        if self._by == "sample":
            _take_single_samples([loader], self._size)
        self._loaders, self._names = loaders, names
        self._counts, self._credits, self._ended = [*self._counts, 0], [*self._credits, 0], [*self._ended, False]
        self.weights = weights

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
        cores = [loader._core for loader in self._loaders if isinstance(loader, _loader.CoreLoader)]
        places = [core.place() for core in cores] if self._by == "sample" else []
        kept = list(self._counts), list(self._credits), list(self._ended), self._begun
        parts: list[Any] = []
        rows: list[int] = []
        try:
            while len(parts) < self._size and (unit := self._unit(rows)) is not None:
                parts.append(unit)
        except BaseException:
            for core, place in zip(cores, places, strict=False):
                core.seek(*place)
            self._counts, self._credits, self._ended, self._begun = kept
            self._shares = shares_of(self._weights, self._ended)
            raise
        if not parts:
            return None
        self._loop_ended = len(parts) < self._size
        self._row_sources = rows
        return parts[0] if self._by == "batch" else joined(parts)

    def _unit(self, rows: list[int]) -> Any:
        """The next sample, or batch, of whoever it is due to; None at the end of a loop, and the next one is begun."""
        while (chosen := furthest_behind(self._credits, self._shares)) is not None:
            batch = self._loaders[chosen]._next()
            if batch is not None:
                self._serve(chosen)
                rows.append(chosen)
                return batch
            self._end(chosen)
            if self._until == "any":
                break
        self._start_over()
        return None

    def _serve(self, chosen: int) -> None:
        self._credits = served(self._credits, self._shares, chosen)
        self._counts[chosen] += 1
        self._begun = True

    def _end(self, chosen: int) -> None:
        self._ended[chosen] = True
        self._credits[chosen] = 0
        self._shares = shares_of(self._weights, self._ended)

    def _begin_loop(self) -> None:
        if self._loop_ended:
            self._loop_ended = False
        elif self._begun and self._has_nothing_left():
            self._unit([])

    def _has_nothing_left(self) -> bool:
        due = [i for i, share in enumerate(self._shares) if share > 0]
        if self._until == "any":
            chosen = furthest_behind(self._credits, self._shares)
            due = [] if chosen is None else [chosen]
        return all(self._loaders[i]._batches_left() == 0 for i in due)

    def _start_over(self) -> None:
        count = len(self._loaders)
        self._begun = False
        self._ended = [False] * count
        self._credits = [0] * count
        self._shares = shares_of(self._weights, self._ended)

    def state_dict(self, *, ahead: int = 0) -> dict[str, Any]:
        """Where the mixture and each of its loaders stand, or will stand after ``ahead`` more batches: exact, JSON.

        >>> mixture = lt.Mixture([lt.TokenLoader(tokens_path, block=8, batch=4)])
        >>> mixture.state_dict(ahead=5)["counts"]       # of samples
        [20]
        """
        plan = Plan(self)
        plan.advance(ahead)
        return self._packed(plan)

    def _state_after_loop(self) -> dict[str, Any]:
        plan = Plan(self)
        plan.finish()
        return self._packed(plan)

    def _packed(self, plan: Plan) -> dict[str, Any]:
        return {
            "lowtide": "mixture",
            "version": _loader.VERSION,
            "by": self._by,
            "names": list(self._names),
            "weights": list(self._weights),
            "counts": plan.counts,
            "credits": plan.credits,
            "ended": plan.ended,
            "begun": plan.begun,
            "loop_ended": plan.loop_ended,
            "loaders": [
                loader._state_after_loop() if past else loader.state_dict(ahead=taken)
                for loader, taken, past in zip(self._loaders, plan.taken, plan.past, strict=True)
            ],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on with the very next batch of a saved state, with its weights.

        Loaders that the state does not know, behind those that it does, begin with their first sample.
        """
        fields = _loader.checked_state(state, "mixture")
        with _loader.damage("mixture"):
            names = list(fields["names"])
            if names != self._names[: len(names)]:
                raise ValueError(f"it is of {names}, and this is a mixture of {self._names}")
            if fields["by"] != self._by:
                raise ValueError(f'it mixes by="{fields["by"]}", and this mixture by="{self._by}"')
            new = len(self._names) - len(names)
            weights = _checked_weights([*fields["weights"], *self._weights[len(names) :]], self._names)
            counts = [int(n) for n in fields["counts"]] + [0] * new
            credits = [int(n) for n in fields["credits"]] + [0] * new
            ended = [bool(n) for n in fields["ended"]] + [False] * new
            begun, loop_ended, states = bool(fields["begun"]), bool(fields["loop_ended"]), list(fields["loaders"])
            if not len(counts) == len(credits) == len(ended) == len(states) + new == len(self._loaders):
                raise ValueError("not one entry a loader")
        for loader, own in zip(self._loaders, states, strict=False):
            loader.load_state_dict(own)
        self._counts, self._credits, self._ended = counts, credits, ended
        self._weights, self._begun, self._loop_ended, self._row_sources = weights, begun, loop_ended, []
        self._shares = shares_of(weights, ended)

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
        return None if (plan := Plan(self)).endless() else plan.finish()

    def __len__(self) -> int:
        """Batches of a loop; TypeError if it never ends, or if which loader ends first decides."""
        served = [loader for loader, weight in zip(self._loaders, self._weights, strict=True) if weight > 0]
        if self._until == "any":
            raise TypeError('a mixture with until="any" has no length before it has run')
        return -(-sum(len(loader) for loader in served) // self._size)

    def __repr__(self) -> str:
        whole = sum(self._weights)
        parts = ", ".join(f"{n} {w / whole:.1%}" for n, w in zip(self._names, self._weights, strict=True))
        return f"<lowtide.Mixture of {len(self._loaders)} by {self._by}: {parts}; until {self._until}>"


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


def _take_single_samples(loaders: Sequence[_loader.Loader], size: int | None) -> int:
    """Loaders from here on give one sample at a time; the batch that they had, which is the mixture's."""
    for loader in loaders:
        if not isinstance(loader, _loader.CoreLoader):
            raise TypeError(f'a {type(loader).__name__} gives whole batches only: use lt.Mixture(…, by="batch")')
        size = loader.batch if size is None else size
        if loader.batch != size:
            raise ValueError(f'batches of {size} and of {loader.batch} cannot be mixed by sample: use by="batch"')
    for loader in loaders:
        assert isinstance(loader, _loader.CoreLoader)
        _, rank, world, worker, worker_count, epochs, drop_last = loader._share
        loader._set_share((1, rank, world, worker, worker_count, epochs, drop_last))
    assert size is not None
    return size


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
