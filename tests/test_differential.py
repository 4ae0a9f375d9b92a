"""lowtide against NumPy on random arrays: the same bits, the same errors, at any budget, in every IO mode."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import SEEDS, Stored, cases, indices, one_in, outcome, same_bits, shapes, small_numbers, stored_arrays
from hypothesis import given
from hypothesis import strategies as st

import lowtide as lt

pytestmark = pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")


def opened(stored: Stored, folder: Path, mode: str = "r", name: str = "case") -> lt.Array:
    return lt.open(stored.write(folder / name), mode, **stored.options)


def follow(draw: Any, array: lt.Array, expected: np.ndarray, most_steps: int) -> tuple[lt.Array, np.ndarray]:
    """A chain of views of both, for as long as NumPy allows; each refusal of NumPy's must be ours too."""
    for _ in range(draw(st.integers(1, most_steps))):
        if one_in(draw, 6):
            axes = draw(st.permutations(range(expected.ndim)))
            array, expected = array.transpose(axes), expected.transpose(axes)
            continue
        index = draw(indices(expected.shape))
        theirs, refusal = outcome(lambda index=index, x=expected: np.asarray(x[index]))
        ours, our_refusal = outcome(lambda index=index, a=array: a[index])
        assert our_refusal is refusal, f"{expected.shape}[{index!r}]: NumPy {refusal}, lowtide {our_refusal}"
        if refusal is None:
            assert ours.shape == theirs.shape
            array, expected = ours, theirs
    return array, expected


@cases(150)
@given(data=st.data())
def test_a_chain_of_views_computes_what_numpy_does(io_mode: str, tmp_path: Path, data: st.DataObject) -> None:
    stored = data.draw(stored_arrays())
    view, expected = follow(data.draw, opened(stored, tmp_path), stored.array, 4)
    assert same_bits(view.compute(), expected)


@cases(75)
@given(data=st.data())
def test_read_gives_the_bits_or_the_refusal_of_numpy(io_mode: str, tmp_path: Path, data: st.DataObject) -> None:
    stored = data.draw(stored_arrays())
    array = opened(stored, tmp_path)
    index = data.draw(indices(array.shape))
    expected, refusal = outcome(lambda: np.asarray(stored.array[index]))
    ours, our_refusal = outcome(lambda: array.read(index))
    assert our_refusal is refusal
    assert refusal is not None or same_bits(ours, expected)


@cases(37)
@given(data=st.data())
def test_eight_mebibytes_are_enough_for_a_chain_of_small_results(
    io_mode: str, tmp_path: Path, data: st.DataObject
) -> None:
    stored = data.draw(stored_arrays(shape=shapes(most_dims=3).filter(lambda shape: np.prod(shape) < 200_000)))
    with lt.budget("8MiB"):
        view, expected = follow(data.draw, opened(stored, tmp_path), stored.array, 2)
        if view.nbytes < 2 << 20:
            assert same_bits(view.compute(), expected)


@cases(50)
@given(data=st.data())
def test_a_view_reads_the_same_in_the_least_budget_that_refusals_name(
    io_mode: str, tmp_path: Path, data: st.DataObject
) -> None:
    stored = data.draw(stored_arrays())
    view, expected = follow(data.draw, opened(stored, tmp_path), stored.array, 3)
    base = lt.usage().held - lt.usage().by_purpose.get("cache", 0)
    refusals = 0
    budget = base + 4096
    while True:
        with lt.budget(budget):
            try:
                result = view.compute()
                break
            except lt.BudgetError as refusal:
                refusals += 1
                budget = base + refusal.needed
    assert refusals <= 1
    assert same_bits(result, expected)
    assert budget <= base + view.nbytes + (2 << 20)


@cases(75)
@given(data=st.data())
def test_blocks_of_any_length_concatenate_to_the_view(io_mode: str, tmp_path: Path, data: st.DataObject) -> None:
    stored = data.draw(stored_arrays(shape=shapes(least_dims=1)))
    array = opened(stored, tmp_path)
    view, expected = follow(data.draw, array, stored.array, 2) if data.draw(st.booleans()) else (array, stored.array)
    if view.ndim == 0:
        view, expected = view[None], expected[None]
    least = max(1, len(view) // 64)
    rows = data.draw(st.one_of(st.none(), st.integers(least, len(view) + least + 1)))
    with lt.budget(data.draw(st.sampled_from(["8MiB", "16MiB", "64MiB"])) if view.nbytes < 1 << 20 else "64MiB"):
        position = 0
        parts = [expected[:0].astype(expected.dtype.newbyteorder("="))]
        for start, block in view.blocks(rows):
            assert start == position
            assert rows is None or len(block) == min(rows, len(view) - start)
            position += len(block)
            parts.append(block.copy())
    assert same_bits(np.concatenate(parts), expected)


@cases(30)
@given(data=st.data())
def test_blocks_stream_a_file_through_the_least_budget_it_states(
    io_mode: str, tmp_path: Path, data: st.DataObject
) -> None:
    stored = data.draw(stored_arrays(shape=shapes(least_dims=1).filter(lambda shape: shape[0] < 100_000)))
    array = opened(stored, tmp_path)
    parts = [stored.array[:0]]
    with lt.budget(array._core.least_budget):
        for _, block in array.blocks(rows=data.draw(st.sampled_from([1, None])) if len(array) < 1000 else None):
            parts.append(block.copy())
    assert same_bits(np.concatenate(parts), stored.array)


@cases(25)
@given(data=st.data())
def test_iteration_yields_the_rows_of_numpy(io_mode: str, tmp_path: Path, data: st.DataObject) -> None:
    stored = data.draw(stored_arrays(shape=shapes(least_dims=1, most_dims=3).filter(lambda shape: shape[0] < 2000)))
    rows = list(opened(stored, tmp_path))
    assert len(rows) == len(stored.array)
    assert all(same_bits(np.asarray(row), expected) for row, expected in zip(rows, stored.array, strict=True))


def values_for(draw: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """Something assignable to a selection of this shape, nearly always."""
    if shape == ():  # NumPy's releases differ on whether one element takes an array with axes
        return small_numbers((), draw(st.sampled_from(["bool", "int8", "float32", dtype.name])), draw(SEEDS))
    mine = tuple(1 if one_in(draw, 4) else n for n in shape)[
        draw(st.integers(0, len(shape))) if draw(st.booleans()) else 0 :
    ]
    if one_in(draw, 8):
        mine = (1, *mine)
    if one_in(draw, 24):
        mine = (*mine, 3)
    kind = draw(st.sampled_from(["same", "same", "cast", "swapped", "strided", "python"]))
    chosen = dtype.name
    if kind == "cast":
        chosen = draw(
            st.sampled_from(["bool", "int8", "uint16", "int64", "float16", "float32", "float64", "complex128"])
        )
    values = small_numbers(mine, chosen, draw(SEEDS))
    if kind == "swapped":
        return values.astype(values.dtype.newbyteorder(">"))
    if kind == "strided" and values.ndim:
        return np.repeat(values, 2, axis=0)[::2]
    plain = kind == "python" and values.size < 1000 and values.ndim <= len(shape)  # NumPy refuses deeper lists
    return values.tolist() if plain else values


@cases(125)
@given(data=st.data())
def test_assignment_leaves_the_file_that_numpy_would(io_mode: str, tmp_path: Path, data: st.DataObject) -> None:
    stored = data.draw(stored_arrays(raw=True, shape=shapes(large=24)))
    array = opened(stored, tmp_path, "r+")
    reader = lt.open(array.path, **stored.options)
    expected = np.array(stored.array, order=stored.order)
    for _ in range(data.draw(st.integers(1, 3))):
        index = data.draw(indices(array.shape))
        selected, refusal = outcome(lambda index=index: np.asarray(expected[index]))
        if refusal is not None:
            continue
        assert same_bits(reader.read(index), selected)
        values = values_for(data.draw, selected.shape, expected.dtype)
        try:
            _, refusal = outcome(lambda index=index, values=values: expected.__setitem__(index, values))
        except TypeError:  # NumPy takes no broadcast axes where a mask stands alone
            continue
        _, our_refusal = outcome(lambda index=index, values=values: array.__setitem__(index, values))
        assert our_refusal is refusal
    assert same_bits(array.compute(), expected)
    assert same_bits(reader.compute(), expected)
    stored.array = expected
    assert (tmp_path / "case").read_bytes() == stored.write(tmp_path / "twin").read_bytes()


@cases(37)
@given(data=st.data())
def test_assignment_through_a_view_writes_what_the_view_shows(
    io_mode: str, tmp_path: Path, data: st.DataObject
) -> None:
    stored = data.draw(stored_arrays(values=small_numbers))
    array = opened(stored, tmp_path, "r+")
    expected = stored.array.copy()
    index = data.draw(indices(array.shape, basic=True))
    theirs, refusal = outcome(lambda: expected[index])
    if refusal is not None or not np.shares_memory(theirs, expected):  # an array without axes makes NumPy copy
        return
    inner = data.draw(indices(theirs.shape))
    selected, refusal = outcome(lambda: np.asarray(theirs[inner]))
    if refusal is not None:
        return
    values = small_numbers(selected.shape, expected.dtype.name, data.draw(SEEDS))
    theirs[inner] = values
    array[index][inner] = values
    assert same_bits(lt.open(array.path, **stored.options).compute(), expected)


@cases(50)
@given(data=st.data())
def test_a_created_file_holds_what_was_written_and_appended(io_mode: str, tmp_path: Path, data: st.DataObject) -> None:
    shape = data.draw(shapes(least_dims=1, most_dims=3))
    dtype = data.draw(st.sampled_from(["bool", "int16", "uint8", "float16", "float32", "float64", "complex64"]))
    order = data.draw(st.sampled_from("CCF"))
    expected = np.zeros(shape, dtype=dtype)
    target = tmp_path / "created.npy"
    with lt.create(target, shape, dtype, order=order, overwrite=True) as writer:
        for _ in range(data.draw(st.integers(0, 5))):
            if order == "C" and data.draw(st.booleans()):
                rows = (data.draw(st.integers(0, 5)), *shape[1:]) if data.draw(st.booleans()) else shape[1:]
                values = small_numbers(rows, data.draw(st.sampled_from([dtype, "int64"])), data.draw(SEEDS))
                writer.append(values)
                added = values if len(rows) == len(shape) else values[None]
                expected = np.concatenate([expected, added.astype(dtype)])
                continue
            index = data.draw(indices(expected.shape))
            selected, refusal = outcome(lambda index=index, x=expected: np.asarray(x[index]))
            if refusal is None:
                values = small_numbers(selected.shape, dtype, data.draw(SEEDS))
                expected[index] = values
                writer[index] = values
        assert writer.shape == expected.shape
    written = np.load(target)
    assert written.flags.f_contiguous if order == "F" else written.flags.c_contiguous
    assert same_bits(written, expected)


@cases(25)
@given(data=st.data())
def test_pieces_written_in_order_make_the_whole(io_mode: str, tmp_path: Path, data: st.DataObject) -> None:
    expected = data.draw(stored_arrays(shape=shapes(least_dims=1, most_dims=3))).array
    cuts = sorted(data.draw(st.lists(st.integers(0, len(expected)), max_size=6)))
    target = tmp_path / "pieces.npy"
    with lt.create(target, expected.shape, expected.dtype, overwrite=True) as writer:
        for start, stop in zip([0, *cuts], [*cuts, len(expected)], strict=True):
            writer[start:stop] = expected[start:stop]
    assert same_bits(np.load(target), expected)


def cast(array: np.ndarray, dtype: Any) -> np.ndarray:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return array.astype(dtype)


@cases(50)
@given(data=st.data())
def test_save_writes_any_view_in_any_dtype_and_order(io_mode: str, tmp_path: Path, data: st.DataObject) -> None:
    stored = data.draw(stored_arrays(values=small_numbers))
    view, expected = follow(data.draw, opened(stored, tmp_path), stored.array, 2)
    dtype = data.draw(st.sampled_from([None, "bool", "int8", "uint32", "float16", "float32", "float64", "complex64"]))
    order = data.draw(st.sampled_from("CF"))
    target = tmp_path / "saved.npy"
    with lt.budget(data.draw(st.sampled_from(["16MiB", "64MiB"]))):
        lt.save(target, view, dtype=dtype, order=order, overwrite=True)
    written = np.load(target)
    assert written.flags.f_contiguous if order == "F" else written.flags.c_contiguous
    assert same_bits(written, expected if dtype is None else cast(expected, dtype))


@cases(37)
@given(data=st.data())
def test_save_writes_any_array_in_memory(io_mode: str, tmp_path: Path, data: st.DataObject) -> None:
    values = values_for(
        data.draw, data.draw(shapes()), np.dtype(data.draw(st.sampled_from(["bool", "int32", "float64"])))
    )
    dtype = data.draw(st.sampled_from([None, "int8", "float16", "float32", "complex128"]))
    order = data.draw(st.sampled_from("CF"))
    target = tmp_path / "saved.npy"
    lt.save(target, values, dtype=dtype, order=order, overwrite=True)
    assert same_bits(np.load(target), cast(np.asarray(values), dtype or np.asarray(values).dtype.newbyteorder("=")))


@cases(30)
@given(data=st.data())
def test_save_casts_floats_as_astype_does(io_mode: str, tmp_path: Path, data: st.DataObject) -> None:
    stored = data.draw(stored_arrays().filter(lambda stored: stored.array.dtype.kind in "fc"))
    dtype = data.draw(st.sampled_from(["bool", "float16", "float32", "float64", "complex64", "complex128"]))
    target = tmp_path / "saved.npy"
    lt.save(target, opened(stored, tmp_path), dtype=dtype, overwrite=True)
    np.testing.assert_array_equal(np.load(target), cast(stored.array, dtype), strict=True)


@cases(75)
@given(data=st.data())
def test_memmap_reads_and_writes_what_numpy_memmap_does(io_mode: str, tmp_path: Path, data: st.DataObject) -> None:
    stored = data.draw(stored_arrays(values=small_numbers, raw=True).filter(lambda stored: stored.array.size > 0))
    path = stored.write(tmp_path / "case")
    twin = Path(shutil.copy(path, tmp_path / "twin"))
    ours = lt.memmap(path, mode="r+", **stored.options)
    theirs = np.memmap(twin, mode="r+", **stored.options)
    for _ in range(data.draw(st.integers(1, 3))):
        index = data.draw(indices(theirs.shape))
        expected, refusal = outcome(lambda index=index: np.asarray(theirs[index]))
        got, our_refusal = outcome(lambda index=index: np.asarray(ours[index]))
        assert our_refusal is refusal
        if refusal is None:
            assert same_bits(got, expected.astype(expected.dtype.newbyteorder("=")))
            values = small_numbers(expected.shape, theirs.dtype.name, data.draw(SEEDS))
            ours[index] = values
            theirs[index] = values
    ours.flush()
    theirs.flush()
    assert path.read_bytes() == twin.read_bytes()
