"""lt.Mixture: every loader gets its share at every step, whatever the weights do; nothing is lost or repeated."""

from __future__ import annotations

import json
import pickle
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st

import lowtide as lt
from lowtide import _loader

WEIGHTS = st.one_of(
    st.integers(1, 9).map(float),
    st.floats(1e-3, 1e3, allow_nan=False),
    st.sampled_from([0.1, 0.2, 0.3, 1 / 3, 1e-9, 1e9]),
)


class Numbers(_loader.Loader):
    """(name, 0), (name, 1), … : a loader whose every batch can be told from all others."""

    def __init__(self, name: str, length: int | None = None) -> None:
        self.name, self.length, self.at, self.ended = name, length, 0, False

    def _next(self) -> Any:
        if self.ended:
            self.ended = False
            return None
        self.at += 1
        self.ended = self.length is not None and self.at % self.length == 0
        return self.name, self.at - 1

    def state_dict(self, *, ahead: int = 0) -> dict[str, Any]:
        at = self.at + ahead
        ended = self.length is not None and at % self.length == 0 if ahead else self.ended
        return {"at": at, "ended": ended}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.at, self.ended = state["at"], state["ended"]

    def _batches_left(self) -> int | None:
        if self.length is None:
            return None
        return 0 if self.ended else self.length - self.at % self.length

    def _state_after_loop(self) -> dict[str, Any]:
        return {**self.state_dict(ahead=self._batches_left() or 0), "ended": False}

    def _stop(self) -> None:
        pass

    def __len__(self) -> int:
        assert self.length is not None
        return self.length


def numbers(*lengths: int | None) -> list[Numbers]:
    return [Numbers(chr(ord("a") + i), length) for i, length in enumerate(lengths)]


def mixed(loaders: list[Any], weights: Any = None, **options: Any) -> lt.Mixture:
    return lt.Mixture(loaders, weights, by="batch", **options)


def take(mixture: lt.Mixture, count: int) -> list[Any]:
    """Batches of the loop as it stands: a new one is not begun."""
    taken = []
    while len(taken) < count and (batch := mixture._next()) is not None:
        taken.append(batch)
    return taken


def copied(state: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(state))
    return found


@given(weights=st.lists(WEIGHTS, min_size=1, max_size=7), steps=st.integers(1, 300))
def test_no_loader_is_a_batch_ahead_or_all_but_one_behind(weights: list[float], steps: int) -> None:
    mixture = mixed(numbers(*[None] * len(weights)), weights)
    whole = sum(Fraction(w) for w in weights)
    count = len(weights)
    rounding = Fraction(steps * count, 10**13)
    for step, _ in enumerate(islice(mixture, steps), 1):
        for had, weight in zip(mixture.counts.values(), weights, strict=True):
            owed = step * Fraction(weight) / whole - had
            assert -1 - rounding < owed < max(count - 1, Fraction(1, 10**6)) + rounding


def test_ties_go_to_the_first() -> None:
    mixture = mixed(numbers(None, None, None), names=["x", "y", "z"])
    order = []
    for _ in islice(mixture, 7):
        assert mixture.source is not None
        order.append(mixture.source)
    assert order == [(0, "x"), (1, "y"), (2, "z"), (0, "x"), (1, "y"), (2, "z"), (0, "x")]


def test_ratios_of_small_numbers_repeat_for_ever() -> None:
    mixture = mixed(numbers(None, None, None), [1, 2, 3])
    first = [name for name, _ in take(mixture, 6)]
    assert sorted(first) == ["a", "b", "b", "c", "c", "c"]
    assert [name for name, _ in take(mixture, 6000)] == first * 1000


@cases(50)
@given(
    changes=st.lists(st.tuples(st.lists(WEIGHTS, min_size=3, max_size=3), st.integers(0, 40)), min_size=1, max_size=8),
    off=st.integers(0, 2),
)
def test_weights_that_change_lose_and_repeat_nothing(changes: list[tuple[list[float], int]], off: int) -> None:
    mixture = mixed(numbers(None, None, None))
    seen: list[Any] = []
    for number, (weights, steps) in enumerate(changes):
        if number % 2:
            weights[off] = 0.0
        mixture.weights = dict(zip(mixture.names, weights, strict=True)) if number % 3 else weights
        before = list(mixture.counts.values())
        seen += take(mixture, steps)
        if weights[off] == 0:
            assert list(mixture.counts.values())[off] == before[off]
    for name, had in zip("abc", mixture.counts.values(), strict=True):
        assert [n for source, n in seen if source == name] == list(range(had))


@given(
    lengths=st.lists(st.one_of(st.none(), st.integers(1, 12)), min_size=1, max_size=4),
    data=st.data(),
    until=st.sampled_from(["all", "any"]),
)
def test_a_resumed_mixture_goes_on_as_the_one_that_was_not_stopped(
    lengths: list[int | None], data: st.DataObject, until: str
) -> None:
    weights = data.draw(st.lists(WEIGHTS, min_size=len(lengths), max_size=len(lengths)))
    whole = mixed(numbers(*lengths), weights, until=until)
    for _ in range(data.draw(st.integers(0, 3))):  # some loops, or parts of them
        take(whole, data.draw(st.integers(0, 40)))
    state = copied(whole.state_dict())
    resumed = mixed(numbers(*lengths), until=until)
    resumed.load_state_dict(state)
    assert copied(resumed.state_dict()) == state
    for _ in range(3):
        assert take(resumed, 30) == take(whole, 30)
        assert resumed.counts == whole.counts


@given(
    lengths=st.lists(st.one_of(st.none(), st.integers(1, 12)), min_size=1, max_size=4),
    data=st.data(),
    until=st.sampled_from(["all", "any"]),
)
def test_the_state_ahead_is_the_state_that_comes(lengths: list[int | None], data: st.DataObject, until: str) -> None:
    weights = data.draw(st.lists(WEIGHTS, min_size=len(lengths), max_size=len(lengths)))
    mixture = mixed(numbers(*lengths), weights, until=until)
    take(mixture, data.draw(st.integers(0, 20)))
    ahead = data.draw(st.integers(0, 30))
    try:
        state = copied(mixture.state_dict(ahead=ahead))
    except ValueError:
        assert len(take(mixture, ahead)) < ahead
        return
    assert len(take(mixture, ahead)) == ahead
    resumed = mixed(numbers(*lengths), until=until)
    resumed.load_state_dict(state)
    assert copied(mixture.state_dict()) == state
    for _ in range(3):
        assert take(resumed, 20) == take(mixture, 20)


@given(
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=3),
    workers=st.integers(1, 4),
    until=st.sampled_from(["all", "any"]),
)
def test_workers_in_turn_make_the_stream_of_one(lengths: list[int], workers: int, until: str) -> None:
    weights = [1.0 + i for i in range(len(lengths))]
    alone = mixed(numbers(*lengths), weights, until=until)
    parts = [mixed(numbers(*lengths), weights, until=until) for _ in range(workers)]
    for worker, part in enumerate(parts):
        part._take_turns(worker, workers)
    for _ in range(3):
        loops = [list(part) for part in parts]
        together = [loops[i % workers][i // workers] for i in range(sum(map(len, loops)))]
        assert together == list(alone)


def test_until_all_goes_on_with_the_rest() -> None:
    mixture = mixed(numbers(2, 5), [3, 1])
    assert len(mixture) == 7
    for epoch in range(3):
        seen = list(mixture)
        for name, length in (("a", 2), ("b", 5)):
            expected = [(name, epoch * length + i) for i in range(length)]
            assert [batch for batch in seen if batch[0] == name] == expected


def test_until_any_stops_with_the_first() -> None:
    mixture = mixed(numbers(2, None), until="any")
    assert list(mixture) == [("a", 0), ("b", 0), ("a", 1), ("b", 1)]
    assert list(mixture) == [("a", 2), ("b", 2), ("a", 3), ("b", 3)]


def test_a_batch_that_fails_is_owed_still() -> None:
    class Fails(Numbers):
        def _next(self) -> Any:
            if self.at == 1:
                self.at = 100
                raise lt.BudgetError("not now")
            return super()._next()

    mixture = mixed([Fails("a"), Numbers("b")])
    assert take(mixture, 2) == [("a", 0), ("b", 0)]
    state = mixture.state_dict()
    with pytest.raises(lt.BudgetError):
        take(mixture, 1)
    assert mixture.state_dict()["credits"] == state["credits"]
    assert take(mixture, 1)[0][0] == "a"


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, float("nan")], "finite"),
        ([1, float("inf")], "finite"),
        ([1, -1], "not negative"),
        ([0, 0], "all weights are 0"),
        ([1], "2 loaders and 1 weights"),
        ({"a": 1}, "must be given for"),
    ],
)
def test_weights_that_mean_nothing_are_refused(weights: Any, message: str) -> None:
    mixture = mixed(numbers(None, None), names=["a", "b"])
    with pytest.raises(ValueError, match=message):
        mixture.weights = weights
    assert mixture.weights == [1, 1]


def test_what_cannot_be_mixed_is_refused() -> None:
    loader = Numbers("a")
    with pytest.raises(ValueError, match="only once"):
        lt.Mixture([loader, loader])
    with pytest.raises(ValueError, match="at least one"):
        lt.Mixture([])
    with pytest.raises(TypeError, match="not of list"):
        lt.Mixture([[1, 2]])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="names must differ"):
        mixed(numbers(1, 1), names=["x", "x"])
    with pytest.raises(ValueError, match="until"):
        lt.Mixture([loader], until="some")


def test_a_state_of_something_else_is_refused() -> None:
    mixture = mixed(numbers(None, None))
    take(mixture, 3)
    before = copied(mixture.state_dict())
    for broken in ({}, {**before, "lowtide": "rows"}, {**before, "credits": [1]}, {**before, "names": ["x", "y"]}):
        with pytest.raises(lt.FormatError):
            mixture.load_state_dict(broken)
    assert copied(mixture.state_dict()) == before


@pytest.fixture
def token_files(tmp_path: Path) -> list[str]:
    for name in ("web", "code"):
        np.random.default_rng(len(name)).integers(0, 5000, 3000).astype(np.uint16).tofile(tmp_path / f"{name}.bin")
    return [str(tmp_path / "web.bin"), str(tmp_path / "code.bin")]


def test_real_loaders_resume_exactly_and_travel(token_files: list[str]) -> None:
    def make() -> lt.Mixture:
        loaders = [lt.TokenLoader(path, block=16, batch=8, seed=3, epochs=1) for path in token_files]
        return lt.Mixture(loaders, [2, 1], names=["web", "code"], by="batch")

    whole = make()
    batches = [x.copy() for x, _ in whole] + [x.copy() for x, _ in whole]
    mixture = make()
    for _ in islice(mixture, 11):
        pass
    state = copied(mixture.state_dict())
    assert copied(make().state_dict(ahead=11)) == state
    travelled = pickle.loads(pickle.dumps(mixture))
    rest = make()
    rest.load_state_dict(state)
    for resumed in (rest, travelled):
        again = [x.copy() for x, _ in resumed] + [x.copy() for x, _ in resumed]
        assert len(again) == len(batches) - 11
        for got, expected in zip(again, batches[11:], strict=True):
            np.testing.assert_array_equal(got, expected)
        resumed.close()
    stats = whole.stats()
    assert stats.total.batches == len(batches)
    assert stats.by_source["web"].batches + stats.by_source["code"].batches == len(batches)
    assert "web" in str(stats)
    assert "66.7%" in repr(whole)
    for used in (whole, mixture):
        used.close()


def test_a_mixture_mixes_samples_within_batches(tmp_path: Path) -> None:
    paths = []
    for i in range(3):
        paths.append(tmp_path / f"{i}.bin")
        (np.arange(5000) % 1000 + 1000 * i).astype(np.uint16).tofile(paths[-1])

    def make() -> lt.Mixture:
        sources = {f"s{i}": lt.TokenLoader(path, 9, 8, seed=i, token_dtype="u2") for i, path in enumerate(paths[:2])}
        return lt.Mixture(sources, [3, 1])

    mixture = make()
    alone = [lt.TokenLoader(path, 9, 1, seed=i, token_dtype="u2") for i, path in enumerate(paths)]
    for _ in range(50):
        x, y = next(mixture)
        assert x.shape == y.shape == (8, 9)
        assert [source.index for source in mixture.sources] == (x[:, 0] // 1000).tolist()
        assert (x[:, 0] // 1000 == 1).sum() == 2
        for row, source in zip(x, mixture.sources, strict=True):
            assert (row == next(alone[source.index])[0][0]).all()
    assert mixture.counts == {"s0": 300, "s1": 100}
    assert mixture.epochs == {"s0": 300 / 500, "s1": 100 / 500}

    state = json.loads(json.dumps(mixture.state_dict()))
    third = lt.TokenLoader(paths[2], 9, 8, seed=2, token_dtype="u2")
    mixture.add("s2", third, weight=4)
    following = [next(mixture)[0] for _ in range(10)]
    assert sum((x[:, 0] // 1000 == 2).sum() for x in following) == 40

    grown = make()
    grown.add("s2", lt.TokenLoader(paths[2], 9, 8, seed=2, token_dtype="u2"), weight=4)
    grown.load_state_dict(state)
    assert all((next(grown)[0] == x).all() for x in following)


def test_a_mixture_of_samples_keeps_its_order_on_other_batches_and_ranks(tokens: Path) -> None:
    def make(batch: int, **share: Any) -> lt.Mixture:
        sources = [lt.TokenLoader(tokens, 9, batch, seed=seed, **share) for seed in (1, 2)]
        return lt.Mixture(sources, [2, 1])

    whole = [row for x, _ in islice(make(6), 10) for row in x.tolist()]
    first = make(6)
    head = [row for x, _ in islice(first, 4) for row in x.tolist()]
    second = make(4)
    second.load_state_dict(first.state_dict())
    assert head + [row for x, _ in islice(second, 9) for row in x.tolist()] == whole


def test_documents_and_records_are_mixed_too(tmp_path: Path, tokens: Path) -> None:
    data = np.fromfile(tokens, np.uint16)
    data[::50] = 0
    data.tofile(tokens)
    sources = [lt.TokenLoader(tokens, 40, 4, seed=seed, documents=0) for seed in (1, 2)]
    batch = next(lt.Mixture(sources))
    assert batch.x.shape == batch.mask.shape == (4, 40)
    assert batch.cu_seqlens[0] == 0
    assert batch.cu_seqlens[-1] == 160
    assert batch.max_seqlen == np.diff(batch.cu_seqlens).max()
    starts = np.flatnonzero(batch.positions.ravel() == 0)
    assert starts.tolist() == batch.cu_seqlens[:-1].tolist()

    np.save(tmp_path / "v.npy", np.arange(100))
    np.save(tmp_path / "o.npy", np.arange(0, 101, 5))
    records = lt.Records(lt.open(tmp_path / "v.npy"), lt.open(tmp_path / "o.npy"))
    mixed = next(lt.Mixture([lt.RowLoader(records, 6, seed=1), lt.RowLoader(records, 6, seed=2)]))
    assert mixed.offsets.tolist() == list(range(0, 31, 5))
    assert (np.diff(mixed.values.reshape(6, 5), axis=1) == 1).all()


def test_loaders_of_different_batches_are_not_mixed_by_sample(tokens: Path) -> None:
    pair = [lt.TokenLoader(tokens, 9, batch) for batch in (4, 5)]
    with pytest.raises(ValueError, match='by="batch"'):
        lt.Mixture(pair)
    assert [len(x) for x, _ in islice(lt.Mixture(pair, by="batch"), 4)] == [4, 5, 4, 5]
