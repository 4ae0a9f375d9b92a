"""lt.RowLoader: each row once an epoch, columns together, in the structure that was given, from any state on."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st

import lowtide as lt

ROWS = 1000


@pytest.fixture
def x(npy: Callable[..., Path]) -> lt.Array:
    """Rows of 4 KiB, each of them its number."""
    return lt.open(npy(np.repeat(np.arange(ROWS, dtype=np.int32)[:, None], 1024, axis=1), "x.npy"))


@pytest.fixture
def y(npy: Callable[..., Path]) -> lt.Array:
    return lt.open(npy(np.arange(ROWS, dtype=np.int64), "y.npy"))


@pytest.fixture
def records(npy: Callable[..., Path]) -> lt.Records:
    lengths = np.random.default_rng(0).integers(0, 20, ROWS)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    values = np.repeat(np.arange(ROWS, dtype=np.float32), lengths)
    return lt.Records(lt.open(npy(values, "values.npy")), lt.open(npy(offsets, "offsets.npy")))


def numbers(loader: lt.RowLoader, batches: int | None = None) -> list[int]:
    """Which rows came, from arrays whose rows are their numbers."""
    found: list[int] = []
    for batch in islice(loader, batches):
        part = batch[0] if isinstance(batch, tuple) else batch
        found += part.reshape(len(part), -1)[:, 0].tolist()
    loader.close()
    return found


@pytest.mark.parametrize("shuffle", [True, False, "global", "windowed"])
def test_each_row_comes_once_an_epoch_and_columns_stay_together(x: lt.Array, y: lt.Array, shuffle: Any) -> None:
    with lt.RowLoader((x, y), batch=64, shuffle=shuffle, epochs=None) as loader:
        orders = []
        for _ in range(2):
            rows: list[int] = []
            while len(rows) < ROWS:
                a, b = next(iter(loader))
                np.testing.assert_array_equal(a, np.repeat(b[:, None], 1024, axis=1).astype(np.int32))
                rows += b.tolist()
            orders.append(rows)
        first = orders[0][:ROWS]
        assert sorted(first) == list(range(ROWS))
        assert (first == list(range(ROWS))) == (shuffle is False)
        assert shuffle is False or orders[1] != orders[0]


class Pair(NamedTuple):
    image: Any
    label: Any


def test_a_batch_has_the_structure_of_the_arrays(x: lt.Array, y: lt.Array, records: lt.Records) -> None:
    def first(arrays: Any) -> Any:
        with lt.RowLoader(arrays, batch=8) as loader:
            return next(iter(loader))

    assert first(y).shape == (8,)
    assert [part.shape for part in first([x, y])] == [(8, 1024), (8,)]
    assert isinstance(first([x, y]), list)
    assert isinstance(first((x, y)), tuple)
    assert isinstance(first(Pair(x, y)), Pair)
    nested = first({"x": x, "more": (y, records)})
    assert list(nested) == ["x", "more"]
    assert nested["x"].dtype == np.int32
    assert isinstance(nested["more"][1], lt.Records)


@pytest.mark.parametrize("shuffle", [True, False, "global", "windowed"])
def test_records_keep_their_lengths(records: lt.Records, y: lt.Array, shuffle: Any) -> None:
    offsets = records.offsets.compute()
    seen = []
    with lt.RowLoader({"text": records, "row": y}, batch=37, shuffle=shuffle) as loader:
        for batch in loader:
            text, rows = batch["text"], batch["row"]
            assert text.offsets.dtype == np.int64
            np.testing.assert_array_equal(np.diff(text.offsets), np.diff(offsets)[rows])
            np.testing.assert_array_equal(text.values, np.repeat(rows, np.diff(text.offsets)))
            seen += rows.tolist()
    assert sorted(seen) == list(range(ROWS))


@cases(25)
@given(data=st.data())
def test_ranks_share_the_rows_and_a_state_goes_on_anywhere(data: st.DataObject, tmp_path_factory: Any) -> None:
    count = data.draw(st.integers(1, 60))
    path = tmp_path_factory.mktemp("rows") / "r.npy"
    np.save(path, np.arange(count))
    array = lt.open(path)
    shuffle = data.draw(st.sampled_from([True, False, "global", "windowed"]))

    def make(world: int, rank: int, batch: int) -> lt.RowLoader:
        return lt.RowLoader(array, batch=batch, shuffle=shuffle, seed=5, world=world, rank=rank)

    batch, world = data.draw(st.integers(1, 7)), data.draw(st.integers(1, 3))
    whole = numbers(make(1, 0, 1))
    parts = [numbers(make(world, rank, batch)) for rank in range(world)]
    assert sorted(n for part in parts for n in part) == sorted(whole) == list(range(count))
    for rank in range(world):
        with make(world, rank, batch) as loader:
            assert len(loader) == sum(1 for _ in loader)

    steps = data.draw(st.integers(0, len(make(world, 0, batch))))
    state = json.loads(json.dumps(make(world, 0, batch).state_dict(ahead=steps)))
    begun = make(world, 0, batch)
    taken = numbers(begun, steps)
    assert json.loads(json.dumps(begun.state_dict())) == state
    if not state["ended"]:
        resumed = make(1, 0, 1)
        resumed.load_state_dict(state)
        rest = numbers(resumed)
        assert rest == whole[count - len(rest) :]
        assert set(taken).isdisjoint(rest)
        assert len(whole) - len(rest) == min(count, steps * batch * world)


def test_a_loop_ends_after_its_epochs_and_the_next_begins_the_epoch_after(y: lt.Array) -> None:
    with lt.RowLoader(y, batch=300, seed=1) as loader, lt.RowLoader(y, batch=300, seed=1, epochs=2) as both:
        assert len(loader) == 4
        assert len(both) == 7
        assert numbers(loader) + numbers(loader) == numbers(both)
    with lt.RowLoader(y, batch=300, drop_last=True) as loader:
        assert [len(batch) for batch in loader] == [300, 300, 300]
    with pytest.raises(TypeError, match="never ends"):
        len(lt.RowLoader(y, batch=300, epochs=None))


def test_the_shuffle_says_what_it_is(x: lt.Array, y: lt.Array) -> None:
    chosen = lt.RowLoader(x, batch=8).shuffle
    assert chosen.kind == "global"
    assert str(chosen).startswith("global: ")
    chosen = lt.RowLoader(y, batch=8).shuffle
    assert chosen.kind == "windowed"
    assert str(chosen).startswith("windowed: ")
    assert "odds" in str(chosen)
    assert lt.RowLoader(y, batch=8, shuffle=False).shuffle.kind == "none"
    asked = lt.RowLoader(y, batch=8, shuffle="windowed", window=200).shuffle
    assert 0 < asked.window_rows <= 200 + asked.run_rows


def test_transform_sees_whole_batches_in_order_in_this_thread(y: lt.Array) -> None:
    import threading

    seen: list[int] = []

    def transform(batch: Any) -> dict[str, Any]:
        assert threading.current_thread() is threading.main_thread()
        seen.extend(batch.tolist())
        return {"double": batch * 2}

    with lt.RowLoader(y, batch=100, transform=transform) as loader:
        doubled = [n for batch in loader for n in batch["double"].tolist()]
    assert doubled == [2 * n for n in seen]
    with lt.RowLoader(y, batch=100, transform=lambda batch: None) as loader, pytest.raises(TypeError, match="None"):
        next(iter(loader))


def test_a_pickled_loader_goes_on_where_it_stood(x: lt.Array, y: lt.Array) -> None:
    with lt.RowLoader((x[::2], y[::2]), batch=16, seed=9) as loader:
        for _ in islice(loader, 5):
            pass
        with pickle.loads(pickle.dumps(loader)) as copy:
            assert numbers(copy) == numbers(loader)
            assert repr(copy) == repr(loader)
    with pickle.loads(pickle.dumps(lt.RowLoader(y[np.array([3, 1])], batch=2, shuffle=False))) as gathered:
        assert next(gathered).tolist() == y.read([3, 1]).tolist()


def test_arrays_travel_to_other_processes(x: lt.Array) -> None:
    for view in (x, x[10:20, ::-1], x.T[3], x[..., None]):
        again = pickle.loads(pickle.dumps(view))
        np.testing.assert_array_equal(again.compute(), view.compute())


def test_a_state_is_refused_if_the_data_changed(npy: Callable[..., Path], y: lt.Array) -> None:
    state = lt.RowLoader(y, batch=8).state_dict()
    other = lt.RowLoader(lt.open(npy(np.arange(ROWS, dtype=np.int64)[::-1].copy(), "y2.npy")), batch=8)
    with pytest.raises(lt.DataChangedError):
        other.load_state_dict(state)
    with pytest.raises(lt.FormatError):
        other.load_state_dict({**state, "run_rows": None})
    with pytest.raises(lt.FormatError, match="tokens"):
        other.load_state_dict({**state, "lowtide": "tokens"})


def test_what_is_no_array_is_refused(y: lt.Array) -> None:
    with pytest.raises(TypeError, match=r"not range: open a file with lt\.open"):
        lt.RowLoader(range(3), batch=1)
    with pytest.raises(TypeError, match="not int"):
        lt.RowLoader({"x": lt.Records([1], [0, 1])}, batch=1)
    with pytest.raises(ValueError, match="shuffle must be"):
        lt.RowLoader(y, batch=1, shuffle="some")
    with pytest.raises(ValueError, match="window"):
        lt.RowLoader(y, batch=1, window=0)
    with pytest.raises(ValueError, match="seed"):
        lt.RowLoader(y, batch=1, seed=-1)
    with pytest.raises(ValueError, match="like"):
        lt.RowLoader(y, batch=1, like="jax")
    with pytest.raises(ValueError, match="pin"):
        lt.RowLoader(y, batch=1, pin="yes")
    with pytest.raises(ValueError, match="rows"):
        lt.RowLoader((y, y[:10]), batch=1)


def test_stats_and_close(x: lt.Array, held: Callable[[], dict[str, int]]) -> None:
    loader = lt.RowLoader(x, batch=100)
    batch = next(iter(loader))
    stats = loader.stats()
    assert stats.batches == 1
    assert stats.samples == 100
    assert stats.held >= batch.nbytes
    assert "rows/s" in str(stats)
    assert "1,000 rows, global shuffle, batches of 100" in repr(loader)
    loader.close()
    assert held() != {}  # the batch
    del batch
    assert held() == {}
    assert sorted(numbers(loader)) != []
    loader.close()
